"""The equations of the LSTM, shared by cells and encoders."""

import keras
from keras import ops

from tfcopy.layers.initializers import Blockwise


def lstm_update(projected, cell):
    """One LSTM step from its products, without peepholes.

        i, f, o = sigmoid(projected_ifo)
        c = f * cell + i * tanh(projected_c)
        h = o * tanh(c)

    Args:
        projected: The products of input and hidden state, and the bias,
            `(..., 4 * units)`, in the order input gate, forget gate,
            candidate, output gate.
        cell: The last cell state, `(..., units)`.

    Returns:
        `(hidden, cell)`, each `(..., units)`.

    Reference:
        [Gers et al., 2000](https://doi.org/10.1162/089976600300015015).
    """
    # `split`, since the gradient of a slice writes the whole tensor.
    write, forget, candidate, output = ops.split(projected, 4, axis=-1)
    kept = ops.sigmoid(forget) * cell
    cell = kept + ops.sigmoid(write) * ops.tanh(candidate)
    return ops.sigmoid(output) * ops.tanh(cell), cell


def add_lstm_weights(layer, input_dim):
    """Gives a layer the weights of an LSTM, those of `keras.layers.LSTM`.

    Args:
        layer: Has `units`, initializers and `unit_forget_bias`; gets
            `kernel`, `recurrent_kernel` and `bias`.
        input_dim: Size of its inputs.
    """
    width = 4 * layer.units
    layer.kernel = layer.add_weight(
        name="kernel",
        shape=(input_dim, width),
        initializer=Blockwise(layer.kernel_initializer, 4),
    )
    layer.recurrent_kernel = layer.add_weight(
        name="recurrent_kernel",
        shape=(layer.units, width),
        initializer=Blockwise(layer.recurrent_initializer, 4),
    )
    layer.bias = layer.add_weight(
        name="bias",
        shape=(width,),
        initializer=UnitForget() if layer.unit_forget_bias else "zeros",
    )


@keras.saving.register_keras_serializable(package="tfcopy")
class UnitForget(keras.initializers.Initializer):
    """The bias of an LSTM: ones at the forget gate, zeros elsewhere.

    Reference:
        [Jozefowicz et al., 2015](http://proceedings.mlr.press/v37/jozefowicz15.html).
    """

    def __call__(self, shape, dtype=None):
        zeros = ops.zeros((shape[-1] // 4,), dtype)
        return ops.concatenate([zeros, ops.ones_like(zeros), zeros, zeros])
