"""Whole corpora of named texts and labels in memory, as numbers of words.

The words stay as written, since they may be spelt or looked up later: a word
that is in no vocabulary still has its own number.
"""

import array
import collections
import dataclasses
import hashlib
from collections.abc import Iterable, Mapping

import numpy as np

from tfcopy.data.alignment.word_alignment import Sentences


class WordNumbers(dict):
    """Maps words to numbers from 0 on; a new word gets the next number.

    Attributes:
        words: The words by their numbers.
    """

    def __init__(self):
        super().__init__()
        self.words: list[str] = []

    def __missing__(self, word: str) -> int:
        self[word] = len(self)
        self.words.append(word)
        return self[word]


@dataclasses.dataclass(frozen=True, eq=False)
class WordTexts:
    """Examples of named texts and labels.

    Args:
        numbers: `WordNumbers`, which several corpora may share.
        texts: Name to `Sentences` of these numbers, one for each example.
        labels: Name to an int32 array `(num_examples,)`.
    """

    numbers: WordNumbers
    texts: Mapping[str, Sentences]
    labels: Mapping[str, np.ndarray]

    @classmethod
    def from_examples(
        cls,
        examples: Iterable[tuple[Mapping, Mapping]],
        numbers: WordNumbers | None = None,
    ) -> "WordTexts":
        """Reads examples.

        Args:
            examples: `(texts, labels)` of each: dicts from names to the words
                of a text (`str`), and from names to integers. All have the
                same names.
            numbers: The words that are known already; new ones are added.

        Raises:
            ValueError: If there is no example.
        """
        numbers = WordNumbers() if numbers is None else numbers
        ids, lengths, labels = {}, {}, {}
        for texts, values in examples:
            for name, words in texts.items():
                row = [numbers[word] for word in words]
                ids.setdefault(name, array.array("i")).extend(row)
                lengths.setdefault(name, [0]).append(len(row))
            for name, value in values.items():
                labels.setdefault(name, array.array("i")).append(value)
        if not ids:
            raise ValueError("There is no example. Received none.")
        return cls(
            numbers,
            {
                name: Sentences(
                    np.frombuffer(ids[name], np.int32)
                    if ids[name]
                    else np.zeros(0, np.int32),
                    np.cumsum(lengths[name]),
                )
                for name in ids
            },
            {name: np.frombuffer(labels[name], np.int32) for name in labels},
        )

    def __len__(self) -> int:
        return len(next(iter(self.texts.values())))

    @property
    def words(self) -> list[str]:
        """The words by their numbers."""
        return self.numbers.words

    @property
    def lengths(self) -> list[np.ndarray]:
        """Lengths of the texts, that of longest total length first."""
        lengths = [sentences.lengths for sentences in self.texts.values()]
        return sorted(lengths, key=lambda x: -int(x.sum()))

    def tokens(self, name: str, i: int) -> list[str]:
        """The words of one text of one example."""
        return [self.words[number] for number in self.texts[name][i]]

    def subset(self, rows) -> "WordTexts":
        """Some of the examples.

        Args:
            rows: Their numbers, in the order wanted.
        """
        return WordTexts(
            self.numbers,
            {
                name: Sentences.from_rows(text[i] for i in rows)
                for name, text in self.texts.items()
            },
            {name: values[rows] for name, values in self.labels.items()},
        )

    def counts(self) -> collections.Counter:
        """How often each word occurs in all texts."""
        size = len(self.numbers)
        totals = sum(
            np.bincount(text.ids, minlength=size)
            for text in self.texts.values()
        )
        return collections.Counter(
            {w: int(n) for w, n in zip(self.numbers, totals) if n}
        )

    @property
    def checksum(self) -> str:
        """Changes with the texts, their order and their labels."""
        digest = hashlib.sha256("\n".join(self.numbers).encode())
        for name, text in sorted(self.texts.items()):
            digest.update(name.encode())
            for values in (text.ids, text.splits):
                digest.update(np.ascontiguousarray(values).data)
        for name, values in sorted(self.labels.items()):
            digest.update(name.encode() + values.tobytes())
        return digest.hexdigest()[:16]
