"""A bidirectional GRU encoder."""

import keras

from tfcopy.layers.bidirectional import Bidirectional
from tfcopy.layers.gru import gru_update


@keras.saving.register_keras_serializable(package="tfcopy")
class BidirectionalGRU(Bidirectional):
    """Reads a sentence forwards and backwards with a GRU.

    Arguments and padding are as in `Bidirectional`; `final` is
    `[h_forward ; h_backward]`, `(B, 2 * units)`.

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), A.2.1.
    """

    blocks = 3

    def update(self, projected, recurrent, state):
        return [gru_update(projected, recurrent, state[0])]
