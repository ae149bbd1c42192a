"""The layer between a decoder's state and its output softmax."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="tfcopy")
class DeepOutput(keras.layers.Layer):
    """`tanh(hidden W_s + b_s + inputs W_e + b_e + context W_c + b_c)`.

    Args:
        units: Positive integer.
        dropout: Share of the output's elements dropped in training.
        kernel_initializer: Initializer of the three matrices.
        seed: Optional integer, of the dropout.

    Call arguments:
        decoded: dict of `decoder_outputs`.

    Returns:
        `(B, T, units)`.

    Reference:
        [Pascanu et al., 2014](https://arxiv.org/abs/1312.6026); the dl4mt
        tutorial, session 2.
    """

    def __init__(
        self,
        units,
        dropout=0.0,
        kernel_initializer="glorot_uniform",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.units = units
        self.dropout = dropout
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.seed = seed
        self.projections = [
            keras.layers.Dense(
                units,
                kernel_initializer=kernel_initializer,
                dtype=self.dtype_policy,
                name=f"{name}_projection",
            )
            for name in ("state", "embedding", "context")
        ]
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype=self.dtype_policy
        )

    def build(self, decoded_shape):
        for projection, shape in zip(self.projections, _read(decoded_shape)):
            projection.build(shape)

    def call(self, decoded, training=False):
        inputs = _read(decoded)
        total = sum(layer(x) for layer, x in zip(self.projections, inputs))
        return self.dropout_layer(ops.tanh(total), training=training)

    def compute_output_shape(self, decoded_shape):
        return (*decoded_shape["hidden"][:-1], self.units)

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "dropout": self.dropout,
            "kernel_initializer": keras.initializers.serialize(
                self.kernel_initializer
            ),
            "seed": self.seed,
        }


def _read(decoded):
    """What the projections read, in their order."""
    return decoded["hidden"], decoded["inputs"], decoded["context"]
