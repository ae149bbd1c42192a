"""The recurrent encoders."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_gates import numpy_gru, numpy_lstm
from tests.layers.random_inputs import MASK
from tfcopy.layers import BidirectionalGRU, BidirectionalLSTM, ForwardLSTM
from tfcopy.layers.encoders.recurrent import WordGRU


def with_random_biases(layer, inputs):
    layer.build(inputs["inputs"].shape)
    rng = np.random.default_rng(1)
    for bias in (layer.forward_bias, layer.backward_bias):
        bias.assign(rng.normal(size=bias.shape))
    return layer


def numpy_direction_bidirectional_gru(
    inputs, mask, kernel, recurrent_kernel, bias
):
    state = np.zeros((len(inputs), len(recurrent_kernel)))
    states = []
    for x, keep in zip(inputs.swapaxes(0, 1), mask.T):
        new = numpy_gru(x @ kernel + bias, state @ recurrent_kernel, state)
        state = np.where(keep[:, None], new, state)
        states.append(state)
    return np.stack(states, axis=1)


def test_follows_the_equations_of_bidirectional_gru(inputs):
    layer = with_random_biases(BidirectionalGRU(5), inputs)
    x, mask = inputs["inputs"], inputs["mask"]
    forward, backward = (
        [
            ops.convert_to_numpy(getattr(layer, f"{direction}_{name}"))
            for name in ("kernel", "recurrent_kernel", "bias")
        ]
        for direction in ("forward", "backward")
    )
    forward = numpy_direction_bidirectional_gru(x, mask, *forward)
    backward = numpy_direction_bidirectional_gru(
        x[:, ::-1], mask[:, ::-1], *backward
    )
    expected = np.concatenate([forward, backward[:, ::-1]], axis=-1)
    final = np.concatenate([forward[:, -1], backward[:, -1]], axis=-1)
    helpers.assert_close(layer(**inputs), (expected, final))


def keras_direction(layer, name, inputs):
    """Keras's GRU without a reset product, whose gates are update first."""

    def reorder(weight):
        weight = ops.convert_to_numpy(weight)
        reset, update, candidate = np.split(weight, 3, axis=-1)
        return np.concatenate([update, reset, candidate], axis=-1)

    gru = keras.layers.GRU(
        5, reset_after=False, return_sequences=True, use_cudnn=False
    )
    gru.build(inputs["inputs"].shape)
    gru.set_weights(
        [
            reorder(getattr(layer, f"{name}_{weight}"))
            for weight in ("kernel", "recurrent_kernel", "bias")
        ]
    )
    return gru


def test_the_reset_gate_may_act_before_the_product_as_in_keras(inputs):
    layer = BidirectionalGRU(5, reset_after=False)
    with_random_biases(layer, inputs)
    forward, backward = (
        keras_direction(layer, name, inputs) for name in ("forward", "backward")
    )
    annotations, final = layer(**inputs)
    for row, length in enumerate(MASK.sum(axis=1)):
        x = inputs["inputs"][row : row + 1, :length]
        f = ops.convert_to_numpy(forward(x))
        b = ops.convert_to_numpy(backward(x[:, ::-1]))[:, ::-1]
        both = np.concatenate([f, b], axis=-1)
        ends = np.concatenate([f[0, -1], b[0, 0]])
        helpers.assert_close(annotations[row, :length], both[0])
        helpers.assert_close(final[row], ends)


def test_each_gate_has_its_own_orthogonal_kernel(inputs):
    layer = with_random_biases(BidirectionalGRU(5), inputs)
    kernels = [
        block
        for kernel in (
            layer.forward_recurrent_kernel,
            layer.backward_recurrent_kernel,
        )
        for block in np.split(ops.convert_to_numpy(kernel), 3, axis=-1)
    ]
    for kernel in kernels:
        helpers.assert_close(kernel @ kernel.T, np.eye(5))
    assert len({kernel.tobytes() for kernel in kernels}) == 6


@pytest.fixture
def both_ways(inputs):
    return with_random_biases(BidirectionalLSTM(5), inputs)


def lstm_states(weights, inputs, mask):
    """The hidden states after each step, and the last cell state."""
    kernel, recurrent_kernel, bias = map(helpers.to_numpy, weights)
    hidden = cell = np.zeros((len(inputs), len(recurrent_kernel)))
    states = []
    for x, keep in zip(inputs.swapaxes(0, 1), mask.T[..., None]):
        projected = x @ kernel + hidden @ recurrent_kernel + bias
        new_hidden, new_cell = numpy_lstm(projected, cell)
        hidden = np.where(keep, new_hidden, hidden)
        cell = np.where(keep, new_cell, cell)
        states.append(hidden)
    return np.stack(states, axis=1), cell


def lstm_states_both_ways(layer, inputs, mask):
    """The results of `lstm_states` forwards, and backwards from the end."""
    names = ("kernel", "recurrent_kernel", "bias")
    ahead, back = (
        [getattr(layer, f"{direction}_{name}") for name in names]
        for direction in ("forward", "backward")
    )
    return (
        lstm_states(ahead, inputs, mask),
        lstm_states(back, inputs[:, ::-1], mask[:, ::-1]),
    )


