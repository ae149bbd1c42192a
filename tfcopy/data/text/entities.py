"""Named entities as numbered placeholders, as TensorFlow ops.

Each token of an entity becomes `@1`, `@2`, ..., which are ordinary words of the
vocabulary: the model learns where `@2` goes without knowing its name. Tokens
are numbered as they come, from left to right through the source and on through
the target; equal tokens share a number. So a target word that occurs in the
source, even as part of a longer name, has the same number there.

A token is an entity by itself, at any position: a name at the start of the
source is the same entity in the middle of the target. The price is that a
common word with a capital, as at the start of a sentence, counts as an entity;
function words are excluded, and optionally words that other texts have in lower
case, which helps with headlines in title case. Where that is not enough (text
in lower case), the tokens that a tagger found are marked in the text: `acme￨ORG
of`, see `corpora.gigaword`.

The same functions run in the training pipeline and in the served graph.

Shapes: B pairs, S source and T target positions; words are ragged, (B, None).

Reference: Gulcehre et al., 2016, section 5.2.
"""

import collections
import dataclasses
import hashlib
import re
from collections.abc import Iterable, Iterator

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.parallel import map_each
from tfcopy.data.ragged_rows import join, keep, rows_of
from tfcopy.data.text.tokenization import Tokenizer, lower, string_tensor
from tfcopy.data.text.vocabulary import count_words

# Part of the fingerprint: raise it when the same text gets other keys.
_VERSION = 1

MARK = "￨"  # U+FFE8, between a token and its tag
NO_TAG = "O"
_TAG = f"(.){MARK}[^{MARK}]*$"
_TAGGED, _UNTAGGED = f".+{MARK}[^{MARK}]+", f".+{MARK}{NO_TAG}"

# A capital at the front, or a digit anywhere.
PATTERN = r"[\p{Lu}\p{Lt}].*|.*\p{Nd}.*"
_FUNCTION_WORDS = """
a an the this that these those there here i you he she it we they his her its
their our my your who what when where which while why how and or but nor so yet
if as because although though since until after before at by for from in into
of on over to under with without about against among between during not no all
both each every few many more most some such is are was were be has have had do
does did would can could must shall should
""".split()
# In lower case or with a capital: `WHO` and `IT` are names.
EXCEPTIONS = "UNK|" + "|".join(
    f"[{word[0].upper()}{word[0]}]{word[1:]}" for word in _FUNCTION_WORDS
)

# A word in lower case except its first letter.
_ONE_CAPITAL = r"[\p{Lu}\p{Lt}][^\p{Lu}\p{Lt}\p{Nd}]*"
_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]
# At most nine digits: they are read as int32.
_PLACEHOLDER = "@[1-9][0-9]{0,8}"


