"""Hypotheses as tensors, and picking some of them.

A hypothesis is the record of its last word, which knows the record of the word
before; see `records.py`.

Shapes: B batch, K beams, L maximum length, S source steps.
"""

from typing import Any, NamedTuple

from keras import ops, tree

from tfcopy import tokens
from tfcopy.decoding import required_words
from tfcopy.decoding.records import START
from tfcopy.decoding.top_k import top_k
from tfcopy.layers.copying import MASKED
from tfcopy.layers.cutting import take_each
from tfcopy.layers.history import is_history

# A score below this belongs to no hypothesis.
EMPTY = MASKED / 2


class Alive(NamedTuple):
    """Hypotheses that may go on, the best first.

    Attributes:
        log_probs: `(B, K)`; about `MASKED` if there is none.
        last: `(B, K)`, the record of the last word.
        words: `(B, K, L)`, all words so far; `(B, K, 0)` if nothing asks.
        coverage: `(B, K, S)`, attention so far; `(B, K, 0)` if nothing asks.
        left: int32, `(B, K, S)`, how often each word must still be said, at
            its first position; `(B, K, 0)` if nothing asks.
    """

    log_probs: Any
    last: Any
    words: Any
    coverage: Any
    left: Any


class Finished(NamedTuple):
    """Hypotheses that have chosen EOS, the best first.

    Attributes:
        scores: `(B, K)`, the log-probabilities after the penalties; about
            `MASKED` if there is none.
        last: `(B, K)`, the record of EOS.
    """

    scores: Any
    last: Any


def first_hypotheses(source, options):
    """`Alive`, one empty hypothesis per sentence, and no `Finished`.

    Samples all begin with one of their own.

    Args:
        source: `Source`.
        options: `SearchOptions`.
    """
    beams = options.num_beams
    batch, size = ops.shape(source.ids)
    others = 0.0 if options.sample else MASKED
    first = ops.convert_to_tensor([0.0] + [others] * (beams - 1))
    last = ops.full((batch, beams), START, dtype="int32")
    length = options.max_length if options.no_repeat_ngram else 0
    width = size if options.coverage_penalty else 0
    left = ops.zeros((batch, 0), dtype="int32")
    if options.must_copy:
        left = required_words.first_left(source)
    alive = Alive(
        log_probs=ops.zeros((batch, beams)) + first,
        last=last,
        words=ops.full((batch, beams, length), tokens.PAD, dtype="int32"),
        coverage=ops.zeros((batch, beams, width)),
        left=with_beams(left, beams),
    )
    return alive, Finished(ops.full((batch, beams), MASKED), last)


def only(alive, kept):
    """A copy in which only the hypotheses of `kept` `(B, K)` exist."""
    return alive._replace(log_probs=ops.where(kept, alive.log_probs, MASKED))


def count(finished):
    """The number of finished hypotheses, `(B, 1)`."""
    exist = ops.cast(finished.scores > EMPTY, "int32")
    return ops.sum(exist, axis=1, keepdims=True)


def together(*groups):
    """The hypotheses of several `Finished`, one group after the other."""
    return Finished(*(ops.concatenate(x, axis=1) for x in zip(*groups)))


def best_of(hypotheses, number, options, priority=None):
    """`Finished`, the `number` with the highest priority, in order.

    Args:
        hypotheses: `Finished`, in any order, of M hypotheses.
        number: How many of the M.
        options: `SearchOptions`.
        priority: `(B, M)`; the scores themselves if `None`.
    """
    if priority is None:
        priority = hypotheses.scores
    _, chosen = top_k(priority, number, options.static_shapes)
    return Finished(*(take_each(x, chosen) for x in hypotheses))


def with_beams(nested, beams, capacity=None):
    """Each tensor `(B, ...)` once for each beam, `(B, K, ...)`.

    Args:
        nested: Nested tensors and `History`s.
        beams: K.
        capacity: Greatest number of steps, if no shape may depend on values.
    """

    def repeat(x):
        if is_history(x):
            return x.with_beams(beams, capacity)
        return None if tree.is_nested(x) else ops.stack([x] * beams, axis=1)

    return tree.traverse(repeat, nested)


def follow(nested, parents):
    """What beams have that continue others.

    Args:
        nested: Nested tensors `(B, K, ...)` and `History`s.
        parents: The beams that are continued, `(B, K)`.
    """

    def choose(x):
        if is_history(x):
            return x.follow(parents)
        return None if tree.is_nested(x) else take_each(x, parents)

    return tree.traverse(choose, nested)
