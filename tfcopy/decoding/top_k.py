"""The greatest of many numbers, as fast as where it is computed allows.

Shapes: R rows, V columns.
"""

from keras import ops

from tfcopy.layers.tensors import argmax, take_each

# Below all that a search compares.
_LEAST = -3e38


def top_k(x, k, static_shapes=False):
    """As `keras.ops.top_k`, ties included, several times as fast for long rows.

    The k greatest lie in the k blocks with the greatest maxima. XLA, which
    would sort whole rows, finds k maxima in turn.

    Args:
        x: `(R, V)`.
        k: Int, at most V.
        static_shapes: Whether XLA is to compile this.

    Returns:
        `(values, columns)`, both `(R, k)`, the greatest first and, of equal
        ones, that of the lower column.
    """
    if static_shapes:
        return _maxima_in_turn(x, k)
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


def _maxima_in_turn(x, k):
    columns = ops.arange(ops.shape(x)[1], dtype="int32")
    values, places = [], []
    for _ in range(k):
        place = argmax(x)
        values.append(ops.max(x, axis=1))
        places.append(place)
        x = ops.where(columns == ops.expand_dims(place, 1), _LEAST, x)
    return ops.stack(values, axis=1), ops.stack(places, axis=1)


def _block_size(columns, k):
    """The divisor of `columns` with the least work; 1 for plain search."""
    if not columns or columns < 64 * k:
        return 1
    sizes = [n for n in range(8, 257) if columns % n == 0 and columns // n >= k]
    return min(sizes, key=lambda n: columns // n + k * n, default=1)
