"""A bidirectional LSTM encoder."""

import keras

from tfcopy.layers.cells.lstm import UnitForget, lstm_update
from tfcopy.layers.encoders.bidirectional import Bidirectional


@keras.saving.register_keras_serializable(package="tfcopy")
class BidirectionalLSTM(Bidirectional):
    """Reads a sentence forwards and backwards with an LSTM.

    Arguments and padding are as in `Bidirectional`; `final` is
    `[c_forward ; c_backward ; h_forward ; h_backward]`, `(B, 4 * units)`.

    Args:
        units: As in `Bidirectional`.
        kernel_initializer: As in `Bidirectional`.
        recurrent_initializer: As in `Bidirectional`.
        unit_forget_bias: Whether the bias of the forget gates starts at 1.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 2.1.
    """

    blocks = 4
    num_states = 2

    def __init__(
        self,
        units,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        unit_forget_bias=True,
        **kwargs,
    ):
        super().__init__(
            units, kernel_initializer, recurrent_initializer, **kwargs
        )
        self.unit_forget_bias = unit_forget_bias

    @property
    def bias_initializer(self):
        return UnitForget() if self.unit_forget_bias else "zeros"

    def update(self, projected, state, memory):
        cell, hidden = state
        recurrent = memory["recurrent"](hidden)
        hidden, cell = lstm_update(projected + recurrent, cell)
        return [cell, hidden]

    def get_config(self):
        return {
            **super().get_config(),
            "unit_forget_bias": self.unit_forget_bias,
        }
