"""What the steps of a search have chosen, written down once.

A record is a word of a hypothesis. It knows the record of the word before, so
that hypotheses that begin alike share records and a step copies no histories.

Shapes: B batch, N hypotheses, L maximum length, S source steps, M records.
"""

from typing import Any, NamedTuple

from keras import ops

from tfcopy import tokens
from tfcopy.layers.cutting import take

# The record before the first word.
NONE = -1


class Records(NamedTuple):
    """The words of all hypotheses that a search has looked at.

    Attributes:
        words: `(M, 4)`: the record of the word before, the number of words
            before, the word's extended id, and the position that it was copied
            from (`tokens.GENERATE` if it was generated).
        log_generate: `(M,)`, `log p(generate)` before the word.
        attention: The weights before the word, `(M, S)`, or `(M, 0)`.
        count: How many records there are; scalar.
    """

    words: Any
    log_generate: Any
    attention: Any
    count: Any


def no_records(capacity, attention_size):
    """`Records` with room for `capacity`."""
    return Records(
        words=ops.zeros((capacity, 4), dtype="int32"),
        log_generate=ops.zeros((capacity,)),
        attention=ops.zeros((capacity, attention_size)),
        count=ops.convert_to_tensor(0),
    )


def write(records, step, before, words, copied_from, log_generate, attention):
    """Adds a record for each of R words.

    Args:
        records: `Records`.
        step: Number of words before; scalar tensor.
        before: The records of the words before, `(R,)`.
        words: Extended ids, `(R,)`.
        copied_from: `(R,)`.
        log_generate: `(R,)`.
        attention: `(R, S)`, or `None` if the records hold none.

    Returns:
        `(records, added)`, the new records' own numbers, `(R,)`.
    """
    steps = ops.zeros_like(words) + step
    number = ops.shape(words)[0]
    places = ops.arange(number, dtype="int32") + records.count
    rows = ops.expand_dims(places, 1)
    added = ops.stack([before, steps, words, copied_from], axis=1)
    new = {
        "words": ops.scatter_update(records.words, rows, added),
        "log_generate": ops.scatter_update(
            records.log_generate, rows, log_generate
        ),
        "count": records.count + number,
    }
    if attention is not None:
        new["attention"] = ops.scatter_update(
            records.attention, rows, attention
        )
    return records._replace(**new), places


def read(records, last, length, longest):
    """The hypotheses that end with some records.

    Args:
        records: `Records`.
        last: `(B, N)`.
        length: L.
        longest: The number of words of the longest; scalar tensor.

    Returns:
        `(ids, copied_from, generate_probs, attention)`, `(B, N, L)` and, of the
        attention, `(B, N, L, S)`; behind the end PAD, `tokens.GENERATE` and
        zeros.
    """
    shape = ops.shape(last)
    flat = ops.reshape(last, (-1,))
    path = ops.full((length, ops.shape(flat)[0]), NONE, dtype="int32")

    def trace(step, at, path):
        word = take(records.words, ops.maximum(at, 0))
        here = ops.logical_and(at >= 0, word[:, 1] == step)
        row = ops.expand_dims(ops.where(here, at, NONE), 0)
        path = ops.scatter_update(path, ops.reshape(step, (1, 1)), row)
        return step - 1, ops.where(here, word[:, 0], at), path

    _, _, path = ops.while_loop(
        lambda step, at, path: step >= 0,
        trace,
        (ops.cast(longest, "int32") - 1, flat, path),
        maximum_iterations=length,
    )
    path = ops.reshape(ops.transpose(path), (*shape, length))
    exists = path != NONE
    path = ops.maximum(path, 0)
    words = take(records.words, path)
    generate_probs = ops.exp(take(records.log_generate, path))
    size = ops.shape(records.attention)[1]
    attention = ops.zeros((*shape, 0, size))
    if records.attention.shape[1] != 0:
        attention = take(records.attention, path)
        attention = ops.where(ops.expand_dims(exists, 3), attention, 0.0)
    return (
        ops.where(exists, words[..., 2], tokens.PAD),
        ops.where(exists, words[..., 3], tokens.GENERATE),
        ops.where(exists, generate_probs, 0.0),
        attention,
    )
