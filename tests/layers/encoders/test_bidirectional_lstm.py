import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_lstm import numpy_lstm
from tfcopy.layers import BidirectionalLSTM

MASK = np.array([[True] * 4, [True, True, False, False]])


@pytest.fixture
def inputs():
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3))
    return {"inputs": inputs.astype("float32"), "mask": MASK}


@pytest.fixture
def layer(inputs):
    layer = BidirectionalLSTM(5)
    layer.build(inputs["inputs"].shape)
    rng = np.random.default_rng(1)
    for bias in (layer.forward_bias, layer.backward_bias):
        bias.assign(rng.normal(size=bias.shape))
    return layer


def test_layer_contract(inputs):
    helpers.check_layer(
        BidirectionalLSTM(5),
        inputs,
        output_shapes=[(2, 4, 10), (2, 20)],
        padded={"mask": ["inputs"]},
    )


def numpy_direction(layer, direction, inputs, mask):
    """The hidden states after each step, and the last cell state."""
    kernel, recurrent_kernel, bias = (
        ops.convert_to_numpy(getattr(layer, f"{direction}_{name}"))
        for name in ("kernel", "recurrent_kernel", "bias")
    )
    hidden = cell = np.zeros((len(inputs), len(recurrent_kernel)))
    states = []
    for x, keep in zip(inputs.swapaxes(0, 1), mask.T[..., None]):
        projected = x @ kernel + hidden @ recurrent_kernel + bias
        new_hidden, new_cell = numpy_lstm(projected, cell)
        hidden = np.where(keep, new_hidden, hidden)
        cell = np.where(keep, new_cell, cell)
        states.append(hidden)
    return np.stack(states, axis=1), cell


def test_follows_the_equations(layer, inputs):
    x, mask = inputs["inputs"], inputs["mask"]
    forward, forward_cell = numpy_direction(layer, "forward", x, mask)
    backward, backward_cell = numpy_direction(
        layer, "backward", x[:, ::-1], mask[:, ::-1]
    )
    final = [forward_cell, backward_cell, forward[:, -1], backward[:, -1]]
    expected = (
        np.concatenate([forward, backward[:, ::-1]], axis=-1),
        np.concatenate(final, axis=-1),
    )
    helpers.assert_close(layer(**inputs), expected)


def test_more_padding_changes_nothing(layer, inputs):
    annotations, final = layer(**inputs)
    longer_annotations, longer_final = layer(
        np.pad(inputs["inputs"], ((0, 0), (0, 3), (0, 0))),
        np.pad(MASK, ((0, 0), (0, 3))),
    )
    helpers.assert_close(longer_annotations[:, :4], annotations)
    helpers.assert_close(longer_final, final)


def test_a_sentence_alone_gives_the_same(layer, inputs):
    annotations, final = layer(**inputs)
    alone, final_alone = layer(inputs["inputs"][1:, :2], MASK[1:, :2])
    helpers.assert_close(annotations[1:, :2], alone)
    helpers.assert_close(final[1:], final_alone)


def test_forget_gates_start_open(inputs):
    layer = BidirectionalLSTM(5)
    layer(**inputs)
    expected = np.repeat([0.0, 1.0, 0.0, 0.0], 5)
    helpers.assert_close(layer.forward_bias, expected)
    helpers.assert_close(layer.backward_bias, expected)


def test_number_of_parameters_is_that_of_the_paper():
    layer = BidirectionalLSTM(256)
    layer.build((None, None, 128))
    assert layer.count_params() == 2 * 394_240


def test_forget_gates_may_start_half_open(inputs):
    layer = BidirectionalLSTM(5, unit_forget_bias=False)
    layer(**inputs)
    assert layer.get_config()["unit_forget_bias"] is False
    for bias in (layer.forward_bias, layer.backward_bias):
        helpers.assert_close(bias, np.zeros(20))
