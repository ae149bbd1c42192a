"""Cutting, repeating and picking parts of tensors, as few operations.

Keras's own `split`, `repeat`, `take` and `take_along_axis` mean the same. On
TensorFlow they add about 27, 35, 12 and 20 operations to a graph, since they
find out there what is known before; a decoder's step and a search are made of
such.
"""

import keras
from keras import ops

_ON_TENSORFLOW = keras.backend.backend() == "tensorflow"
if _ON_TENSORFLOW:
    import tensorflow as tf


def split(x, places, axis=-1):
    """Cuts a tensor into parts.

    Args:
        x: Tensor.
        places: List of ints, where each part but the first begins.
        axis: Int.

    Returns:
        List of `len(places) + 1` tensors.
    """
    if not _ON_TENSORFLOW:
        return ops.split(x, places, axis=axis)
    sizes = [end - start for start, end in zip([0, *places], places)]
    return tf.split(x, [*sizes, -1], axis=axis)


def repeat(x, times):
    """Repeats each row: `(B, ...)` to `(B * times, ...)`.

    Args:
        x: Tensor.
        times: Int; the copies of a row stand side by side.
    """
    if not _ON_TENSORFLOW:
        return ops.repeat(x, times, axis=0)
    x = tf.convert_to_tensor(x)
    shape = x.shape[1:]
    if not shape.is_fully_defined():
        shape = tf.shape(x)[1:]
    copies = tf.stack([x] * times, axis=1)
    return tf.reshape(copies, tf.concat([[-1], shape], axis=0))


def take(x, indices, axis=0):
    """Picks parts along an axis.

    Args:
        x: Tensor.
        indices: Integer tensor, never negative.
        axis: Int.

    Returns:
        Tensor with the shape of `indices` in the place of the axis.
    """
    if not _ON_TENSORFLOW:
        return ops.take(x, indices, axis=axis)
    return tf.gather(x, indices, axis=axis)


def take_each(x, indices):
    """Picks from each row by indices of its own.

    Args:
        x: `(B, M, ...)`.
        indices: Integer tensor `(B, N)`, never negative.

    Returns:
        `(B, N, ...)`.
    """
    if _ON_TENSORFLOW:
        return tf.gather(x, indices, batch_dims=1)
    more = len(x.shape) - 2
    indices = ops.reshape(indices, (*ops.shape(indices), *[1] * more))
    return ops.take_along_axis(x, indices, axis=1)
