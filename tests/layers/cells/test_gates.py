"""The equations of GRU and LSTM."""

import numpy as np
from keras import ops

from tests import helpers
from tfcopy.layers.cells.gates import (
    UnitForget,
    gru_update,
    gru_update_reset_before,
    lstm_update,
)


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numpy_gru(inputs, recurrent, state):
    """Section 2.1: reset and update gates, and the candidate, in this order."""
    x_r, x_u, x_n = np.split(inputs, 3, axis=-1)
    h_r, h_u, h_n = np.split(recurrent, 3, axis=-1)
    reset, update = sigmoid(x_r + h_r), sigmoid(x_u + h_u)
    candidate = np.tanh(x_n + reset * h_n)
    return update * state + (1 - update) * candidate


def numpy_gru_reset_before(inputs, state, kernel):
    """Cho et al.: the reset gate acts on the state, not on its product."""
    x_r, x_u, x_n = np.split(inputs, 3, axis=-1)
    u_r, u_u, u_n = np.split(kernel, 3, axis=-1)
    reset, update = sigmoid(x_r + state @ u_r), sigmoid(x_u + state @ u_u)
    candidate = np.tanh(x_n + (reset * state) @ u_n)
    return update * state + (1 - update) * candidate


def test_saturated_gates_keep_or_replace_the_state():
    state = np.array([[0.25]], "float32")
    recurrent = np.zeros((1, 3), "float32")
    keep = np.array([[0.0, 1e4, 5.0]], "float32")
    replace = np.array([[0.0, -1e4, 5.0]], "float32")
    helpers.assert_close(gru_update(keep, recurrent, state), [[0.25]])
    helpers.assert_close(gru_update(replace, recurrent, state), [[np.tanh(5)]])


def run_reset_before(inputs, state, kernel):
    gates, candidate = np.split(kernel, [2 * state.shape[-1]], axis=-1)
    return gru_update_reset_before(
        inputs, state @ gates, lambda x: ops.matmul(x, candidate), state
    )


def test_the_update_gate_keeps_the_state():
    """CopyNet's check 9: an update gate of 3/4 and a candidate of 0."""
    state = np.array([[0.4]], "float32")
    inputs = np.log([[1.0, 3.0, 1.0]]).astype("float32")
    zeros = np.zeros((1, 3), "float32")
    helpers.assert_close(run_reset_before(inputs, state, zeros), [[0.3]])
    helpers.assert_close(gru_update(inputs, zeros, state), [[0.3]])


def numpy_lstm(projected, cell):
    """Input gate, forget gate, candidate, output gate; no peepholes."""
    i, f, candidate, o = np.split(projected, 4, axis=-1)
    cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(candidate)
    return sigmoid(o) * np.tanh(cell), cell


def test_saturated_gates_keep_or_replace_the_cell():
    cell = np.array([[0.25]], "float32")
    keep = np.array([[-1e4, 1e4, 5.0, 1e4]], "float32")
    replace = np.array([[1e4, -1e4, 5.0, -1e4]], "float32")
    hidden, new = lstm_update(keep, cell)
    helpers.assert_close(hidden, np.tanh(cell))
    helpers.assert_close(new, cell)
    hidden, new = lstm_update(replace, cell)
    helpers.assert_close(hidden, [[0.0]])
    helpers.assert_close(new, [[np.tanh(5.0)]])


def test_only_forget_gates_start_open():
    bias = UnitForget()((8,), "float32")
    helpers.assert_close(bias, [0.0, 0.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0])
