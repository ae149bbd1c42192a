"""Words of definitions that have definitions themselves."""

from collections.abc import Callable, Sequence

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.text.vocabulary import Vocabulary


class DefinedWords:
    """Numbers for the words of definitions, known, defined, or neither.

    With V the size of the vocabulary, the number of a word is

        its id  if it is known,
        V       if it has definitions, and is the very word that is defined,
        V + n   if it has definitions, those of the `n`th of `entries`,
        UNK     if it has none.

    Words with the same entries, such as forms of one lemma, share a number.

    Args:
        definitions: For each entry its definitions, each of some words; an
            entry of none is no entry.
        vocabulary: `Vocabulary` of V words.
        look_up: Gives words, `(N,)`, their entries, `(N, L)`, numbers from 1
            on, else 0; such as `DefinitionLookup.entries`.
    """

    def __init__(
        self,
        definitions: Sequence[Sequence[Sequence[str]]],
        vocabulary: Vocabulary,
        look_up: Callable,
    ):
        words = {w for entry in definitions for row in entry for w in row}
        unknown = sorted(w for w in words if vocabulary.id(w) == special.UNK)
        with tf.init_scope():
            found = look_up(tf.constant(unknown, tf.string)).numpy().tolist()
        self._vocabulary = vocabulary
        self._entries, self._numbers = {}, {}
        for word, numbers in zip(unknown, found):
            entries = tuple(i for i in numbers if i and definitions[i - 1])
            if entries:
                self._entries[word] = entries
                self._numbers.setdefault(entries, len(self._numbers) + 1)

    @property
    def entries(self) -> tuple[tuple[int, ...], ...]:
        """Which entries are read for the words of each number from 1 on."""
        return tuple(self._numbers)

    def number(self, word: str, entry: int) -> int:
        """The number of a word in a definition of an entry."""
        entries = self._entries.get(word)
        if entries is None:
            return self._vocabulary.id(word)
        is_itself = entry in entries
        return self._vocabulary.size + (
            0 if is_itself else self._numbers[entries]
        )
