"""Translations, read from the outputs of a model.

Shapes: T target tokens, S source tokens, N hypotheses.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tfcopy.runtime.signatures import ModelError
from tfcopy.terminal import one_line
from tfcopy.tokens import EOS, SPECIAL_TOKENS

_END = SPECIAL_TOKENS[EOS]
# Padding of the n-best list has a lower score.
_LOWEST_SCORE = -1e8
_WORD = re.compile(r"\w+|[^\w\s]")
# Subwords, or tokens, that a word or a punctuation mark may be split into.
_PIECES = 2


def count_tokens(text: str) -> int:
    """Returns the number of words and punctuation marks in a text."""
    return len(_WORD.findall(text))


def may_exceed_limit(text: str, max_words: int) -> bool:
    """Returns whether a model may truncate a text.

    Args:
        text: The text.
        max_words: Maximum number of tokens that the model reads.
    """
    return max(_PIECES * count_tokens(text), len(text) / _PIECES) > max_words


class Translation(NamedTuple):
    """A translation of a text.

    Attributes:
        text: The translation.
        score: Its log-probability, after the penalties of the search; 0 for
            a blank text.
        tokens: Its tokens.
        copied_from: For each token the source position it was copied from, -1
            if it was generated.
        source_tokens: Tokens of the source, after truncation.
        generate_probs: For each token the probability of generating rather
            than copying; in training for the end, too.
        aligned_to: For each token the source position of highest attention.
    """

    text: str
    score: float
    tokens: list[str] = []
    copied_from: list[int] = []
    source_tokens: list[str] = []
    generate_probs: list[float] = []
    aligned_to: list[int] = []


def num_source_tokens(answer: Translation) -> int:
    """Returns the number of source tokens that were read, without `</s>`."""
    words = answer.source_tokens
    return len(words) - (words[-1:] == [_END])


def is_truncated(answer: Translation, max_words: int) -> bool:
    """Returns whether a model may have truncated a text.

    Args:
        answer: Output of `analyse` for the text.
        max_words: As in `may_exceed_limit`.
    """
    return num_source_tokens(answer) >= max_words


def hypothesis_indices(row: Mapping) -> list[int]:
    """Returns the numbers of the hypotheses; the first is always included.

    Args:
        row: Dict of `texts` and `scores`, `(N,)`, of one example.
    """
    return [
        i
        for i, (text, score) in enumerate(zip(row["texts"], row["scores"]))
        if i == 0 or (score > _LOWEST_SCORE and (text or score))
    ]


def iter_examples(outputs: Mapping, count: int) -> Iterator[dict]:
    """Yields the outputs for each example, the first axis of the arrays."""
    for i in range(count):
        yield {name: x[i] for name, x in outputs.items()}


def read_translations(
    row: Mapping, count: int | None = None
) -> list[Translation]:
    """Returns the `Translation`s of a text, the best first.

    Args:
        row: Dict of outputs for the text: `text` and `score`; or, from
            `analyse`, `texts` and `scores`, `(N,)`, `tokens` and
            `copied_from`, `(N, T)`, and `source_tokens`, `(S,)`. It may have
            probabilities of generating, `emission_probs`, `(N, T + 1)` with -1
            after the end, or `generate_probability`, `(N, T)`, and `attention`,
            `(N, T, S)`, for the alignment.
        count: Maximum number of translations; all if `None`.

    Raises:
        ValueError: If there is none.
    """
    if "texts" not in row:
        text = row["text"].decode(errors="replace")
        return [Translation(text, float(row["score"]))]
    source = decode_texts(row["source_tokens"])
    answers = []
    for i in hypothesis_indices(row)[:count]:
        words = decode_texts(row["tokens"][i])
        if "emission_probs" in row:
            generate = [p for p in row["emission_probs"][i].tolist() if p >= 0]
        elif "generate_probability" in row:
            generate = row["generate_probability"][i, : len(words)].tolist()
        else:
            generate = []
        aligned = []
        if "attention" in row and source and words:
            weights = row["attention"][i, : len(words), : len(source)]
            aligned = weights.argmax(-1).tolist()
        answers.append(
            Translation(
                text=row["texts"][i].decode(errors="replace"),
                score=float(row["scores"][i]),
                tokens=words,
                copied_from=row["copied_from"][i, : len(words)].tolist(),
                source_tokens=source,
                generate_probs=generate,
                aligned_to=aligned,
            )
        )
    if not answers:
        raise ValueError("no hypothesis")
    return answers


def decode_texts(words) -> list[str]:
    """Returns words, `bytes` padded with empty ones, as strings."""
    return [word.decode(errors="replace") for word in words if word]


@contextlib.contextmanager
def report_malformed_outputs(model):
    """Turns errors in reading outputs into a `ModelError`."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise ModelError(
            f"{model.name}: the outputs have another form than those of a "
            f"model exported by tfcopy ({one_line(error)})."
        ) from error
