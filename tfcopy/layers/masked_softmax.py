"""The softmax over positions that are not padding."""

from keras import ops

from tfcopy.layers.copying import MASKED


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
