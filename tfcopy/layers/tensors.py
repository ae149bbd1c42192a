"""Parts of tensors, masks, softmax and layer normalisation.

Keras's own `split`, `repeat`, `take`, `take_along_axis` and `argmax` mean the
same as those here. On TensorFlow they add about 27, 35, 12, 20 and 12
operations to a graph, since they find out there what is known before; a
decoder's step and a search are made of such.

Shapes: B batch, S source steps, E embedding size, N rows of a sentence, H
attention heads, U units.
"""

import keras
from keras import ops

from tfcopy import tokens

_ON_TENSORFLOW = keras.backend.backend() == "tensorflow"
if _ON_TENSORFLOW:
    import tensorflow as tf

# The log of a probability of zero. Large enough to vanish after `exp`, small
# enough that sums of a few stay finite in float32.
MASKED = -1e9


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


def copies(x, times):
    """Copies each row: `(B, ...)` to `(B, times, ...)`.

    In place of `ops.stack([x] * times, axis=1)`, which TensorFlow 2.21 rewrites
    wrongly where all sizes are known: of the second output of a split or an
    unstacking its graphs stack the first.

    Args:
        x: Tensor of known rank.
        times: Int.
    """
    multiples = [1, times, *[1] * (len(x.shape) - 1)]
    if not _ON_TENSORFLOW:
        return ops.tile(ops.expand_dims(x, 1), multiples)
    return tf.tile(tf.expand_dims(x, 1), multiples)


def repeat(x, times):
    """Repeats each row: `(B, ...)` to `(B * times, ...)`.

    Args:
        x: Tensor.
        times: Int; the copies of a row stand side by side.
    """
    if not _ON_TENSORFLOW:
        return ops.repeat(x, times, axis=0)
    return tf.reshape(copies(x, times), [-1, *ops.shape(x)[1:]])


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


def argmax(x):
    """The place of the greatest of the last axis, int32; of equals, the first.

    Args:
        x: `(..., N)`.

    Returns:
        `(...)`.
    """
    if _ON_TENSORFLOW:
        return tf.argmax(x, axis=-1, output_type=tf.int32)
    return ops.cast(ops.argmax(x, axis=-1), "int32")


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
    scores = ops.where(mask, ops.cast(scores, "float32"), MASKED)
    if scores.shape[axis] == 1:  # `ops.softmax` warns of it.
        return ops.ones_like(scores)
    return ops.softmax(scores, axis=axis)


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


def normalize(x, weights):
    """Layer normalisation, of the last axis, inside the step of a loop.

    Args:
        x: `(..., size)`, float32.
        weights: `(gain, bias)`, each `(size,)`, of the step's memory.

    Reference:
        [Ba et al., 2016](https://arxiv.org/abs/1607.06450), eq. 3 and 4.
    """
    gain, bias = weights
    mean = ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * ops.rsqrt(variance + 1e-5) * gain + bias


def add_norms(layer, sizes):
    """Adds the weights of normalisations to a layer.

    Args:
        layer: A Keras layer that is being built.
        sizes: Dict from the name of a site to its size.

    Returns:
        Dict from a name to `(gain, bias)`.
    """
    return {
        name: tuple(
            layer.add_weight(
                name=f"{name}_norm_{part}", shape=(size,), initializer=start
            )
            for part, start in (("gain", "ones"), ("bias", "zeros"))
        )
        for name, size in sizes.items()
    }


def cast_norms(norms):
    """The weights of `add_norms` in float32, by the same names."""
    return {
        name: tuple(ops.cast(weight, "float32") for weight in weights)
        for name, weights in norms.items()
    }


# The largest tensors of a training step are the logits and their gradient. On
# TensorFlow a file of its own accesses them as little as possible.
if _ON_TENSORFLOW:
    from tfcopy.layers.tensorflow_log_softmax import (  # noqa: F401
        log_softmax_at,
        mean_log_softmax,
    )
else:

    def log_softmax_at(logits, ids):
        """`log_softmax(logits)[..., ids]`; see `tensorflow_log_softmax`."""
        logits = ops.cast(logits, "float32")
        return -ops.sparse_categorical_crossentropy(
            ids, logits, from_logits=True
        )

    def mean_log_softmax(logits, ids):
        """Mean log-softmax, and that of `ids`; see `tensorflow_log_softmax`."""
        log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        some = ops.take_along_axis(log_probs, ids, axis=-1)
        return ops.mean(log_probs, axis=-1), some
