"""The decoder's first state."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.random_inputs import MASK, normal
from tfcopy.layers import BidirectionalGRU, PositionOneHot, StateReduction
from tfcopy.layers.encoders.states import MeanInitialState


@pytest.fixture
def inputs_initial_state():
    return {"annotations": normal(2, 4, 6), "mask": MASK}


def test_is_the_projected_mean_of_the_words(inputs_initial_state):
    layer = MeanInitialState(5)
    layer.build((2, 4, 6))
    layer.dense.bias.assign(np.arange(5.0))
    kernel = ops.convert_to_numpy(layer.dense.kernel)
    annotations = inputs_initial_state["annotations"]
    means = np.stack([annotations[0].mean(0), annotations[1, :2].mean(0)])
    helpers.assert_close(
        layer(**inputs_initial_state), np.tanh(means @ kernel + np.arange(5))
    )


def test_a_sentence_without_words_is_all_bias(inputs_initial_state):
    state = MeanInitialState(5)(
        inputs_initial_state["annotations"], np.zeros((2, 4), "bool")
    )
    helpers.assert_close(state, np.zeros((2, 5)))


@pytest.fixture
def inputs_state_reduction():
    return {
        "annotations": normal(2, 4, 6),
        "mask": MASK,
        "final": normal(2, 12),
    }


def test_each_part_has_its_own_projection(inputs_state_reduction):
    layer = StateReduction(5)
    layer(**inputs_state_reduction)
    parts = np.split(inputs_state_reduction["final"], 2, axis=-1)
    expected = []
    for i, (part, reduction) in enumerate(zip(parts, layer.reductions)):
        reduction.bias.assign(np.arange(5.0) - i)
        kernel = ops.convert_to_numpy(reduction.kernel)
        expected.append(np.maximum(part @ kernel + np.arange(5) - i, 0))
    state = layer(**inputs_state_reduction)
    helpers.assert_close(state, np.concatenate(expected, axis=-1))
    assert ops.convert_to_numpy(state).any()


@pytest.mark.parametrize("seed", [None, 7])
def test_parts_start_with_different_values(inputs_state_reduction, seed):
    normal = keras.initializers.TruncatedNormal(stddev=1e-4, seed=seed)
    layer = StateReduction(
        5, kernel_initializer=normal, bias_initializer=normal
    )
    layer(**inputs_state_reduction)
    for name in ("kernel", "bias"):
        first, second = (
            ops.convert_to_numpy(getattr(reduction, name))
            for reduction in layer.reductions
        )
        assert (first != second).all()
        assert 0 < np.abs(first).max() < 3e-4


def test_state_must_be_divisible(inputs_state_reduction):
    with pytest.raises(ValueError, match="a multiple of parts=5"):
        StateReduction(5, parts=5)(**inputs_state_reduction)


def test_appends_the_position_to_what_the_encoder_gives(inputs):
    encoder = BidirectionalGRU(5)
    annotations, final = PositionOneHot(encoder, 6)(**inputs)
    expected, expected_final = encoder(**inputs)
    helpers.assert_close(annotations[..., :10], expected, 0, 0)
    helpers.assert_close(final, expected_final, 0, 0)
    whole = np.eye(6)[:4]
    short = np.concatenate([whole[:2], np.zeros((2, 6))])
    helpers.assert_close(annotations[..., 10:], np.stack([whole, short]), 0, 0)


def test_later_positions_have_none(inputs):
    annotations, _ = PositionOneHot(BidirectionalGRU(5), 3)(**inputs)
    last = [[1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, 0]]
    helpers.assert_close(annotations[0, :, 10:], last, 0, 0)


def test_has_the_weights_of_its_encoder_alone(inputs):
    layer = PositionOneHot(BidirectionalGRU(5))
    layer(**inputs)
    assert layer.positions == 57
    assert [w.shape for w in layer.weights] == [
        w.shape for w in layer.encoder.weights
    ]
    assert layer.encoder.weights


def test_positions_must_be_positive():
    with pytest.raises(ValueError, match="`positions`.*positions=0"):
        PositionOneHot(BidirectionalGRU(5), 0)
