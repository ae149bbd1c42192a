"""The equations of the gated recurrent unit, shared by cells and encoders."""

from keras import ops


def gru_update(inputs, recurrent, state):
    """One GRU step from its two products ("reset after the product" form).

        r, u = sigmoid(inputs_ru + recurrent_ru)
        n = tanh(inputs_n + r * recurrent_n)
        u * state + (1 - u) * n

    Args:
        inputs: What does not pass through the reset gate, `(..., 3 * units)`,
            in the order reset, update, candidate.
        recurrent: What does, in the same order.
        state: `(..., units)`.

    Returns:
        The new state, `(..., units)`.

    Reference:
        [Cho et al., 2014](https://arxiv.org/abs/1406.1078), eq. 5-8, with the
        reset gate as in the dl4mt tutorial.
    """
    units = state.shape[-1]
    gates = ops.sigmoid(
        inputs[..., : 2 * units] + recurrent[..., : 2 * units]
    )
    reset, update = gates[..., :units], gates[..., units:]
    candidate = ops.tanh(
        inputs[..., 2 * units :] + reset * recurrent[..., 2 * units :]
    )
    return candidate + update * (state - candidate)