def test_follows_the_equations_of_bidirectional_lstm(both_ways, inputs):
    (forward, forward_cell), (backward, backward_cell) = lstm_states_both_ways(
        both_ways, inputs["inputs"], inputs["mask"]
    )
    final = [forward_cell, backward_cell, forward[:, -1], backward[:, -1]]
    expected = (
        np.concatenate([forward, backward[:, ::-1]], axis=-1),
        np.concatenate(final, axis=-1),
    )
    helpers.assert_close(both_ways(**inputs), expected)


@pytest.mark.parametrize("is_open", [True, False])
def test_forget_gates_may_start_half_open(inputs, is_open):
    both_ways = BidirectionalLSTM(5, unit_forget_bias=is_open)
    both_ways(**inputs)
    for bias in (both_ways.forward_bias, both_ways.backward_bias):
        helpers.assert_close(bias, np.repeat([0.0, is_open, 0.0, 0.0], 5))


@pytest.fixture
def forward_lstm(inputs):
    forward_lstm = ForwardLSTM(5)
    forward_lstm.build(inputs["inputs"].shape)
    forward_lstm.bias.assign(
        np.random.default_rng(1).normal(size=forward_lstm.bias.shape)
    )
    return forward_lstm


def test_follows_the_equations_of_forward_lstm(forward_lstm, inputs):
    expected, _ = lstm_states(forward_lstm.weights, inputs["inputs"], MASK)
    helpers.assert_close(forward_lstm(**inputs), expected)


def test_has_the_weights_of_keras(forward_lstm, inputs):
    other = keras.layers.LSTM(5, return_sequences=True)
    other.build(inputs["inputs"].shape)
    other.set_weights(forward_lstm.get_weights())
    helpers.assert_close(
        forward_lstm(**inputs), other(inputs["inputs"], mask=MASK)
    )


def test_a_text_without_words_is_zero(forward_lstm, inputs):
    actual = forward_lstm(inputs["inputs"], np.array([[True] * 4, [False] * 4]))
    helpers.assert_close(actual[1], np.zeros((4, 5)))


def test_forget_gates_may_start_open():
    for is_open in (False, True):
        forward_lstm = ForwardLSTM(2, unit_forget_bias=is_open)
        forward_lstm.build((None, None, 3))
        expected = np.repeat([0.0, float(is_open), 0.0, 0.0], 2)
        helpers.assert_close(forward_lstm.bias, expected)


IDS = np.array([[1, 4, 2, 4], [3, 1, 0, 0]], "int32")
INPUTS = {"ids": IDS, "mask": IDS != 0}


def make_layer(num_words=5, length=4):
    """With a bias, and large embeddings."""
    layer = WordGRU(num_words, 3, 6)
    layer.build((None, length), (None, length))
    rng = np.random.default_rng(0)
    for weight in (layer.embeddings, layer.bias):
        weight.assign(rng.normal(size=weight.shape))
    return layer


@pytest.mark.parametrize("num_words", [5, 20])
@pytest.mark.parametrize("length", [4, 1])
def test_follows_the_equations_of_word_gru(num_words, length):
    layer = make_layer(num_words, length)
    ids, mask = IDS[:, :length], INPUTS["mask"][:, :length]
    table, kernel, recurrent, bias = map(ops.convert_to_numpy, layer.weights)
    state, states = np.zeros((2, 6)), []
    for t in range(length):
        inputs = table[ids[:, t]] @ kernel + bias
        new = numpy_gru(inputs, state @ recurrent, state)
        state = np.where(mask[:, t : t + 1], new, state)
        states.append(state)
    helpers.assert_close(layer(ids, mask), (np.stack(states, 1), state))


def test_gradients_do_not_depend_on_how_words_are_projected():
    """A batch repeated four times has more words than the table."""
    layer = make_layer(20)

    def gradients(times):
        ids = np.tile(IDS, (times, 1))

        def loss(_):
            outputs = layer(ids, ids != 0, training=True)
            return helpers.weighted_sum([x[-2:] for x in outputs])

        return tuple(helpers.gradients(loss, {}, layer.trainable_weights)[2])

    helpers.assert_close(gradients(4), gradients(1))


def test_a_batch_of_unknown_size_chooses_as_it_runs():
    layer = make_layer(20)
    graph = helpers.compiled(
        lambda x: layer(**x), INPUTS, {name: (0,) for name in INPUTS}
    )
    for times in (1, 4):
        some = {name: np.tile(x, (times, 1)) for name, x in INPUTS.items()}
        helpers.assert_close(graph(some), layer(**some))


def test_padding_is_not_read():
    layer = make_layer()
    other = np.where(INPUTS["mask"], IDS, 4)
    helpers.assert_close(layer(other, INPUTS["mask"]), layer(**INPUTS))


def test_nothing_but_padding_keeps_zeros():
    states, final = make_layer()(IDS * 0, IDS > 9)
    assert not ops.convert_to_numpy(states).any()
    assert not ops.convert_to_numpy(final).any()


def test_unknown_length_raises():
    with pytest.raises(ValueError, match=r"fixed length.*\(None, None\)"):
        WordGRU(5, 3, 6).build((None, None))
