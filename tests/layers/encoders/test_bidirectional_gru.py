import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_gru import numpy_gru
from tfcopy.layers import BidirectionalGRU

MASK = np.array([[True] * 4, [True, True, False, False]])


@pytest.fixture
def inputs():
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3))
    return {"inputs": inputs.astype("float32"), "mask": MASK}


def with_random_biases(layer, inputs):
    layer.build(inputs["inputs"].shape)
    rng = np.random.default_rng(1)
    for bias in (layer.forward_bias, layer.backward_bias):
        bias.assign(rng.normal(size=bias.shape))
    return layer


@pytest.mark.parametrize("reset_after", [True, False])
def test_layer_contract(inputs, reset_after):
    helpers.check_layer(
        BidirectionalGRU(5, reset_after=reset_after),
        inputs,
        output_shapes=[(2, 4, 10), (2, 10)],
        padded={"mask": ["inputs"]},
    )


def numpy_direction(inputs, mask, kernel, recurrent_kernel, bias):
    state = np.zeros((len(inputs), len(recurrent_kernel)))
    states = []
    for x, keep in zip(inputs.swapaxes(0, 1), mask.T):
        new = numpy_gru(x @ kernel + bias, state @ recurrent_kernel, state)
        state = np.where(keep[:, None], new, state)
        states.append(state)
    return np.stack(states, axis=1)


def test_follows_the_equations(inputs):
    layer = with_random_biases(BidirectionalGRU(5), inputs)
    x, mask = inputs["inputs"], inputs["mask"]
    forward, backward = (
        [
            ops.convert_to_numpy(getattr(layer, f"{direction}_{name}"))
            for name in ("kernel", "recurrent_kernel", "bias")
        ]
        for direction in ("forward", "backward")
    )
    forward = numpy_direction(x, mask, *forward)
    backward = numpy_direction(x[:, ::-1], mask[:, ::-1], *backward)
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


@pytest.mark.parametrize("reset_after", [True, False])
def test_more_padding_changes_nothing(inputs, reset_after):
    layer = BidirectionalGRU(5, reset_after=reset_after)
    with_random_biases(layer, inputs)
    annotations, final = layer(**inputs)
    longer = {
        "inputs": np.pad(inputs["inputs"], ((0, 0), (0, 3), (0, 0))),
        "mask": np.pad(MASK, ((0, 0), (0, 3))),
    }
    longer_annotations, longer_final = layer(**longer)
    helpers.assert_close(longer_annotations[:, :4], annotations)
    helpers.assert_close(longer_final, final)


def test_a_sentence_alone_gives_the_same(inputs):
    layer = with_random_biases(BidirectionalGRU(5), inputs)
    annotations, final = layer(**inputs)
    alone, final_alone = layer(inputs["inputs"][1:, :2], MASK[1:, :2])
    helpers.assert_close(annotations[1:, :2], alone)
    helpers.assert_close(final[1:], final_alone)


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
