"""The average and the maximum of a sentence.

Shapes: B batch, S steps, D size.
"""

import keras
from keras import ops

from tfcopy.layers.copying import MASKED
from tfcopy.layers.padding_mask import or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class MaskedPooling(keras.layers.Layer):
    """Average and maximum over the steps that are not padding.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(B, S, D)`.
        mask: Boolean, `(B, S)`.

    Returns:
        `[average ; maximum]`, `(B, 2 * D)`, float32; zeros for a sentence
        that is all padding.

    Reference:
        [Chen et al., 2017](https://arxiv.org/abs/1609.06038), eq. 18-20.
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def call(self, inputs, mask=None):
        mask = or_all(mask, inputs)
        inputs = ops.cast(inputs, "float32")
        mask = ops.expand_dims(mask, -1)  # (B, S, 1)
        length = ops.sum(ops.cast(mask, "float32"), axis=1)  # (B, 1)
        total = ops.sum(ops.where(mask, inputs, 0.0), axis=1)
        maximum = ops.max(ops.where(mask, inputs, MASKED), axis=1)
        return ops.concatenate(
            [
                total / ops.maximum(length, 1.0),
                ops.where(length > 0, maximum, 0.0),
            ],
            axis=-1,
        )

    def compute_output_spec(self, inputs, mask=None):
        batch, _, size = inputs.shape
        return keras.KerasTensor((batch, 2 * size), "float32")

    def compute_mask(self, inputs, previous_mask):
        """The outputs have no steps to mask."""
        return None
