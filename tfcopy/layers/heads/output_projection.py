"""The linear layer between a decoder's state and its output softmax."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="tfcopy")
class OutputProjection(keras.layers.Layer):
    """`[hidden ; context] W + b`, without an activation.

    Args:
        units: Positive integer.
        dropout: Share of the output's elements dropped in training.
        kernel_initializer: Initializer of `W`.
        seed: Optional integer, of the dropout.

    Call arguments:
        decoded: dict of `decoder_outputs`.

    Returns:
        `(B, T, units)`.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), eq. 4, the inner
        product of its two.
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
        self.projection = keras.layers.Dense(
            units,
            kernel_initializer=kernel_initializer,
            dtype=self.dtype_policy,
            name="projection",
        )
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype=self.dtype_policy
        )

    def build(self, decoded_shape):
        size = decoded_shape["hidden"][-1] + decoded_shape["context"][-1]
        self.projection.build((*decoded_shape["hidden"][:-1], size))

    def call(self, decoded, training=False):
        inputs = ops.concatenate(
            [decoded["hidden"], decoded["context"]], axis=-1
        )
        return self.dropout_layer(self.projection(inputs), training=training)

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
