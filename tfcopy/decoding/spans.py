"""Best span of a text, given scores of its start and its end.

A span consists of the words from `start` to `end`, exclusive. Scores may be
normalised or not. Shapes: B batch, N words.
"""

from keras import ops

from tfcopy.layers.tensors import argmax


def independent_spans(start, end):
    """Returns the best start and the best end, chosen independently.

    Args:
        start: Scores of starts, `(B, N)`.
        end: Scores of ends, `(B, N)`.

    Returns:
        `(start, end)`, int32, `(B,)`. The span is empty if the end is not after
        the start. Among equal scores, the first position is chosen.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), the
        authors' code.
    """
    return argmax(start), argmax(end)


def joint_spans(start, end, max_length=30):
    """Returns the start and the end with the highest sum of scores.

    `argmax start[i] + end[j]` over all `i < j <= i + max_length`. The span is
    never empty. It has no padding if the scores of padding are very low (-1e9)
    and the text has at least two words, where `EOS` may be one of them.

    Args:
        start: Scores of starts, `(B, N)`.
        end: Scores of ends, `(B, N)`, finite.
        max_length: Positive integer, the maximum number of words of a span.

    Returns:
        `(start, end)`, int32, `(B,)`. Among equal scores, the first start is
        chosen, then the first end.

    Raises:
        ValueError: If `max_length` is less than 1.
    """
    if max_length < 1:
        raise ValueError(
            "`max_length` must be a positive integer. "
            f"Received: max_length={max_length}."
        )
    # No span ends beyond the text.
    end = ops.pad(end, [[0, 0], [0, max_length]], constant_values=-float("inf"))
    first = ops.expand_dims(ops.arange(ops.shape(start)[1]), 1)
    places = first + ops.arange(1, max_length + 1)  # (N, max_length)
    scores = ops.expand_dims(start, -1) + ops.take(end, places, axis=1)
    best = argmax(ops.reshape(scores, (ops.shape(start)[0], -1)))
    start = best // max_length
    return start, start + 1 + best % max_length
