"""Hypotheses as tensors, and picking some of them.

Shapes: B batch, K beams, L maximum length, S source steps.
"""

from typing import Any, NamedTuple

from keras import ops

from tfcopy import tokens
from tfcopy.layers.copying import MASKED
from tfcopy.layers.cutting import take as take_rows

# A score below this belongs to no hypothesis.
EMPTY = MASKED / 2


class Beams(NamedTuple):
    """Hypotheses, alive or finished: what is reordered together.

    Attributes:
        log_probs: `(B, K)`; about `MASKED` if there is none.
        scores: `(B, K)`, the log-probabilities after the penalties.
        ids: `(B, K, L)`.
        copied_from: `(B, K, L)`.
        generate_probs: `(B, K, L)`.
        attention: `(B, K, L, S)` or `(B, K, 0, S)`.
        coverage: `(B, K, S)` or `(B, K, 0)`; attention so far.
    """

    log_probs: Any
    scores: Any
    ids: Any
    copied_from: Any
    generate_probs: Any
    attention: Any
    coverage: Any


def first_beams(source_ids, options):
    """One empty hypothesis per sentence; the other beams hold none."""
    beams, length = options.num_beams, options.max_length
    batch, size = ops.shape(source_ids)
    only_first = ops.convert_to_tensor([0.0] + [MASKED] * (beams - 1))
    log_probs = ops.zeros((batch, beams)) + only_first
    kept = length if options.return_attention else 0
    width = size if options.coverage_penalty else 0
    ids = ops.full((batch, beams, length), tokens.PAD, dtype="int32")
    return Beams(
        log_probs=log_probs,
        scores=log_probs,
        ids=ids,
        copied_from=ops.full_like(ids, tokens.GENERATE),
        generate_probs=ops.zeros((batch, beams, length)),
        attention=ops.zeros((batch, beams, kept, size)),
        coverage=ops.zeros((batch, beams, width)),
    )


def only(beams, kept):
    """A copy in which only the hypotheses of `kept` `(B, K)` exist."""
    return beams._replace(
        log_probs=ops.where(kept, beams.log_probs, MASKED),
        scores=ops.where(kept, beams.scores, MASKED),
    )


def exist(beams):
    """Which beams hold a hypothesis, `(B, K)`."""
    return beams.log_probs > EMPTY


def count(beams):
    """The number of hypotheses, `(B, 1)`."""
    return ops.sum(ops.cast(exist(beams), "int32"), axis=1, keepdims=True)


def best_of(first, second, priority, number):
    """The `number` hypotheses of both with the highest priority, in order."""
    _, chosen = ops.top_k(priority, number)
    if second is not None:
        first = Beams(
            *(ops.concatenate([a, b], axis=1) for a, b in zip(first, second))
        )
    rows = flat_rows(chosen, priority.shape[1])
    return take_beams(first, rows, number)


def flat_rows(beams, width=None):
    """Rows of `(B * width, ...)` for beam numbers `(B, K)`, flat."""
    width = width or beams.shape[1]
    beams = ops.cast(beams, "int32")
    sentences = ops.arange(ops.shape(beams)[0], dtype="int32") * width
    return ops.reshape(beams + ops.expand_dims(sentences, 1), (-1,))


def take_beams(beams, rows, number):
    """Hypotheses by the rows of `flat_rows`, `number` per sentence."""

    def take(x):
        if 0 in x.shape[2:]:
            return x[:, :number]
        shape = x.shape[2:]
        if None in shape:
            shape = ops.shape(x)[2:]
        taken = take_rows(ops.reshape(x, (-1, *shape)), rows)
        return ops.reshape(taken, (-1, number, *shape))

    return Beams(*(take(x) for x in beams))
