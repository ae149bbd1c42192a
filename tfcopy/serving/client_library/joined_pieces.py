"""Pieces that belong to one word, joined to be shown.

Shapes: T words of an answer, S source positions; N and M after joining.
"""

from typing import NamedTuple

import numpy as np

from tfcopy.data.text.byte_pairs import BLANK, START

_END = "</s>"


class Shown(NamedTuple):
    """An answer as it is shown, with its source.

    Attributes:
        words: The answer's words.
        source: The source's words, its end among them.
        copied_from: For each word of the answer, the source word it was
            copied from; -1 if any part of it was generated.
        generate: `(N,)`, the probabilities to generate, not copy; the mean of
            a word's pieces.
        attention: `(N, M)`, for each word of the answer the mean of its
            pieces, for each of the source the sum.
    """

    words: list[str]
    source: list[str]
    copied_from: list[int]
    generate: np.ndarray
    attention: np.ndarray


def join_pieces(answer: Shown, pieces: dict) -> Shown:
    """An answer with whole words, where its tokens are pieces.

    Args:
        answer: Its tokens.
        pieces: Dict of `source` and `target`, whether the tokens of these are
            pieces that begin with a blank, `▁`, where a word begins.
    """
    source, target = (
        _starts(tokens, pieces.get(side, False))
        for tokens, side in (
            (answer.source, "source"),
            (answer.words, "target"),
        )
    )
    attention = np.asarray(answer.attention)
    if len(source):
        attention = np.add.reduceat(attention, source, axis=1)
    generate, counts = answer.generate, np.diff([*target, len(answer.words)])
    if len(target):
        attention = np.add.reduceat(attention, target, axis=0)
        attention = attention / counts[:, None]
        generate = np.add.reduceat(np.asarray(generate), target) / counts
    # The word of each position of the source.
    owners = np.cumsum(np.isin(np.arange(len(answer.source)), source)) - 1
    copied_from = [
        -1 if min(places) < 0 else int(owners[places[0]])
        for places in _parts(answer.copied_from, target)
    ]
    return Shown(
        _joined(answer.words, target, pieces.get("target", False)),
        _joined(answer.source, source, pieces.get("source", False)),
        copied_from,
        generate,
        attention,
    )


def _starts(tokens, are_pieces):
    """The places where words begin."""
    return [
        i
        for i, token in enumerate(tokens)
        if not are_pieces
        or i == 0
        or token.startswith(BLANK)
        or _END in (token, tokens[i - 1])
    ]


def _parts(values, starts):
    ends = [*starts[1:], len(values)]
    return [values[start:end] for start, end in zip(starts, ends)]


def _joined(tokens, starts, are_pieces):
    if not are_pieces:
        return tokens
    # A start symbol is a part of the first word: it is in no text.
    words = ["".join(part) for part in _parts(tokens, starts)]
    return [x.replace(START, "").replace(BLANK, " ").strip() for x in words]