@dataclasses.dataclass(frozen=True)
class Entities:
    """Tokens that are entities, and their placeholders.

    A literal `<unk>` never is an entity. A token that is spelt like a
    placeholder always is, so that it cannot be mistaken for a real one.

    Args:
        pattern: Regular expression (RE2) that matches entities from their
            first character to the last; `None` for text in which they are
            marked.
        exceptions: Regular expression of tokens that match `pattern` but are no
            entities. Marked text ignores it.
        lowercase: Whether tokens that differ only in case are one entity; as in
            the `Tokenizer`s.
        common: Words in lower case that are no entities even if capitalised;
            `common_words` finds them.
    """

    pattern: str | None = PATTERN
    exceptions: str = EXCEPTIONS
    lowercase: bool = False
    common: tuple[str, ...] = ()

    def __post_init__(self):
        for name in ("pattern", "exceptions"):
            expression = getattr(self, name)
            try:
                tf.strings.regex_full_match("", expression or "")
            except tf.errors.InvalidArgumentError as error:
                reason = error.message.split("error: ")[-1].split(" [Op")[0]
                raise ValueError(
                    f"`{name}` must be a regular expression of RE2 ({reason})."
                    f" Received: {expression!r}."
                ) from error

    @property
    def fingerprint(self) -> str:
        """Changes whenever a text may get other keys."""
        parts = dataclasses.astuple(dataclasses.replace(self, common=()))
        if not self.common:
            return repr((_VERSION, parts))
        digest = hashlib.sha256("\n".join(self.common).encode()).hexdigest()
        return repr((_VERSION, parts, digest[:16]))

    def declare(self) -> dict:
        """Returns the facts of `runtime.text_rules.Entities`."""
        is_marked = self.pattern is None
        return {
            "entity": _TAGGED if is_marked else self.pattern,
            "other": _UNTAGGED if is_marked else self.exceptions,
            "placeholder": _PLACEHOLDER,
            "one_capital": _ONE_CAPITAL,
            "surface": [[_TAG, r"\1"]] if is_marked else [],
            "common": () if is_marked else self.common,
            "lowercase": self.lowercase,
            "unknown": _UNK_WORD,
        }

    def surfaces(self, words):
        """Removes the marks of tokens.

        Args:
            words: String tensor or ragged tensor of any shape.
        """
        if self.pattern is not None:
            return words
        return tf.strings.regex_replace(words, _TAG, r"\1")

    def is_entity(self, words):
        """Returns which tokens are entities.

        Args:
            words: String tensor of any shape.

        Returns:
            Boolean tensor of the same shape.
        """
        match = tf.strings.regex_full_match
        surfaces = self.surfaces(words)
        if self.pattern is None:
            found = match(words, _TAGGED) & ~match(words, _UNTAGGED)
        else:
            found = match(words, self.pattern) & ~match(words, self.exceptions)
            if self.common:
                found &= ~self._is_common(words)
        found |= match(surfaces, _PLACEHOLDER)
        return found & (surfaces != _UNK_WORD)

    def _is_common(self, words):
        """Returns which tokens are `common`, apart from an initial capital."""
        # Constants, unlike a table, need no tracking by graphs.
        known = tf.sort(_hash(tf.constant(self.common)))
        flat = tf.reshape(_hash(lower(words)), [-1])
        place = tf.searchsorted(known, flat)
        found = tf.gather(known, tf.minimum(place, len(self.common) - 1))
        found = tf.reshape(found == flat, tf.shape(words))
        return found & tf.strings.regex_full_match(words, _ONE_CAPITAL)

    def source(self, words):
        """Replaces entities of the source by numbered placeholders.

        Args:
            words: Ragged string tensor of shape `(B, None)`, after any cut.

        Returns:
            The same shape: `"@1"`, `"@2"`, ... for entities; other tokens as
            they are, without marks.
        """
        surfaces = self.surfaces(words.values)
        places = tf.where(self.is_entity(words.values))[:, 0]
        rows = tf.gather(rows_of(words), places)
        named = tf.gather(surfaces, places)
        _, distinct = tf.unique(
            lower(named) if self.lowercase else named, tf.int64
        )
        # `tf.unique` numbers in the order of the text; each row goes on where
        # the one before it ended.
        _, numbers = tf.unique(
            rows * tf.size(surfaces, tf.int64) + distinct, tf.int64
        )
        starts = tf.math.unsorted_segment_min(numbers, rows, words.nrows())
        numbers = numbers - tf.gather(starts, rows) + 1
        keys = tf.strings.join(["@", tf.strings.as_string(numbers)])
        keys = tf.tensor_scatter_nd_update(surfaces, places[:, None], keys)
        return words.with_values(keys)

    def pair(self, source_words, target_words):
        """Replaces entities of both sides; the target's numbers come last.

        Args:
            source_words: Ragged string tensor of shape `(B, None)`.
            target_words: Ragged string tensor of shape `(B, None)`.

        Returns:
            `(source_keys, target_keys)`, of these shapes.
        """
        both = self.source(tf.concat([source_words, target_words], axis=1))
        places = tf.ragged.range(both.row_lengths()).values
        lengths = tf.gather(source_words.row_lengths(), rows_of(both))
        is_source = places < lengths
        return keep(both, is_source), keep(both, ~is_source)


