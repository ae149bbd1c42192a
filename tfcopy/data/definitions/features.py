"""From the words of texts to the inputs of a model that reads definitions.

The same ops run in the input pipeline and in the served graph, so that both
agree.

Shapes: B texts, T words, L entries of a word; U entries that are defined,
N definitions and M tokens of definitions, K the longest; W words that are
spelt.
"""

from collections.abc import Mapping

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.definitions.lookup import DefinitionLookup
from tfcopy.data.definitions.packing import DefinitionPacker
from tfcopy.data.definitions.phrases import PhraseLookup
from tfcopy.data.definitions.spelling import spellings
from tfcopy.data.text.vocabulary import Vocabulary

# What a packer gives for each text; the rest is for all texts together.
_OF_TEXTS = ("slots", "phrase_slots", "phrase_positions")


def flat_inputs(
    ids: Mapping,
    definitions: Mapping | None = None,
    spelt: Mapping | None = None,
) -> dict:
    """The inputs of a model, by the names of `models.definition_inputs`.

    Args:
        ids: Dict of the texts by name: `(B, T)`.
        definitions: The result of `DefinitionPacker.pack` for a dict of the
            same names; `None` if the model reads none.
        spelt: The result of `spellings` for a dict of the same names; `None` if
            the model reads none.

    Returns:
        Dict of `NAME_ids`, `(B, T)`, of each text NAME. With definitions of
        `NAME_slots`, `(B, T, L)`, too, if phrases are packed of
        `NAME_phrase_slots` and `NAME_phrase_positions`, `(B, T)`; and of
        `definition_ids`, `(M,)` or `(N, K)`, `definition_owners`,
        `definition_weights` and `definition_counts`, `(U + 1,)`, and if deeper
        levels are packed of `definition_ids_1` and so on. With spellings of
        `NAME_spelling_slots`, `(B, T)`, and of `spelling_ids`, `(W + 1, K)`.

    Raises:
        ValueError: If the names of texts differ, or if two tensors would have
            the same name.
    """
    tensors = [(f"{name}_ids", x) for name, x in ids.items()]
    of_texts = {} if spelt is None else {"spelling_slots": spelt["slots"]}
    for key in _OF_TEXTS:
        if definitions is not None and key in definitions:
            of_texts[key] = definitions[key]
    for key, given in of_texts.items():
        _check_names(ids, given)
        tensors += [(f"{name}_{key}", given[name]) for name in ids]
    if definitions is not None:
        tensors += [
            (f"definition_{key}", x)
            for key, x in definitions.items()
            if key not in _OF_TEXTS
        ]
    if spelt is not None:
        tensors.append(("spelling_ids", spelt["ids"]))
    inputs = dict(tensors)
    if len(inputs) < len(tensors):
        raise ValueError(
            "The names of texts must give tensors of different names. "
            f"Received: {tuple(ids)}."
        )
    return inputs


def _check_names(ids, slots):
    names = slots.keys() if isinstance(slots, Mapping) else type(slots)
    if names != ids.keys():
        raise ValueError(
            "What is packed must be a dict of the names of the texts, "
            f"{tuple(ids)}. Received: {names}."
        )


