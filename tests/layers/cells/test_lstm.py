import keras
import numpy as np

from tests import helpers
from tests.layers.cells.test_gru import sigmoid
from tfcopy.layers.cells.lstm import UnitForget, lstm_update


def numpy_lstm(projected, cell):
    """Input gate, forget gate, candidate, output gate; no peepholes."""
    i, f, candidate, o = np.split(projected, 4, axis=-1)
    cell = sigmoid(f) * cell + sigmoid(i) * np.tanh(candidate)
    return sigmoid(o) * np.tanh(cell), cell


def test_follows_the_equations():
    rng = np.random.default_rng(0)
    projected = rng.normal(size=(4, 5, 12)).astype("float32")
    cell = rng.normal(size=(4, 5, 3)).astype("float32")
    helpers.assert_close(
        lstm_update(projected, cell), numpy_lstm(projected, cell)
    )


def test_equals_the_cell_of_keras():
    rng = np.random.default_rng(0)
    x, hidden, cell = rng.normal(size=(3, 2, 4)).astype("float32")
    layer = keras.layers.LSTMCell(4)
    _, expected = layer(x, [hidden, cell])
    kernel, recurrent_kernel, bias = layer.get_weights()
    projected = x @ kernel + hidden @ recurrent_kernel + bias
    helpers.assert_close(lstm_update(projected, cell), tuple(expected))
    helpers.assert_close(UnitForget()((16,)), bias)


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