def _hash(words):
    return tf.strings.to_hash_bucket_fast(words, 2**62)


def common_words(texts: Iterable[str], tokenizer: Tokenizer) -> tuple[str, ...]:
    """Finds words that are in lower case at least as often as capitalised.

    The texts should be running text, not headlines in title case.

    Args:
        texts: Strings.
        tokenizer: `Tokenizer`, whatever its `lowercase`.

    Returns:
        The words in lower case, sorted.
    """
    tokenizer = dataclasses.replace(tokenizer, lowercase=False)
    (counts,) = count_words(
        ((text,) for text in texts), (tokenizer,), progress=False
    )
    capitals = collections.Counter()
    for word, count in counts.items():
        if word != word.lower():
            capitals[word.lower()] += count
    common = [
        word
        for word, count in counts.items()
        if word == word.lower() != word.upper() and count >= capitals[word]
    ]
    return tuple(sorted(common))


def numbers_of(keys):
    """Returns the numbers of placeholders.

    Args:
        keys: String tensor of any shape.

    Returns:
        int32 of the same shape; 0 for any other key.
    """
    figures = tf.strings.regex_replace(keys, "^@", "")
    found = tf.strings.regex_full_match(keys, _PLACEHOLDER)
    return tf.strings.to_number(tf.where(found, figures, "0"), tf.int32)


def placeholder_ids(vocabulary) -> tuple[int, ...]:
    """Returns the ids of the placeholders of entities."""
    return tuple(
        i
        for i, word in enumerate(vocabulary.words)
        if re.fullmatch(_PLACEHOLDER, word)
    )


def restore(keys, source_keys, source_words):
    """Turns keys into words: a placeholder becomes its source word.

    Args:
        keys: Strings, `(B, T)`.
        source_keys: Strings, `(B, S)`.
        source_words: Strings, `(B, S)`, the tokens as they are shown.

    Returns:
        Strings, `(B, T)`: for a placeholder the first source word of that
        number, `<unk>` if there is none; other keys as they are.
    """
    numbers = numbers_of(keys)
    held = numbers[:, :, None] == numbers_of(source_keys)[:, None]  # (B, T, S)
    # One more column, as no source may have a word.
    held = tf.pad(held, [[0, 0], [0, 0], [0, 1]], constant_values=True)
    choices = tf.pad(source_words, [[0, 0], [0, 1]], constant_values=_UNK_WORD)
    first = tf.argmax(tf.cast(held, tf.int8), axis=-1)
    return tf.where(numbers > 0, tf.gather(choices, first, batch_dims=1), keys)


def anonymise(
    pairs: Iterable[tuple],
    entities: Entities,
    tokenizers: tuple[Tokenizer, Tokenizer],
    truncate: tuple[int | None, int | None] = (None, None),
) -> Iterator[tuple[str, str]]:
    """Yields pairs of texts with placeholders, their tokens between blanks.

    Vocabularies are counted on these texts, and the paper's scores use them.

    Args:
        pairs: (source, target) strings, or bytes.
        entities: `Entities`.
        tokenizers: The tokenizers of source and target; words come in the form
            of `fold`.
        truncate: Most words of a source and of a target, `None` for all.
    """

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.string)] * 2, autograph=False
    )
    def replace_entities(*texts):
        words = [
            tokenizer.tokenize(text)[:, :limit]
            for tokenizer, text, limit in zip(tokenizers, texts, truncate)
        ]
        return [
            join(tokenizer.fold(keys), " ")
            for tokenizer, keys in zip(tokenizers, entities.pair(*words))
        ]

    graph = replace_entities.get_concrete_function()

    def anonymise_chunk(chunk):
        texts = graph(*(string_tensor(side) for side in zip(*chunk)))
        sides = ([x.decode() for x in side.numpy().tolist()] for side in texts)
        return list(zip(*sides))

    return map_each(anonymise_chunk, pairs, progress=False)
