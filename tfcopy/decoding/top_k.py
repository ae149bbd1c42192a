"""Fast `top_k` for long rows, such as the logits of a whole vocabulary.

Shapes: R rows, V columns.
"""

from keras import ops

from tfcopy.layers.tensors import take_each


def top_k(x, k):
    """Computes `keras.ops.top_k`, several times as fast for long rows.

    The k greatest values are in the k blocks with the greatest maxima. Ties are
    resolved as in `keras.ops.top_k`.

    Args:
        x: `(R, V)`.
        k: Int, at most V.

    Returns:
        `(values, columns)`, both `(R, k)`, the greatest first. Of equal values,
        the one in the lower column comes first.
    """
    columns = x.shape[1]
    size = _block_size(columns, k)
    if size == 1:
        return ops.top_k(x, k)
    blocks = ops.reshape(x, (-1, columns // size, size))
    _, best = ops.top_k(ops.max(blocks, axis=2), k)
    # Blocks in the order of their columns, for the right order of ties.
    best = -ops.top_k(-ops.cast(best, "int32"), k)[0]
    few = ops.reshape(take_each(blocks, best), (-1, k * size))
    values, places = ops.top_k(few, k)
    places = ops.cast(places, "int32")
    block = places // size
    return values, take_each(best, block) * size + (places - block * size)


def _block_size(columns, k):
    """Returns the divisor of `columns` with the least work; 1 for no blocks."""
    if not columns or columns < 64 * k:
        return 1
    sizes = [n for n in range(8, 257) if columns % n == 0 and columns // n >= k]
    return min(sizes, key=lambda n: columns // n + k * n, default=1)
