"""Inputs of a model that reads definitions, from the words of texts.

The same ops run in the input pipeline and in the served graph, so that both
agree.

Shapes: B texts, T words, L entries of a word; U entries that are defined,
N definitions and M tokens of definitions, K the longest; W words that are
spelt.
"""

import collections
import dataclasses
from collections.abc import Mapping

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions import packing
from tfcopy.data.definitions.lookup import DefinitionLookup, FromArguments
from tfcopy.data.text.vocabulary import Vocabulary


def flat_inputs(
    ids: Mapping,
    definitions: Mapping | None = None,
    spelt: Mapping | None = None,
) -> dict:
    """Names the inputs of a model as in `models.definition_inputs`.

    Args:
        ids: Dict of the texts by name: `(B, T)`.
        definitions: The result of `DefinitionPacker.pack` for a dict of the
            same names; `None` if the model reads none.
        spelt: The result of `spellings` for a dict of the same names; `None` if
            the model reads none.

    Returns:
        Dict of `NAME_ids`, `(B, T)`, of each text NAME. With definitions it
        also has `NAME_slots`, `(B, T, L)`; `definition_ids`, `(M,)` or
        `(N, K)`; `definition_owners`, `definition_weights` and
        `definition_counts`, `(U + 1,)`. With spellings it also has
        `NAME_spelling_slots`, `(B, T)`, and `spelling_ids`, `(W + 1, K)`.
    """
    inputs = {f"{name}_ids": x for name, x in ids.items()}
    of_texts = {} if spelt is None else {"spelling_slots": spelt["slots"]}
    if definitions is not None:
        of_texts["slots"] = definitions["slots"]
    for key, given in of_texts.items():
        inputs |= {f"{name}_{key}": given[name] for name in ids}
    if definitions is not None:
        inputs |= {
            f"definition_{key}": x
            for key, x in definitions.items()
            if key != "slots"
        }
    if spelt is not None:
        inputs["spelling_ids"] = spelt["ids"]
    return inputs


@dataclasses.dataclass(eq=False, repr=False)
class DefinitionFeatures(FromArguments, tf.Module):
    """Maker of batches of `models.definition_inputs`.

    Args:
        vocabulary: `Vocabulary` of the texts.
        lookup: `DefinitionLookup`; `None` if no definitions are read.
        packer: `DefinitionPacker` of the same definitions; `None` if none are
            read.
        characters: `Vocabulary` of characters; `None` if words are not spelt.
        exclude_top_k: Number of frequent words that are not spelt, as in
            `spellings`; the packer decides which get no definition.
        begin: Whether each text begins with `BOS`.
        end: Whether it ends with `EOS`.
    """

    vocabulary: Vocabulary
    _: dataclasses.KW_ONLY
    lookup: DefinitionLookup | None = None
    packer: packing.DefinitionPacker | None = None
    characters: Vocabulary | None = None
    exclude_top_k: int | None = None
    begin: bool = False
    end: bool = False

    def __post_init__(self):
        super().__init__(name="definition_features")
        words = self.vocabulary, self.characters
        # Tables that an export must track.
        self._tables = [x.table() for x in words if x]

    def copy(self, **changes) -> "DefinitionFeatures":
        """Returns a copy of the features, with other arguments where given."""
        return dataclasses.replace(self, **changes)

    def look_up(self, words) -> dict:
        """Looks up words, independent of their positions.

        Args:
            words: String tensor of any shape.

        Returns:
            Dict of `ids`, int32 of the same shape; and `entries`, int32
            `(..., L)`, if there is a `lookup`.
        """
        found = {"ids": self.vocabulary.lookup(words)}
        if self.lookup is not None:
            found["entries"] = self.lookup.entries(words)
        return found

    def inputs(self, words: Mapping, found: Mapping | None = None) -> dict:
        """Makes the inputs of a model.

        Args:
            words: Dict of texts by name: ragged strings `(B, None)`.
            found: The result of `look_up` for each; by default it is called.

        Returns:
            Dict of `definition_inputs`.
        """
        padded, spelt = {}, {}
        for name, text in words.items():
            known = found[name] if found else self.look_up(text.flat_values)
            for key, x in known.items():
                rows = self._pad_with_places(text.with_flat_values(x), 0)
                padded.setdefault(key, {})[name] = rows
            lengths = text.row_lengths()
            padded["ids"][name] = self._add_marks(padded["ids"][name], lengths)
            spelt[name] = self._pad_with_places(text, "")
        return self._batch(padded, spelt)

    def source_inputs(self, words, ids) -> dict:
        """Builds the inputs of a `Seq2Seq`, except the ids of sources.

        `Translator` calls it.

        Args:
            words: Strings `(B, S)`, `""` where there is no word.
            ids: int32 of the same shape, in the vocabulary of the sources.

        Returns:
            Dict of `definition_inputs` of the text `"source"`, without its
            ids.
        """
        known = {**self.look_up(words), "ids": ids}
        padded = {key: {"source": x} for key, x in known.items()}
        inputs = self._batch(padded, {"source": words})
        del inputs["source_ids"]
        return inputs

    def _batch(self, known, words):
        """Makes the inputs of padded texts.

        Args:
            known: The results of `look_up`, each a dict of the texts.
            words: The words to spell, of each text.
        """
        ids, packed, spelt = known["ids"], None, None
        if self.packer is not None:
            packed = self.packer.pack(known["entries"], ids)
        if self.characters is not None:
            spelt = spellings(
                words,
                self.characters,
                ids=ids,
                exclude_top_k=self.exclude_top_k,
            )
        return flat_inputs(ids, packed, spelt)

    def _pad_with_places(self, text, nothing):
        """Pads ragged values to `(B, T, ...)`, with `nothing` at marks."""
        text = text.to_tensor(nothing)
        shape = tf.shape(text)
        mark = tf.fill(tf.concat([shape[:1], [1], shape[2:]], 0), nothing)
        parts = [mark] * self.begin + [text] + [mark] * self.end
        return tf.concat(parts, axis=1)

    def _add_marks(self, ids, lengths):
        """Puts `BOS` and `EOS` into the places that are kept for them."""
        places = tf.range(tf.shape(ids, lengths.dtype)[1])
        if self.begin:
            ids = tf.where(places == 0, special.BOS, ids)
        if self.end:
            last = lengths[:, None] + int(self.begin)
            ids = tf.where(places == last, special.EOS, ids)
        return ids


