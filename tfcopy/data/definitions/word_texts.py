"""Texts as words: whole corpora in memory, and questions with their answers.

The words stay as written, since they may be spelt or looked up later: a word
that is in no vocabulary still has its own number.
"""

import array
import collections
import dataclasses
import hashlib
from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from tfcopy.data.alignment.word_links import Sentences
from tfcopy.data.corpora.squad import Example
from tfcopy.data.parallel import map_each
from tfcopy.data.text import tokenization


class WordNumbers(dict):
    """Dict of words to numbers from 0 on; a new word gets the next number.

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
        """Lengths of the texts, longest total length first."""
        lengths = [sentences.lengths for sentences in self.texts.values()]
        return sorted(lengths, key=lambda x: -int(x.sum()))

    def tokens(self, name: str, i: int) -> list[str]:
        """Returns the words of one text of one example."""
        return [self.words[number] for number in self.texts[name][i]]

    def subset(self, rows) -> "WordTexts":
        """Selects some of the examples.

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
        """Counts each word in all texts."""
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


_CHUNK_SIZE = 1024  # questions; contexts are long


@dataclasses.dataclass(frozen=True, eq=False)
class TokenizedQuestion:
    """An example of `tfcopy.data.corpora.squad` as tokens.

    Args:
        example: The `Example`.
        context_tokens: The words of its context.
        question_tokens: The words of its question.
        starts: int32 array, the offsets at which the words of the context
            begin, in code points.
        ends: int32 array, the offsets at which they end, exclusive.
        spans: For each answer the fewest words that cover it: the positions of
            the first one and after the last.
    """

    example: Example
    context_tokens: list[str]
    question_tokens: list[str]
    starts: np.ndarray
    ends: np.ndarray
    spans: tuple[tuple[int, int], ...]

    def text(self, first: int, last: int) -> str:
        """Returns the words `first` to `last` (exclusive), exactly as written.

        `""` if there is none; positions beyond the last word are left out.
        """
        last = min(last, len(self.ends))
        if last <= first:
            return ""
        return self.example.context[self.starts[first] : self.ends[last - 1]]

    @property
    def references(self) -> list[str]:
        """The texts of all answers, for `squad_evaluation`."""
        return [answer.text for answer in self.example.answers]


def tokenize_questions(
    examples: Iterable[Example],
    tokenizer: tokenization.Tokenizer = tokenization.Tokenizer(keeps=""),
) -> Iterator[TokenizedQuestion]:
    """Yields the questions as tokens, in order.

    A context is cut into tokens once for all neighbours that share it, and
    they share the lists and arrays.

    Args:
        examples: `Example`s.
        tokenizer: Cuts contexts and questions into words.
    """
    return map_each(
        lambda part: _tokenize_chunk(part, tokenizer),
        examples,
        chunk_size=_CHUNK_SIZE,
        description="Tokenizing questions",
    )


def _tokenize_chunk(examples, tokenizer) -> list[TokenizedQuestion]:
    contexts = list(dict.fromkeys(example.context for example in examples))
    tokens, starts, ends = tokenization.tokenize_with_offsets(
        tokenization.string_tensor(contexts), tokenizer
    )
    places = {context: i for i, context in enumerate(contexts)}
    rows = list(
        zip(_words(tokens), *(_arrays(offsets) for offsets in (starts, ends)))
    )
    questions = _words(
        tokenizer.tokenize(
            tokenization.string_tensor(x.question for x in examples)
        )
    )
    return [
        _question(example, question, *rows[places[example.context]])
        for example, question in zip(examples, questions)
    ]


def _question(example, question, tokens, starts, ends):
    spans = tuple(
        tokenization.find_covering_span(starts, ends, start, start + len(text))
        for text, start in example.answers
    )
    return TokenizedQuestion(example, tokens, question, starts, ends, spans)


def _words(tokens) -> list[list[str]]:
    return [[word.decode() for word in row] for row in tokens.to_list()]


def _arrays(offsets) -> list[np.ndarray]:
    splits = offsets.row_splits.numpy()
    return np.split(offsets.flat_values.numpy(), splits[1:-1])
