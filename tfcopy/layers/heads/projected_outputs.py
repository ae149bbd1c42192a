"""The base of layers that project a decoder's outputs."""

import keras

from tfcopy.layers.rows import Dense


class ProjectedOutputs(keras.layers.Layer):
    """Projects a decoder's outputs, for a head; the base of such layers.

    A subclass makes its layers (`_make_projections`) and calls them
    (`_project`).

    Args:
        units: Positive integer.
        dropout: Share of the output's elements dropped in training.
        kernel_initializer: Initializer of all matrices.
        seed: Optional integer, of the dropout.

    Call arguments:
        decoded: Dict of `decoder_outputs`.

    Returns:
        `(B, T, units)`.
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
        # As it was given: a name makes an initializer for each matrix, with a
        # seed of its own, while one object would make all of them alike.
        self._make_projections(kernel_initializer)
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype=self.dtype_policy
        )

    def _make_projections(self, kernel_initializer):
        raise NotImplementedError

    def _project(self, decoded):
        raise NotImplementedError

    def _dense(self, kernel_initializer, name):
        return Dense(
            self.units,
            kernel_initializer=kernel_initializer,
            dtype=self.dtype_policy,
            name=name,
        )

    def call(self, decoded, training=False):
        return self.dropout_layer(self._project(decoded), training=training)

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
