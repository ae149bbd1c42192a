"""Equations and weights of GRU and LSTM, for decoder cells and encoders."""

import keras
from keras import ops

from tfcopy.layers.configured import Blockwise
from tfcopy.layers.tensors import split


def gru_update(inputs, recurrent, state):
    """Computes a GRU step whose reset gate acts after the product.

        r, u = sigmoid(inputs_ru + recurrent_ru)
        n = tanh(inputs_n + r * recurrent_n)
        u * state + (1 - u) * n

    Args:
        inputs: The products that do not pass through the reset gate,
            `(..., 3 * units)`, in the order reset, update, candidate.
        recurrent: The products that pass through it, in the same order.
        state: `(..., units)`.

    Returns:
        The new state, `(..., units)`.

    Reference:
        [Cho et al., 2014](https://arxiv.org/abs/1406.1078), eq. 5-8, with the
        reset gate as in the dl4mt tutorial.
    """
    units = state.shape[-1]
    # No slices, since the gradient of a slice writes the whole tensor.
    inputs_gates, inputs_candidate = split(inputs, [2 * units])
    gates, recurrent_candidate = split(recurrent, [2 * units])
    gates = ops.sigmoid(inputs_gates + gates)
    reset, update = ops.split(gates, 2, axis=-1)
    candidate = ops.tanh(inputs_candidate + reset * recurrent_candidate)
    return candidate + update * (state - candidate)


def gru_update_reset_before(inputs, gates, candidate_product, state):
    """Computes a GRU step whose reset gate acts before the product.

        r, u = sigmoid(inputs_ru + gates)
        n = tanh(inputs_n + (r * state) U_n)
        u * state + (1 - u) * n

    Args:
        inputs: Input products and bias, `(..., 3 * units)`, in the order
            reset, update, candidate.
        gates: The state's product for reset and update, `(..., 2 * units)`.
        candidate_product: Callable, the product with `U_n`.
        state: `(..., units)`.

    Returns:
        The new state, `(..., units)`.

    Reference:
        [Cho et al., 2014](https://arxiv.org/abs/1406.1078), eq. 5-8.
    """
    inputs_gates, inputs_candidate = split(inputs, [2 * state.shape[-1]])
    reset, update = ops.split(ops.sigmoid(inputs_gates + gates), 2, axis=-1)
    candidate = ops.tanh(inputs_candidate + candidate_product(reset * state))
    return candidate + update * (state - candidate)


def lstm_update(projected, cell):
    """Computes an LSTM step without peepholes.

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


def add_gate_weights(layer, input_dim, blocks, bias="zeros", prefix=""):
    """Adds the weights of a GRU or an LSTM to a layer, with Keras's layout.

    Args:
        layer: Has `units`, `kernel_initializer` and `recurrent_initializer`;
            gets `kernel`, `recurrent_kernel` and `bias`.
        input_dim: Size of the layer's inputs.
        blocks: Number of blocks of `units` columns: 3 for a GRU, 4 for an LSTM.
            Each block is drawn as a separate matrix.
        bias: Initializer of the bias.
        prefix: Prefix of the names.
    """
    width = blocks * layer.units
    kernel = Blockwise(layer.kernel_initializer, blocks)
    recurrent = Blockwise(layer.recurrent_initializer, blocks)
    for name, (shape, initializer) in {
        "kernel": ((input_dim, width), kernel),
        "recurrent_kernel": ((layer.units, width), recurrent),
        "bias": ((width,), bias),
    }.items():
        name = prefix + name
        setattr(layer, name, layer.add_weight(shape, initializer, name=name))


def lstm_bias(unit_forget_bias):
    """Returns the initializer of an LSTM's bias."""
    return UnitForget() if unit_forget_bias else "zeros"


@keras.saving.register_keras_serializable(package="tfcopy")
class UnitForget(keras.initializers.Initializer):
    """Initializer of an LSTM's bias: ones at the forget gate, else zeros.

    Reference:
        [Jozefowicz et al., 2015](http://proceedings.mlr.press/v37/jozefowicz15.html).
    """

    def __call__(self, shape, dtype=None):
        zeros = ops.zeros((shape[-1] // 4,), dtype)
        return ops.concatenate([zeros, ops.ones_like(zeros), zeros, zeros])
