"""Questions and their contexts as tokens, answers as spans of tokens."""

import dataclasses
from collections.abc import Iterable, Iterator

import numpy as np

from tfcopy.data.chunked_map import map_chunks
from tfcopy.data.corpora.squad import Example
from tfcopy.data.text.tokenization import (
    Tokenizer,
    covering_span,
    string_tensor,
    tokenize_with_offsets,
)

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
        """The words `first` to `last` (exclusive), exactly as written.

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


def tokenize(
    examples: Iterable[Example],
    tokenizer: Tokenizer = Tokenizer(language="en"),
    *,
    total: int | None = None,
    progress: bool = True,
) -> Iterator[TokenizedQuestion]:
    """Yields the questions as tokens, in order.

    A context is cut into tokens once for all neighbours that share it, and
    they share the lists and arrays.

    Args:
        examples: `Example`s.
        tokenizer: Cuts contexts and questions into words.
        total: Their number, for the time left; `examples.num_pairs` if not
            given.
        progress: Whether to show a bar (on a terminal only).
    """
    parts = map_chunks(
        lambda part: _tokenize(part, tokenizer),
        examples,
        chunk_size=_CHUNK_SIZE,
        total=total or getattr(examples, "num_pairs", None),
        description="Tokenizing questions",
        progress=progress,
    )
    for part in parts:
        yield from part


def _tokenize(examples, tokenizer) -> list[TokenizedQuestion]:
    contexts = list(dict.fromkeys(example.context for example in examples))
    tokens, starts, ends = tokenize_with_offsets(
        string_tensor(contexts), tokenizer
    )
    places = {context: i for i, context in enumerate(contexts)}
    rows = list(
        zip(_words(tokens), *(_arrays(offsets) for offsets in (starts, ends)))
    )
    questions = _words(
        tokenizer.tokenize(string_tensor(x.question for x in examples))
    )
    return [
        _question(example, question, *rows[places[example.context]])
        for example, question in zip(examples, questions)
    ]


def _question(example, question, tokens, starts, ends):
    spans = tuple(
        covering_span(starts, ends, start, start + len(text))
        for text, start in example.answers
    )
    return TokenizedQuestion(example, tokens, question, starts, ends, spans)


def _words(tokens) -> list[list[str]]:
    return [[word.decode() for word in row] for row in tokens.to_list()]


def _arrays(offsets) -> list[np.ndarray]:
    splits = offsets.row_splits.numpy()
    return np.split(offsets.flat_values.numpy(), splits[1:-1])
