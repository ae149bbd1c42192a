import numpy as np
import pytest

from tests import helpers
from tfcopy import layers, tokens
from tfcopy.layers.encoders.states import MeanInitialState
from tfcopy.layers.padding_mask import PaddingMask

IDS = np.array([[5, tokens.EOS, tokens.PAD], [tokens.UNK, 7, 2]], "int32")


def test_layer_contract():
    helpers.check_layer(PaddingMask(), {"ids": IDS}, output_shapes=(2, 3))


def test_all_but_padding_is_a_real_token():
    mask = helpers.to_numpy(PaddingMask()(IDS))
    assert mask.tolist() == [[True, True, False], [True, True, True]]


@pytest.mark.parametrize(
    "layer",
    [
        layers.BidirectionalGRU(3),
        layers.BidirectionalLSTM(3),
        layers.ForwardLSTM(3),
        layers.TransformerAnnotations(4, num_layers=1, num_heads=2),
        layers.PositionOneHot(layers.BidirectionalGRU(3), 2),
        layers.MaskedPooling(),
        layers.SpanHead(3),
        MeanInitialState(3),
    ],
    ids=lambda layer: layer.name,
)
def test_without_a_mask_nothing_is_padding(layer):
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
    helpers.assert_close(
        layer(inputs), helpers.to_numpy(layer(inputs, np.ones((2, 4), bool)))
    )
