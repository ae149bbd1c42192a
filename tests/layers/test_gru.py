import numpy as np

from tests import helpers
from tfcopy.layers.gru import gru_update


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def numpy_gru(inputs, recurrent, state):
    """Section 2.1: reset and update gates, and the candidate, in this order."""
    x_r, x_u, x_n = np.split(inputs, 3, axis=-1)
    h_r, h_u, h_n = np.split(recurrent, 3, axis=-1)
    reset, update = sigmoid(x_r + h_r), sigmoid(x_u + h_u)
    candidate = np.tanh(x_n + reset * h_n)
    return update * state + (1 - update) * candidate


def test_follows_the_equations():
    rng = np.random.default_rng(0)
    inputs, recurrent = rng.normal(size=(2, 4, 5, 9)).astype("float32")
    state = rng.normal(size=(4, 5, 3)).astype("float32")
    helpers.assert_close(
        gru_update(inputs, recurrent, state),
        numpy_gru(inputs, recurrent, state),
    )


def test_saturated_gates_keep_or_replace_the_state():
    state = np.array([[0.25]], "float32")
    recurrent = np.zeros((1, 3), "float32")
    keep = np.array([[0.0, 1e4, 5.0]], "float32")
    replace = np.array([[0.0, -1e4, 5.0]], "float32")
    helpers.assert_close(gru_update(keep, recurrent, state), [[0.25]])
    helpers.assert_close(gru_update(replace, recurrent, state), [[np.tanh(5)]])
