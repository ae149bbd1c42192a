"""A bidirectional GRU encoder."""

import keras

from tfcopy.layers.cells.gru import gru_update, gru_update_reset_before
from tfcopy.layers.cutting import split
from tfcopy.layers.encoders.bidirectional import Bidirectional
from tfcopy.layers.loop import Product


@keras.saving.register_keras_serializable(package="tfcopy")
class BidirectionalGRU(Bidirectional):
    """Reads a sentence forwards and backwards with a GRU.

    Arguments and padding are as in `Bidirectional`; `final` is
    `[h_forward ; h_backward]`, `(B, 2 * units)`.

    Args:
        units: As in `Bidirectional`.
        kernel_initializer: As in `Bidirectional`.
        recurrent_initializer: As in `Bidirectional`.
        reset_after: Whether the reset gate acts after the product with the
            recurrent kernel (the dl4mt tutorial), or before (Cho et al.).

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), A.2.1.
    """

    blocks = 3

    def __init__(
        self,
        units,
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        reset_after=True,
        **kwargs,
    ):
        super().__init__(
            units, kernel_initializer, recurrent_initializer, **kwargs
        )
        self.reset_after = reset_after

    def products(self, kernels):
        if self.reset_after:
            return super().products(kernels)
        gates, candidate = split(kernels, [2 * self.units])
        return {"gates": Product(gates), "candidate": Product(candidate)}

    def update(self, projected, state, memory):
        (hidden,) = state
        if self.reset_after:
            recurrent = memory["recurrent"](hidden)
            return [gru_update(projected, recurrent, hidden)]
        gates = memory["gates"](hidden)
        return [
            gru_update_reset_before(
                projected, gates, memory["candidate"], hidden
            )
        ]

    def get_config(self):
        return {**super().get_config(), "reset_after": self.reset_after}
