"""The mask of a sentence's real tokens."""

import keras

from tfcopy import tokens


@keras.saving.register_keras_serializable(package="tfcopy")
class PaddingMask(keras.layers.Layer):
    """Boolean mask of ids, `(B, S)` to `(B, S)`; `True` is a real token."""

    def call(self, ids):
        return ids != tokens.PAD

    def compute_output_spec(self, ids):
        return keras.KerasTensor(ids.shape, "bool")
