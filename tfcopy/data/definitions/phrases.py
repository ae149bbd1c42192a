"""From the words of a text to the headwords of several words, in the graph.

Shapes: B sentences, T words, N distinct words, C lemmas of a word at either end
of a phrase, F numbers that describe a word's roles in phrases, V ways in which
words are read.
"""

import dataclasses
from collections.abc import Collection, Mapping

import tensorflow as tf

from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.definitions.lookup import (
    FromArguments,
    Lemmas,
    of_distinct,
)
from tfcopy.data.text import tokenization
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import table

_NOWHERE, _ROOT = 0, 1


class PhraseTrie(tf.Module):
    """Finds the longest phrase that begins at each word.

    Args:
        phrases: Phrases, of two words or more, each word a number from 1 on,
            and the entry of each, from 1 on.
        num_words: The largest number of a word.
    """

    def __init__(self, phrases: Mapping[tuple[int, ...], int], num_words: int):
        super().__init__(name="phrase_trie")
        self._size = num_words + 1
        self._longest = max(map(len, phrases), default=2)
        children, entries = {}, [0, 0]
        for words, entry in phrases.items():
            node = _ROOT
            for word in words:
                key = node * self._size + word
                if key not in children:
                    children[key] = len(entries)
                    entries.append(0)
                node = children[key]
            entries[node] = entry
        with tf.init_scope():
            self._entries = tf.constant(entries, tf.int32)
            self._children = table(children, tf.int64, _NOWHERE)

    def longest(self, first, inner, last):
        """The longest phrase that begins at each word.

        Words can be read in several ways; among phrases of equal length, the
        first way that gives one counts.

        Args:
            first: int32 of shape `(B, T, V)`, numbers of the words if they
                are the first of a phrase, 0 for words of no phrase.
            inner: Their numbers if they are neither the first nor the last,
                likewise.
            last: Their numbers if they are the last.

        Returns:
            `(entries, lengths)`, int32 of shape `(B, T)`, 0 for none.
        """
        found = []
        nodes = self._child(_ROOT, first)
        for number in range(1, self._longest):
            ends = self._child(nodes, _later(last, number))
            found.insert(0, tf.gather(self._entries, ends))
            nodes = self._child(nodes, _later(inner, number))
        found = tf.concat(found, axis=-1)  # the longest phrases first
        best = tf.argmax(found > 0, axis=-1, output_type=tf.int32)
        entries = tf.gather(found, best, batch_dims=2)
        lengths = self._longest - best // first.shape[-1]
        return entries, tf.where(entries > 0, lengths, 0)

    def _child(self, nodes, words):
        keys = tf.cast(nodes, tf.int64) * self._size + tf.cast(words, tf.int64)
        return self._children.lookup(keys)


def _later(words, number):
    """For each word the word a number of places later, or 0."""
    length = tf.shape(words)[1]
    return tf.pad(words, [[0, 0], [0, number], [0, 0]])[:, number:][:, :length]


# The position of a word in a phrase.
OUTSIDE, FIRST, INSIDE, LAST = range(4)


