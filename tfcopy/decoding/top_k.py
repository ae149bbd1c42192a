"""The greatest of many numbers, without sorting them all.

Shapes: R rows, V columns.
"""

from keras import ops

from tfcopy.layers.tensors import take_each


def top_k(x, k):
    """As `keras.ops.top_k`, ties included, several times as fast for long rows.

    The k greatest lie in the k blocks with the greatest maxima.

    Args:
        x: `(R, V)`.
        k: Int, at most V.

    Returns:
        `(values, columns)`, both `(R, k)`, the greatest first and, of equal
        ones, that of the lower column.
    """
    columns = x.shape[1]
    size = _block_size(columns, k)
    if size == 1:
        return ops.top_k(x, k)
    blocks = ops.reshape(x, (-1, columns // size, size))
    _, best = ops.top_k(ops.max(blocks, axis=2), k)
    # In the order of columns, so that ties are.
    best = -ops.top_k(-ops.cast(best, "int32"), k)[0]
    few = ops.reshape(take_each(blocks, best), (-1, k * size))
    values, places = ops.top_k(few, k)
    places = ops.cast(places, "int32")
    block = places // size
    return values, take_each(best, block) * size + (places - block * size)


def _block_size(columns, k):
    """The divisor of `columns` with the least work; 1 for plain search."""
    if not columns or columns < 64 * k:
        return 1
    sizes = [n for n in range(8, 257) if columns % n == 0 and columns // n >= k]
    return min(sizes, key=lambda n: columns // n + k * n, default=1)
