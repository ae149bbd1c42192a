"""Operations on tensors: slicing, masks, softmax, layer normalisation.

Keras's own `split`, `repeat`, `take`, `take_along_axis` and `argmax` return the
same as the functions here. On TensorFlow they add about 27, 35, 12, 20 and 12
operations to a graph, to compute shapes that are already known. A decoder step
and a search consist mostly of these operations.

Shapes: B batch, S source steps, E embedding size, N rows of a sentence, H
attention heads, U units, R rows, V columns.
"""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.tokens import MASKED

_ON_TENSORFLOW = keras.backend.backend() == "tensorflow"
if _ON_TENSORFLOW:
    import tensorflow as tf


def split(x, places, axis=-1):
    """Splits a tensor along an axis.

    Args:
        x: Tensor.
        places: List of ints, the start of each part but the first.
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

    It replaces `ops.stack([x] * times, axis=1)`. TensorFlow 2.21 rewrites this
    wrongly if all sizes are known: instead of the second output of a split or
    an unstack, the graph stacks the first.

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
        times: Int; the copies of a row are adjacent.
    """
    if not _ON_TENSORFLOW:
        return ops.repeat(x, times, axis=0)
    return tf.reshape(copies(x, times), [-1, *ops.shape(x)[1:]])


def take(x, indices, axis=0):
    """Gathers slices along an axis.

    Args:
        x: Tensor.
        indices: Integer tensor, never negative.
        axis: Int.

    Returns:
        Tensor in which the shape of `indices` replaces the axis.
    """
    if not _ON_TENSORFLOW:
        return ops.take(x, indices, axis=axis)
    return tf.gather(x, indices, axis=axis)


def take_each(x, indices):
    """Gathers from each row with its own indices.

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
    """Returns the first index of the maximum over the last axis, int32.

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
    """Layer from ids, `(B, S)`, to their mask, `(B, S)`; `True` for a token."""

    def call(self, ids):
        # `!=` compares the tensors themselves in a `tf.Graph`.
        return ops.not_equal(ids, tokens.PAD)


def or_all(mask, inputs):
    """Returns the mask, or if it is `None`, a mask of `True` everywhere.

    Args:
        mask: Boolean, `(B, S)`, or `None`.
        inputs: `(B, S, E)`.
    """
    if mask is not None:
        return mask
    return ops.ones_like(inputs[..., 0], "bool")


def masked_softmax(scores, mask, axis):
    """Computes `softmax(scores)` along an axis, with no weight where masked.

    If the mask is `False` everywhere, the weights are uniform.

    Args:
        scores: Tensor of any floating dtype.
        mask: Boolean, `False` for weights near zero; its shape broadcasts to
            the shape of the scores.
        axis: Integer.

    Returns:
        Tensor of the shape of `scores`, float32.
    """
    scores = ops.where(mask, ops.cast(scores, "float32"), MASKED)
    if scores.shape[axis] == 1:  # `ops.softmax` would log a warning.
        return ops.ones_like(scores)
    return ops.softmax(scores, axis=axis)


def split_heads(x, num_heads):
    """Splits the last axis into heads: `(B, N, U)` to `(B, H, N, U / H)`."""
    rows = x.shape[1] or ops.shape(x)[1]
    x = ops.reshape(x, (-1, rows, num_heads, x.shape[2] // num_heads))
    return ops.transpose(x, (0, 2, 1, 3))


def merge_heads(x):
    """Concatenates the heads: `(B, H, N, U / H)` to `(B, N, U)`."""
    rows = x.shape[2] or ops.shape(x)[2]
    units = x.shape[1] * x.shape[3]
    return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, rows, units))


def normalize(x, weights):
    """Applies layer normalisation to the last axis, inside a step of a loop.

    Args:
        x: `(..., size)`, float32.
        weights: `(gain, bias)`, each `(size,)`, from the step's memory.

    Reference:
        [Ba et al., 2016](https://arxiv.org/abs/1607.06450), eq. 3 and 4.
    """
    gain, bias = weights
    mean = ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * ops.rsqrt(variance + 1e-5) * gain + bias


def add_norms(layer, sizes):
    """Adds the weights of layer normalisations to a layer.

    Args:
        layer: A Keras layer that is being built.
        sizes: Dict from the name of a normalisation to its size.

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
    """Casts the weights of `add_norms` to float32."""
    return {
        name: tuple(ops.cast(weight, "float32") for weight in weights)
        for name, weights in norms.items()
    }


# The largest tensors of a training step are the logits and their gradient. On
# TensorFlow, `tensorflow_log_softmax` accesses them as little as possible.
if _ON_TENSORFLOW:
    from tfcopy.layers.tensorflow_log_softmax import (  # noqa: F401
        log_softmax_at,
        mean_log_softmax,
    )
else:

    def log_softmax_at(logits, ids):
        """Computes `log_softmax(logits)[..., ids]`, `(...)`, in float32."""
        logits = ops.cast(logits, "float32")
        return -ops.sparse_categorical_crossentropy(
            ids, logits, from_logits=True
        )

    def mean_log_softmax(logits, ids):
        """Computes the mean of the log-softmax, and its values at `ids`."""
        log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        some = ops.take_along_axis(log_probs, ids, axis=-1)
        return ops.mean(log_probs, axis=-1), some


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
    size = _block_size(x.shape[1], k)
    if size == 1:
        return ops.top_k(x, k)
    blocks = ops.reshape(x, (-1, x.shape[1] // size, size))
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
