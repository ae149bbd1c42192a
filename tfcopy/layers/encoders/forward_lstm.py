"""An LSTM that reads from left to right.

Shapes: B batch, S steps, E input size, U units.
"""

import keras
from keras import ops

from tfcopy.layers.cells.lstm import add_lstm_weights, lstm_update
from tfcopy.layers.loop import Product, scan


@keras.saving.register_keras_serializable(package="tfcopy")
class ForwardLSTM(keras.layers.Layer):
    """Reads texts from left to right with an LSTM.

    No peepholes, and the first state is zero. Where the mask is `False` the
    state is kept. Weights have the layout of `keras.layers.LSTM`, which on a
    GPU neither accepts rows without any word nor is compiled by XLA.

    Args:
        units: Positive integer, U.
        kernel_initializer: Initializer of each block of the input kernel.
        recurrent_initializer: Initializer of each gate's recurrent kernel.
        unit_forget_bias: Whether the bias of the forget gate starts at 1.

    Call arguments:
        inputs: Embedded words, `(B, S, E)`.
        mask: Optional boolean, `(B, S)`.

    Returns:
        The hidden state after each step, `(B, S, U)`, float32.

    Reference:
        [Gers et al., 2000](https://doi.org/10.1162/089976600300015015).
    """

    def __init__(
        self,
        units,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        unit_forget_bias=False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        self.units = units
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(
            recurrent_initializer
        )
        self.unit_forget_bias = unit_forget_bias

    def build(self, inputs_shape, mask_shape=None):
        add_lstm_weights(self, inputs_shape[-1])

    def call(self, inputs, mask=None, training=False):
        kernel, recurrent_kernel = (
            ops.cast(x, self.compute_dtype)
            for x in (self.kernel, self.recurrent_kernel)
        )
        inputs = ops.cast(inputs, self.compute_dtype)
        projected = ops.matmul(ops.transpose(inputs, (1, 0, 2)), kernel)
        projected = ops.cast(projected, "float32")
        projected = projected + ops.cast(self.bias, "float32")  # (S, B, 4U)
        steps = {"projected": projected}
        if mask is not None:
            keep = ops.cast(ops.transpose(mask), "float32")
            steps["keep"] = ops.expand_dims(keep, -1)  # (S, B, 1)
        # Keeps the batch size of `inputs` even if it is unknown.
        zeros = ops.zeros_like(projected[0, :, : self.units])
        states, _ = scan(
            self._step,
            steps,
            (zeros, zeros),
            {"recurrent": Product(recurrent_kernel)},
            training,
        )
        return ops.transpose(states, (1, 0, 2))

    @staticmethod
    def _step(inputs, state, memory):
        cell, hidden = state
        projected = inputs["projected"] + memory["recurrent"](hidden)
        new_hidden, new_cell = lstm_update(projected, cell)
        if "keep" in inputs:
            new_hidden = hidden + inputs["keep"] * (new_hidden - hidden)
            new_cell = cell + inputs["keep"] * (new_cell - cell)
        return new_hidden, (new_cell, new_hidden)

    def compute_output_shape(self, inputs_shape, mask_shape=None):
        return (*inputs_shape[:-1], self.units)

    def compute_output_spec(self, inputs, mask=None, training=False):
        shape = self.compute_output_shape(inputs.shape)
        return keras.KerasTensor(shape, "float32")

    def compute_mask(self, inputs, previous_mask):
        """The outputs carry no Keras mask: it is passed as an argument."""
        return None

    def get_config(self):
        return {
            **super().get_config(),
            "units": self.units,
            "kernel_initializer": keras.initializers.serialize(
                self.kernel_initializer
            ),
            "recurrent_initializer": keras.initializers.serialize(
                self.recurrent_initializer
            ),
            "unit_forget_bias": self.unit_forget_bias,
        }
