"""The decoder's first state, from the whole source."""

import keras
from keras import ops

from tfcopy.layers.padding_mask import or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class MeanInitialState(keras.layers.Layer):
    """`tanh(W mean_j annotations_j + b)` over the real source positions.

    Args:
        units: Positive integer, the size of the state.
        kernel_initializer: Initializer of `W`.

    Call arguments:
        annotations: `(B, S, C)`.
        mask: Boolean, `(B, S)`.
        final: Ignored; the encoder's last states.

    Returns:
        `(B, units)`, float32.

    Reference:
        The dl4mt tutorial, session 2.
    """

    def __init__(self, units, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        self.units = units
        self.dense = keras.layers.Dense(
            units,
            activation="tanh",
            kernel_initializer=kernel_initializer,
            dtype=self.dtype_policy,
            name="projection",
        )

    def build(self, annotations_shape, mask_shape=None, final_shape=None):
        self.dense.build((annotations_shape[0], annotations_shape[-1]))

    def call(self, annotations, mask=None, final=None):
        mask = or_all(mask, annotations)
        keep = ops.cast(ops.expand_dims(mask, -1), "float32")
        total = ops.sum(ops.cast(annotations, "float32") * keep, axis=1)
        count = ops.maximum(ops.sum(keep, axis=1), 1.0)
        return ops.cast(self.dense(total / count), "float32")

    def compute_output_spec(self, annotations, mask=None, final=None):
        return keras.KerasTensor((annotations.shape[0], self.units), "float32")

    def compute_mask(self, annotations, previous_mask):
        """A state has no steps to mask."""
        return None

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": keras.initializers.serialize(
                self.dense.kernel_initializer
            ),
        }