@dataclasses.dataclass(eq=False, repr=False)
class PhraseLookup(FromArguments, tf.Module):
    """Finds headwords of two words or more.

    The words of a phrase are those of the headword, in lower case or as they
    are written; or the first is a form whose lemma is the headword's first word
    (`gave up`), or else the last is such a form (`steam engines`). A headword
    with capitals has to be written as it is. Of the phrases that begin at the
    leftmost word the longest is taken, and the search continues after its end.

    A SavedModel holds its tables if it tracks this, as it does any `tf.Module`.

    Args:
        definitions: `Definitions`; entry number 1 is the first headword.
        max_words: Most words of a phrase, at least 2.
        frequent: The most frequent words; a headword of only these is no phrase
            (`up to`).
        lemmas: Whether to look for lemmas, as `DefinitionLookup` does.
        tokenizer: Cuts headwords into words as texts are cut; by default
            they are cut at blanks.

    Raises:
        ValueError: If `max_words` is less than 2.
    """

    definitions: Definitions
    _: dataclasses.KW_ONLY
    max_words: int = 5
    frequent: Collection[str] = ()
    lemmas: bool = True
    tokenizer: Tokenizer | None = None

    def __post_init__(self):
        super().__init__(name="phrase_lookup")
        if self.max_words < 2:
            raise ValueError(
                f"`max_words` must be at least 2. Received: {self.max_words}."
            )
        self.frequent = frozenset(self.frequent)
        definitions = self.definitions
        phrases = {
            words: entry
            for entry, words in _cut(definitions.headwords, self.tokenizer)
            if 2 <= len(words) <= self.max_words
            and not self.frequent.issuperset(words)
        }
        numbers = {}  # from 1 on
        for word in (word for words in phrases for word in words):
            numbers.setdefault(word, len(numbers) + 1)
        self._trie = PhraseTrie(
            {
                tuple(numbers[word] for word in words): entry
                for words, entry in phrases.items()
            },
            len(numbers),
        )
        with tf.init_scope():
            self._numbers = table(numbers)
        self._ends = []
        if self.lemmas:
            lower = _in_lower_case(definitions.headwords)
            written = {
                words: definitions.parts_of_speech[entry - 1]
                for words, entry in phrases.items()
                if entry in lower
            }
            self._ends = [
                _End(written, place, numbers, definitions.lemmas)
                for place in (0, -1)
            ]

    def phrases(self, words):
        """Entries of phrases.

        Args:
            words: Strings of shape `(B, T)`; `""` is no word.

        Returns:
            `(entries, positions)`, int32 of shape `(B, T)`: the entry of the
            phrase that a word belongs to, 0 for none; and which of its words
            it is: 1 the first, 2 one inside, 3 the last, 0 for none.
        """
        return self.match(self.numbers(words))

    def numbers(self, words):
        """The numbers of words that `match` needs, independent of positions.

        Args:
            words: String tensor of any shape.

        Returns:
            int32 of shape `(..., F)`; zeros for `""`.
        """
        return of_distinct(words, self._numbers_of)

    def _numbers_of(self, words):
        """The numbers of distinct words: `(N,)` to `(N, F)`."""
        forms = tokenization.lower(words)
        found = [self._numbers.lookup(x)[:, None] for x in (words, forms)]
        lemmas = [end.lemmas(forms) for end in self._ends]
        return tf.concat([*found, *lemmas], axis=1)

    def match(self, numbers):
        """Entries of phrases, given what `numbers` gave: `(B, T, F)`."""
        first = inner = last = numbers[..., :2]
        start = 2
        for is_last, end in enumerate(self._ends):
            lemmas = numbers[..., start : start + end.size]
            start += end.size
            same = tf.repeat(numbers[..., 1:2], end.size, axis=-1)
            first = tf.concat([first, same if is_last else lemmas], axis=-1)
            inner = tf.concat([inner, same], axis=-1)
            last = tf.concat([last, lemmas if is_last else same], axis=-1)
        entries, lengths = self._trie.longest(first, inner, last)
        return without_overlap(entries, lengths)


class _End(tf.Module):
    """The first or the last words of phrases, as lemmas of forms."""

    def __init__(self, phrases, place, numbers, listed):
        super().__init__()
        parts = {}
        for words, parts_of_speech in phrases.items():
            word = words[place]
            parts[word] = parts.get(word, "") + parts_of_speech
        own = {word: numbers[word] for word in parts}
        with tf.init_scope():
            self._words = table(own)
        parts = [parts.get(word, "") for word in numbers]
        self._lemmas = Lemmas(listed, own.get, parts, max_listed=2)
        self.size = self._lemmas.size  # C

    def lemmas(self, forms):
        """Numbers of words at this end: `(N,)` to `(N, C)`."""
        return self._lemmas.numbers(self._words, forms)


def without_overlap(entries, lengths):
    """Chooses phrases from left to right, without those that begin in another.

    Args:
        entries: int32 of shape `(B, T)`, of a phrase that begins at each word.
        lengths: int32 of shape `(B, T)`, its number of words, 0 for none.

    Returns:
        `(entries, positions)`, int32 of shape `(B, T)`, as in `PhraseLookup`.
    """

    def step(state, begins):
        left, entry = state  # words of a phrase, from this one on
        is_inside = left > 1
        length, begun = begins
        return (
            tf.where(is_inside, left - 1, length),
            tf.where(is_inside, entry, begun),
        )

    # A step that begins nothing, so that there is one if T is 0.
    steps = [
        tf.transpose(tf.pad(x, [[0, 0], [1, 0]])) for x in (lengths, entries)
    ]
    nothing = tf.zeros_like(steps[0][0])
    left, entries = tf.scan(step, tuple(steps), (nothing, nothing))
    is_first = (left[1:] > 0) & (left[:-1] <= 1)
    positions = tf.where(left[1:] == 1, LAST, INSIDE)
    positions = tf.where(is_first, FIRST, positions)
    positions = tf.where(left[1:] == 0, OUTSIDE, positions)
    return tuple(
        tf.ensure_shape(tf.transpose(x), lengths.shape)
        for x in (entries[1:], positions)
    )


def _cut(headwords, tokenizer):
    """Pairs of an entry and the words of its headword, the first last."""
    if tokenizer is None:
        rows = [word.split() for word in headwords]
    else:
        rows = tokenizer.tokenize(tf.constant(headwords, tf.string)).to_list()
        rows = [[word.decode() for word in row] for row in rows]
    pairs = [(entry, tuple(row)) for entry, row in enumerate(rows, start=1)]
    return reversed(pairs)


def _in_lower_case(headwords):
    """The entries whose headwords have no capitals."""
    words = tf.constant(headwords, tf.string)
    is_lower = (tokenization.lower(words) == words).numpy().tolist()
    return {entry for entry, holds in enumerate(is_lower, start=1) if holds}
