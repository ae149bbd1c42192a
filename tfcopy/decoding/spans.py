"""The best span of a text, by the scores of its start and of its end.

A span is the words from `start` to `end`, exclusive. Scores may be
normalised or not. Shapes: B batch, N words.
"""

from keras import ops

from tfcopy.layers.tensors import argmax


def independent_spans(start, end):
    """The best start and the best end, chosen independently.

    Args:
        start: Scores of starts, `(B, N)`.
        end: Scores of ends, `(B, N)`.

    Returns:
        `(start, end)`, int32, `(B,)`. The span is empty if the end is not after
        the start. Of equal scores the first position counts.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), the
        authors' code.
    """
    return argmax(start), argmax(end)


def joint_spans(start, end, max_length=30):
    """The start and the end whose sum of scores is highest.

    `argmax start[i] + end[j]` of all `i < j <= i + max_length`. It is never
    empty, and has no padding if scores there are very low (-1e9) and the
    text has two words, one of which may be `EOS`.

    Args:
        start: Scores of starts, `(B, N)`.
        end: Scores of ends, `(B, N)`, finite.
        max_length: Positive integer, the most words of a span.

    Returns:
        `(start, end)`, int32, `(B,)`. Of equal scores the first start counts,
        then the first end.

    Raises:
        ValueError: If `max_length` is less than 1.
    """
    if max_length < 1:
        raise ValueError(
            "`max_length` must be a positive integer. "
            f"Received: max_length={max_length}."
        )
    # Nothing ends beyond the text.
    end = ops.pad(end, [[0, 0], [0, max_length]], constant_values=-float("inf"))
    first = ops.expand_dims(ops.arange(ops.shape(start)[1]), 1)
    places = first + ops.arange(1, max_length + 1)  # (N, max_length)
    scores = ops.expand_dims(start, -1) + ops.take(end, places, axis=1)
    best = argmax(ops.reshape(scores, (ops.shape(start)[0], -1)))
    start = best // max_length
    return start, start + 1 + best % max_length
