import numpy as np
import pytest

from tests import helpers
from tfcopy.layers import BidirectionalGRU, PositionOneHot

MASK = np.array([[True] * 4, [True, True, False, False]])


@pytest.fixture
def inputs():
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3))
    return {"inputs": inputs.astype("float32"), "mask": MASK}


@pytest.mark.parametrize("positions", [2, 6])
def test_layer_contract(inputs, positions):
    helpers.check_layer(
        PositionOneHot(BidirectionalGRU(5), positions),
        inputs,
        output_shapes=[(2, 4, 10 + positions), (2, 10)],
        padded={"mask": ["inputs"]},
    )


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
