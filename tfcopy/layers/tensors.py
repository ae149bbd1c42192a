"""Parts of tensors cut, repeated and picked; masks; the axis of heads.

Keras's own `split`, `repeat`, `take` and `take_along_axis` mean the same. On
TensorFlow they add about 27, 35, 12 and 20 operations to a graph, since they
find out there what is known before; a decoder's step and a search are made of
such.

Shapes: B batch, S source steps, E embedding size, N rows of a sentence, H
attention heads, U units.
"""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.layers.copying import MASKED

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


@keras.saving.register_keras_serializable(package="tfcopy")
class PaddingMask(keras.layers.Layer):
    """Boolean mask of ids, `(B, S)` to `(B, S)`; `True` is a real token."""

    def call(self, ids):
        return ids != tokens.PAD

    def compute_output_spec(self, ids):
        return keras.KerasTensor(ids.shape, "bool")


def or_all(mask, inputs):
    """A mask, or where it is `None` one that hides nothing.

    Args:
        mask: Boolean, `(B, S)`, or `None`.
        inputs: `(B, S, E)`.
    """
    if mask is not None:
        return mask
    return ops.ones_like(inputs[..., 0], "bool")


def masked_softmax(scores, mask, axis):
    """`softmax(scores)` along an axis, about zero where `mask` is `False`.

    If the mask is `False` everywhere, the weights are uniform.

    Args:
        scores: Tensor of any floating dtype.
        mask: Boolean, of a shape that broadcasts to that of the scores.
        axis: Integer.

    Returns:
        Tensor of the shape of `scores`, float32.
    """
    scores = ops.cast(scores, "float32")
    scores = ops.where(mask, scores, MASKED)
    # `ops.softmax` warns of texts of a single word.
    return ops.exp(ops.log_softmax(scores, axis=axis))


def split_heads(x, num_heads):
    """`(B, N, U)` to `(B, H, N, U / H)`."""
    rows = x.shape[1] or ops.shape(x)[1]
    size = x.shape[2] // num_heads
    x = ops.reshape(x, (-1, rows, num_heads, size))
    return ops.transpose(x, (0, 2, 1, 3))


def merge_heads(x):
    """`(B, H, N, U / H)` to `(B, N, U)`."""
    rows = x.shape[2] or ops.shape(x)[2]
    units = x.shape[1] * x.shape[3]
    return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, rows, units))