class DefinitionFeatures(tf.Module):
    """Makes batches of `models.definition_inputs`.

    Args:
        vocabulary: `Vocabulary` of the texts.
        lookup: `DefinitionLookup`; `None` if no definitions are read.
        packer: `DefinitionPacker` of the same definitions; `None` if none are
            read, or if a table replaces them (see `rows`).
        phrases: `PhraseLookup` of the same definitions; `None` if headwords
            of several words are not looked for.
        characters: `Vocabulary` of characters; `None` if words are not spelt.
        exclude_top_k: Number of frequent words that are not spelt, as in
            `spellings`; the packer decides which get no definition.
        only: `Vocabulary` of the words that may be looked up and spelt; `None`
            for all.
        begin: Whether each text begins with `BOS`.
        end: Whether it ends with `EOS`.
        multiple: As in `spellings`.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        *,
        lookup: DefinitionLookup | None = None,
        packer: DefinitionPacker | None = None,
        phrases: PhraseLookup | None = None,
        characters: Vocabulary | None = None,
        exclude_top_k: int | None = None,
        only: Vocabulary | None = None,
        begin: bool = False,
        end: bool = False,
        multiple: int | None = None,
    ):
        super().__init__(name="definition_features")
        self.vocabulary = vocabulary
        self.lookup = lookup
        self.packer = packer
        self.phrases = phrases
        self.characters = characters
        self.exclude_top_k = exclude_top_k
        self.only = only
        self.begin, self.end = begin, end
        self.multiple = multiple
        # What an export has to track.
        self._tables = [
            words.table() for words in (vocabulary, characters, only) if words
        ]

    @property
    def arguments(self) -> dict:
        """The arguments that it was made with, by name."""
        names = (
            "vocabulary",
            "lookup",
            "packer",
            "phrases",
            "characters",
            "exclude_top_k",
            "only",
            "begin",
            "end",
            "multiple",
        )
        return {name: getattr(self, name) for name in names}

    def copy(self, **changes) -> "DefinitionFeatures":
        """A copy of the features, with other arguments where given."""
        return DefinitionFeatures(**self.arguments | changes)

    def look_up(self, words) -> dict:
        """What is known about words, independent of their positions.

        Args:
            words: String tensor of any shape.

        Returns:
            Dict of `ids`, int32 of the same shape; and `entries`, int32
            `(..., L)`, if there is a `lookup`. With `phrases` their `numbers`
            of words, too.
        """
        found = {"ids": self.vocabulary.lookup(words)}
        usable = self._usable(words)
        if self.lookup is not None:
            found["entries"] = self.lookup.entries(usable)
        if self.phrases is not None:
            found["phrases"] = self.phrases.numbers(usable)
        return found

    def inputs(self, words: Mapping, found: Mapping | None = None) -> dict:
        """The inputs of a model.

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
                rows = self._with_places(text.with_flat_values(x), 0)
                padded.setdefault(key, {})[name] = rows
            lengths = text.row_lengths()
            padded["ids"][name] = self._marked(padded["ids"][name], lengths)
            usable = text.with_flat_values(self._usable(text.flat_values))
            spelt[name] = self._with_places(usable, "")
        return self._batch(padded, spelt)

    def source_inputs(self, words, ids) -> dict:
        """The inputs of a `Seq2Seq` in addition to its sources' ids.

        `serving.Translator` calls it.

        Args:
            words: Strings `(B, S)`, `""` where there is no word.
            ids: int32 of the same shape, in the vocabulary of the sources.

        Returns:
            Dict of `definition_inputs` of the text `"source"`, without its
            ids.
        """
        known = {**self.look_up(words), "ids": ids}
        padded = {key: {"source": x} for key, x in known.items()}
        inputs = self._batch(padded, {"source": self._usable(words)})
        del inputs["source_ids"]
        return inputs

    def _batch(self, known, words):
        """The inputs of texts that are padded.

        Args:
            known: What `look_up` gives, each a dict of the texts.
            words: Those to spell, of each text.
        """
        ids, packed, spelt = known["ids"], None, None
        if self.packer is not None:
            found = None
            if self.phrases is not None:
                found = {
                    name: self.phrases.match(x)
                    for name, x in known["phrases"].items()
                }
            packed = self.packer.pack(known["entries"], ids, phrases=found)
        if self.characters is not None:
            spelt = spellings(
                words,
                self.characters,
                ids=ids,
                exclude_top_k=self.exclude_top_k,
                multiple=self.multiple,
            )
        return flat_inputs(ids, packed, spelt)

    def _with_places(self, text, nothing):
        """Ragged to `(B, T, ...)`, with `nothing` at the places of marks."""
        text = text.to_tensor(nothing)
        shape = tf.shape(text)
        mark = tf.fill(tf.concat([shape[:1], [1], shape[2:]], 0), nothing)
        parts = [mark] * self.begin + [text] + [mark] * self.end
        return tf.concat(parts, axis=1)

    def _marked(self, ids, lengths):
        """Ids with `BOS` and `EOS` in the places that are kept for them."""
        places = tf.range(tf.shape(ids, lengths.dtype)[1])
        if self.begin:
            ids = tf.where(places == 0, special.BOS, ids)
        if self.end:
            last = lengths[:, None] + int(self.begin)
            ids = tf.where(places == last, special.EOS, ids)
        return ids

    def _usable(self, words):
        """Words that may be looked up, with `""` for all others."""
        if self.only is None:
            return words
        return tf.where(self.only.lookup(words) == special.UNK, "", words)
