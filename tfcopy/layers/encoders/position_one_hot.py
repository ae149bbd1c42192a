"""Annotations with their positions.

Shapes: B batch, S source steps, E input size, C annotation size, P positions.
"""

import keras
from keras import ops

from tfcopy.layers.configured import Configured, Unmasked, check_positive
from tfcopy.layers.tensors import or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class PositionOneHot(Configured, Unmasked):
    """Appends to each annotation of an encoder a one-hot of its position.

    The authors' code of CopyNet does so for the synthetic rules, with 57
    positions; the paper does not mention it. Positions from `positions` on, and
    padding, get zeros.

    Args:
        encoder: An encoder, such as `BidirectionalGRU`.
        positions: Positive integer, P.

    Call arguments:
        inputs: Embedded words, `(B, S, E)`.
        mask: Boolean, `(B, S)`.

    Returns:
        `(annotations, final)`: `(B, S, C + P)`, and the encoder's last states
        unchanged.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 5.1.
    """

    layer_arguments = ("encoder",)

    def __init__(self, encoder, positions=57, **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        check_positive("positions", positions)

    def build(self, inputs_shape, mask_shape=None):
        if not self.encoder.built:
            self.encoder.build(inputs_shape, mask_shape)

    def call(self, inputs, mask=None):
        mask = or_all(mask, inputs)
        annotations, final = self.encoder(inputs, mask)
        steps = ops.expand_dims(ops.arange(ops.shape(annotations)[1]), 1)
        is_at = ops.equal(steps, ops.arange(self.positions))  # (S, P)
        one_hot = ops.logical_and(is_at, ops.expand_dims(mask, -1))
        one_hot = ops.cast(one_hot, annotations.dtype)  # (B, S, P)
        return ops.concatenate([annotations, one_hot], axis=-1), final

    def compute_output_spec(self, inputs, mask=None):
        annotations, final = self.encoder.compute_output_spec(inputs, mask)
        *leading, size = annotations.shape
        shape = (*leading, size + self.positions)
        return keras.KerasTensor(shape, annotations.dtype), final