# === Spellings, read like definitions: each character is a token ===

_MOST_CHARACTERS = 24  # of a word


def count_characters(counts: Mapping[str, int]) -> collections.Counter:
    """Counts characters, for `Vocabulary.build`.

    Args:
        counts: Words (`str`) and how often each occurs.

    Returns:
        `Counter` of characters (code points); blanks are left out.
    """
    characters = collections.Counter()
    for word, count in counts.items():
        for character in word:
            if not character.isspace():
                characters[character] += count
    return characters


def spellings(
    words, characters: Vocabulary, *, ids=None, exclude_top_k: int | None = None
):
    """Looks up the characters of the words of a batch, as TensorFlow ops.

    Each distinct word is spelt once, in order of first occurrence, in its first
    24 characters. Words differ by case. A character is a code point; invalid
    UTF-8 becomes U+FFFD.

    Args:
        words: Strings of shape `(B, T)`, `""` where there is no word; or a
            list, tuple or dict of such (tf.data takes no lists).
        characters: `Vocabulary` of characters.
        ids: int32 of the structure and shapes of `words`, their ids in the
            text's own vocabulary. Used by `exclude_top_k` only.
        exclude_top_k: Number of frequent words that are not spelt, as in
            `DefinitionPacker`.

    Returns:
        Dict of `slots`, int32 of the structure and shapes of `words`, 0 for
        none; and `ids`, int32 `(W + 1, K)`, row w the spelling of slot w
        between `BOS` and `EOS`, then `PAD`. Row 0 holds only `EOS`.
    """
    words = packing.replace_frequent(words, ids, exclude_top_k, "")
    values, slots = packing.distinct(words, nothing="")
    spelt = tf.strings.unicode_split(values[1:], "UTF-8")[:, :_MOST_CHARACTERS]
    size = spelt.nrows(out_type=tf.int32)
    rows = tf.concat(
        [
            tf.fill([size, 1], special.BOS),
            characters.lookup(spelt),
            tf.fill([size, 1], special.EOS),
        ],
        axis=1,
    )
    filler = tf.RaggedTensor.from_tensor([[special.EOS]])
    rows = tf.concat([filler, rows], axis=0)
    return {"slots": slots, "ids": rows.to_tensor(special.PAD)}
