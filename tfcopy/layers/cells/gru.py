"""The equations of the gated recurrent unit, shared by cells and encoders."""

from keras import ops

from tfcopy.layers.cutting import split


def gru_update(inputs, recurrent, state):
    """One GRU step from its two products ("reset after the product" form).

        r, u = sigmoid(inputs_ru + recurrent_ru)
        n = tanh(inputs_n + r * recurrent_n)
        u * state + (1 - u) * n

    Args:
        inputs: The products that do not pass through the reset gate,
            `(..., 3 * units)`, in the order reset, update, candidate.
        recurrent: The products that do, in the same order.
        state: `(..., units)`.

    Returns:
        The new state, `(..., units)`.

    Reference:
        [Cho et al., 2014](https://arxiv.org/abs/1406.1078), eq. 5-8, with the
        reset gate as in the dl4mt tutorial.
    """
    units = state.shape[-1]
    # Not by slices, since the gradient of a slice writes the whole tensor.
    inputs_gates, inputs_candidate = split(inputs, [2 * units])
    gates, recurrent_candidate = split(recurrent, [2 * units])
    gates = ops.sigmoid(inputs_gates + gates)
    reset, update = ops.split(gates, 2, axis=-1)
    candidate = ops.tanh(inputs_candidate + reset * recurrent_candidate)
    return candidate + update * (state - candidate)


def gru_update_reset_before(inputs, gates, candidate_product, state):
    """One GRU step whose reset gate acts on the state before the product.

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
    units = state.shape[-1]
    inputs_gates, inputs_candidate = split(inputs, [2 * units])
    reset, update = ops.split(ops.sigmoid(inputs_gates + gates), 2, axis=-1)
    candidate = ops.tanh(inputs_candidate + candidate_product(reset * state))
    return candidate + update * (state - candidate)
