"""The answers of a model that translates, as Python's own objects."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

# Scores of hypotheses that were not found are lower.
_LOWEST_SCORE = -1e8


class Translation(NamedTuple):
    """An answer to one text.

    Attributes:
        text: The answer.
        score: Its log-probability, after the penalties of the search; 0 for
            a blank text.
        tokens: The words of the answer.
        copied_from: For each word the source position it was copied from,
            -1 if it was generated.
        source_tokens: The words of the source, after the cut.
        generate_probs: For each word the probability that it would be
            generated rather than copied; in training for the end, too.
        aligned_to: For each word the source position of highest attention.
    """

    text: str
    score: float
    tokens: list[str] = []
    copied_from: list[int] = []
    source_tokens: list[str] = []
    generate_probs: list[float] = []
    aligned_to: list[int] = []

    @property
    def pharaoh(self) -> str:
        """The alignment as `0-0 1-2`: source and target positions."""
        return " ".join(f"{j}-{i}" for i, j in enumerate(self.aligned_to))


def found(row: Mapping) -> list[int]:
    """The numbers of the hypotheses; the first is always there.

    Args:
        row: `texts` and `scores`, `(N,)`, of one example, by name.
    """
    return [
        i
        for i, (text, score) in enumerate(zip(row["texts"], row["scores"]))
        if i == 0 or (score > _LOWEST_SCORE and (text or score))
    ]


def rows(outputs: Mapping, count: int) -> Iterator[dict]:
    """The outputs for each of so many examples, the first axis of arrays."""
    for i in range(count):
        yield {name: x[i] for name, x in outputs.items()}


def translations_of(
    row: Mapping, count: int | None = None
) -> list[Translation]:
    """The `Translation`s of one text, the best first.

    Args:
        row: The outputs of `analyse` for it: `texts` and `scores`, `(N,)`,
            `tokens` and `copied_from`, `(N, T)`, and `source_tokens`, `(S,)`.
            The probabilities to generate are those of `emission_probs`,
            `(N, T + 1)` and -1 after the end, or of `generate_probability`,
            `(N, T)`; with `attention`, `(N, T, S)`, words are aligned.
        count: The most of them; all if `None`.
    """
    source = decoded(row["source_tokens"])
    answers = []
    for i in found(row)[:count]:
        words = decoded(row["tokens"][i])
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
    return answers


def decoded(words) -> list[str]:
    """Words, `bytes` followed by empty ones, as strings."""
    return [word.decode(errors="replace") for word in words if word]
