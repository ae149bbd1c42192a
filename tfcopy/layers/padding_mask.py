"""The mask of a sentence's real tokens."""

import keras
from keras import ops

from tfcopy import tokens


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
