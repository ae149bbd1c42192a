import keras
import numpy as np
import pytest

from tests import helpers
from tests.layers.cells.test_lstm import numpy_lstm
from tfcopy.layers import ForwardLSTM

MASK = np.array([[True] * 4, [True, True, False, False]])


@pytest.fixture
def inputs():
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3))
    return {"inputs": inputs.astype("float32"), "mask": MASK}


@pytest.fixture
def layer(inputs):
    layer = ForwardLSTM(5)
    layer.build(inputs["inputs"].shape)
    layer.bias.assign(np.random.default_rng(1).normal(size=layer.bias.shape))
    return layer


def numpy_states(layer, inputs, mask):
    """The hidden state after each step."""
    kernel, recurrent_kernel, bias = map(helpers.to_numpy, layer.weights)
    hidden = cell = np.zeros((len(inputs), len(recurrent_kernel)))
    states = []
    for x, keep in zip(inputs.swapaxes(0, 1), mask.T[..., None]):
        projected = x @ kernel + hidden @ recurrent_kernel + bias
        new_hidden, new_cell = numpy_lstm(projected, cell)
        hidden = np.where(keep, new_hidden, hidden)
        cell = np.where(keep, new_cell, cell)
        states.append(hidden)
    return np.stack(states, axis=1)


def test_layer_contract(inputs):
    helpers.check_layer(
        ForwardLSTM(5),
        inputs,
        output_shapes=(2, 4, 5),
        padded={"mask": ["inputs"]},
    )


def test_follows_the_equations(layer, inputs):
    x = inputs["inputs"]
    helpers.assert_close(layer(**inputs), numpy_states(layer, x, MASK))
    everywhere = numpy_states(layer, x, np.ones_like(MASK))
    helpers.assert_close(layer(x), everywhere)


def test_has_the_weights_of_keras(layer, inputs):
    other = keras.layers.LSTM(5, return_sequences=True)
    other.build(inputs["inputs"].shape)
    other.set_weights(layer.get_weights())
    helpers.assert_close(layer(**inputs), other(inputs["inputs"], mask=MASK))


def test_a_text_without_words_is_zero(layer, inputs):
    actual = layer(inputs["inputs"], np.array([[True] * 4, [False] * 4]))
    helpers.assert_close(actual[1], np.zeros((4, 5)))


def test_forget_gates_may_start_open():
    for is_open in (False, True):
        layer = ForwardLSTM(2, unit_forget_bias=is_open)
        layer.build((None, None, 3))
        expected = np.repeat([0.0, float(is_open), 0.0, 0.0], 2)
        helpers.assert_close(layer.bias, expected)


def test_number_of_parameters_is_that_of_the_paper():
    layer = ForwardLSTM(200)
    layer.build((None, None, 200))
    assert layer.count_params() == 320_800
