"""The operations of Keras themselves, for all backends."""

from keras import ops


def split(x, places, axis=-1):
    """Cuts a tensor into parts.

    Args:
        x: Tensor.
        places: List of ints, where each part but the first begins.
        axis: Int.

    Returns:
        List of `len(places) + 1` tensors.
    """
    return ops.split(x, places, axis=axis)


def repeat(x, times):
    """Repeats each row: `(B, ...)` to `(B * times, ...)`.

    Args:
        x: Tensor.
        times: Int; the copies of a row stand side by side.
    """
    return ops.repeat(x, times, axis=0)


def take(x, indices, axis=0):
    """Picks parts along an axis.

    Args:
        x: Tensor.
        indices: Integer tensor, never negative.
        axis: Int.

    Returns:
        Tensor with the shape of `indices` in the place of the axis.
    """
    return ops.take(x, indices, axis=axis)


def take_each(x, indices):
    """Picks from each row by indices of its own.

    Args:
        x: `(B, M, ...)`.
        indices: Integer tensor `(B, N)`, never negative.

    Returns:
        `(B, N, ...)`.
    """
    more = len(x.shape) - 2
    indices = ops.reshape(indices, (*ops.shape(indices), *[1] * more))
    return ops.take_along_axis(x, indices, axis=1)
