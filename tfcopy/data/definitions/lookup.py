"""Look-up of the words of a text in a dictionary, in the graph.

The same ops run in the input pipeline and in the served graph, so that both
agree; no vocabulary of the text is needed.

Shapes: N distinct words or forms, C candidates of a word, L entries of a word,
R rules of a part of speech.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from tfcopy.data.definitions.dictionary_entries import (
    PARTS_OF_SPEECH,
    RULES,
    UNKNOWN,
    Definitions,
)
from tfcopy.data.parallel import map_chunks
from tfcopy.data.text import tokenization
from tfcopy.data.text.tokenization import string_tensor
from tfcopy.data.text.vocabulary import table


class Lemmas(tf.Module):
    """Lemmas of forms among numbered words.

    The lemmas of a form are listed; if none are, the rules for nouns, verbs and
    adjectives find them. A rule leads only to words of its part of speech, or
    of unknown part of speech.

    Args:
        listed: Forms in lower case, and the lemmas of each, which may be none.
        number: Returns the number of a word, or 0 or `None`.
        parts_of_speech: For each number from 1 on its parts of speech, as in
            `Definitions`.

    Reference:
        WordNet's `morphy`, https://wordnet.princeton.edu, morphy(7WN).
    """

    def __init__(
        self,
        listed: Mapping[str, Sequence[str]],
        number: Callable,
        parts_of_speech: Sequence[str],
    ):
        super().__init__(name="lemmas")
        # `""` is no word, but the padding after the last part of a word.
        listed = {form: lemmas for form, lemmas in listed.items() if form}
        bits = [0] + [_bits(parts) for parts in parts_of_speech]
        numbers = (filter(None, map(number, x)) for x in listed.values())
        rows = [(), *(tuple(x)[:NUM_ENTRIES] for x in numbers)]
        with tf.init_scope():
            self._bits = tf.constant(bits, tf.int32)
            self._forms = table({w: i for i, w in enumerate(listed, start=1)})
            self._listed = tf.constant(_pad(rows), tf.int32)

    @property
    def size(self) -> int:
        """C."""
        return self._listed.shape[1] + len(RULES)

    def numbers(self, words, forms):
        """Returns the numbers of lemmas.

        Args:
            words: Look-up table of words to numbers, as `table` makes one.
            forms: Strings of shape `(N,)`, in lower case.

        Returns:
            int32 of shape `(N, C)`; 0 where there is none.
        """
        number = self._forms.lookup(forms)
        forms = tf.where(number == 0, forms, "")
        by_rule = [self._apply_rules(words, forms, part) for part in RULES]
        listed = tf.gather(self._listed, number)
        return tf.concat([listed, tf.stack(by_rule, axis=1)], axis=1)

    def _apply_rules(self, words, forms, part):
        """Finds lemmas by the rules of one part of speech: `(N,)`, or 0."""
        stems = tf.stack(
            [tf.strings.regex_replace(forms, *rule) for rule in RULES[part]], 1
        )
        is_other = stems != forms[:, None]
        rows = words.lookup(tf.where(is_other, stems, ""))  # (N, R)
        fits = tf.gather(self._bits, rows) & _bits(part) != 0
        is_first = tf.cumsum(tf.cast(fits, tf.int32), 1, exclusive=True) == 0
        return tf.reduce_sum(tf.where(fits & is_first, rows, 0), axis=1)


def map_distinct(words, function):
    """Applies a function to the distinct words, once to each.

    Args:
        words: String tensor of any shape.
        function: Function of distinct words, `(N,)` to `(N, F)`.

    Returns:
        Tensor of shape `(..., F)`.
    """
    words = tf.convert_to_tensor(words)
    distinct, places = tf.unique(tf.reshape(words, [-1]))
    results = function(distinct)
    size = results.shape[1]
    shape = tf.concat([tf.shape(words), [size]], axis=0)
    results = tf.reshape(tf.gather(results, places), shape)
    return tf.ensure_shape(results, words.shape.concatenate(size))


def _bits(parts):
    """Parts of speech as one number; a rule may lead to an unknown one."""
    if UNKNOWN in parts:
        parts = PARTS_OF_SPEECH
    return sum(1 << PARTS_OF_SPEECH.index(part) for part in set(parts))


def _pad(rows):
    """Tuples of numbers to an array, with zeros after their ends."""
    width = max(map(len, rows))
    return np.array([(*row, *[0] * (width - len(row))) for row in rows])


class FromArguments:
    """Base class of dataclasses that a servable stores by their fields."""

    @property
    def arguments(self) -> dict:
        """The arguments that it was made with, by name."""
        names = (field.name for field in dataclasses.fields(self))
        return {name: getattr(self, name) for name in names}


# L: most entries of a word.
NUM_ENTRIES = 4

# A shorter word is not a headword in capitals: `us` is not `US`, nor `who`
# `WHO`.
_SHORTEST_FOLDED = 4


@dataclasses.dataclass(eq=False, repr=False)
class DefinitionLookup(FromArguments, tf.Module):
    """Look-up of the entries of words.

    The entries of a word are, in this order, the entries of

    1. the word as it is written; 2. the word in lower case; 3. the lemmas of
    the word in lower case. `definitions` lists them, or else the rules for
    nouns, verbs and adjectives find them. A rule leads only to headwords of its
    part of speech, or of an unknown one.

    If there is none so far, the word has the entries of its lemmas with its
    case kept (`Jews`). Else it has the entries of 2 and 3 with the headword's
    case ignored, if it has more than three letters (`nasa`). Else it has the
    entries of its parts between hyphens, the first entry of each part first.

    A SavedModel holds its tables if it tracks this, as it does any `tf.Module`.

    Args:
        definitions: `Definitions`; entry number 1 is the first headword.
        lemmas: Whether to look for lemmas. The rules are for English.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 3;
        forms are reduced to lemmas as by WordNet's morphy(7WN).
    """

    definitions: Definitions
    lemmas: bool = True

    def __post_init__(self):
        super().__init__(name="definition_lookup")
        rows = {w: i for i, w in enumerate(self.definitions.headwords, start=1)}
        folded = _fold_headwords(rows)
        self._lemmas = None
        if self.lemmas:
            self._lemmas = Lemmas(
                self.definitions.lemmas,
                lambda word: rows.get(word) or folded.get(word),
                self.definitions.parts_of_speech,
            )
        with tf.init_scope():
            self._headwords = table(rows)
            self._folded = table(folded)

    def entries(self, words):
        """Looks up the numbers of the entries of words.

        Args:
            words: String tensor or ragged tensor of any shape; `""` is no
                word.

        Returns:
            int32 of shape `(..., L)`, ragged if `words` are: distinct numbers
            from 1 on, then 0.
        """
        if isinstance(words, tf.RaggedTensor):
            return words.with_flat_values(self.entries(words.flat_values))
        return map_distinct(words, self._look_up_or_parts)

    def entries_of_all(self, words) -> np.ndarray:
        """Looks up the entries of many words, `str`: int32 `(W, L)`."""
        found = map_chunks(
            lambda chunk: self.entries(string_tensor(chunk)).numpy(),
            words,
            progress=False,
        )
        return np.concatenate([np.zeros((0, NUM_ENTRIES), np.int32), *found])

    def _look_up_or_parts(self, words):
        """Entries of words, or else of their parts: `(N,)` to `(N, L)`."""
        return _retry(self._look_up(words), words, self._look_up_parts)

    def _look_up(self, words):
        """Entries of whole words: `(N,)` to `(N, L)`."""
        found = self._find(self._headwords, words, tokenization.lower)
        for numbers, fold in (
            (self._headwords, tf.identity),
            (self._folded, tokenization.lower),
        ):
            find = functools.partial(self._find, numbers, fold=fold)
            found = _retry(found, words, find)
        return found

    def _look_up_parts(self, words):
        """Entries of the parts of words between hyphens: `(N,)` to `(N, L)`."""
        parts = tf.strings.split(words, "-")[:, :NUM_ENTRIES].to_tensor("")
        shape = tf.shape(parts)
        found = self._look_up(tf.reshape(parts, [-1]))
        found = tf.reshape(found, [shape[0], shape[1], NUM_ENTRIES])
        found = tf.transpose(found, [0, 2, 1])  # first entries first
        return _pack(tf.reshape(found, [shape[0], shape[1] * NUM_ENTRIES]))

    def _find(self, numbers, words, fold):
        """Entries in one table, of lemmas of folded words: `(N, L)`."""
        forms = fold(words)
        candidates = tf.stack(
            [numbers.lookup(words), numbers.lookup(forms)], axis=1
        )
        if self._lemmas is not None:
            lemmas = self._lemmas.numbers(numbers, forms)
            candidates = tf.concat([candidates, lemmas], axis=1)
        return _pack(candidates)


def _fold_headwords(rows):
    """Headwords that have capitals, in lower case, to their rows."""
    words = list(rows)
    lower = tokenization.lower(tf.constant(words, tf.string)).numpy().tolist()
    folded = {}
    for word, form in zip(words, lower):
        form = form.decode()
        if form not in rows and len(form) >= _SHORTEST_FOLDED:
            folded.setdefault(form, rows[word])
    return folded


def _retry(found, words, function):
    """Calls `function` for the words without any entry so far."""
    missing = tf.where(found[:, 0] == 0)  # (N', 1)
    return tf.tensor_scatter_nd_update(
        found, missing, function(tf.gather_nd(words, missing))
    )


def _pack(candidates):
    """Keeps the first L distinct numbers of each row: `(N, C)` to `(N, L)`."""
    equal = candidates[:, :, None] == candidates[:, None, :]  # (N, C, C)
    # Each number equals itself, and any equal number before it.
    up_to = tf.linalg.band_part(tf.cast(equal, tf.int32), -1, 0)
    is_kept = (candidates > 0) & (tf.reduce_sum(up_to, axis=2) == 1)
    packed = tf.ragged.boolean_mask(candidates, is_kept)
    return packed.to_tensor(shape=[None, NUM_ENTRIES])
