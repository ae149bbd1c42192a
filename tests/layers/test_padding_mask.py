import numpy as np

from tests import helpers
from tfcopy import tokens
from tfcopy.layers.padding_mask import PaddingMask

IDS = np.array([[5, tokens.EOS, tokens.PAD], [tokens.UNK, 7, 2]], "int32")


def test_layer_contract():
    helpers.check_layer(PaddingMask(), {"ids": IDS}, output_shapes=(2, 3))


def test_all_but_padding_is_a_real_token():
    mask = helpers.to_numpy(PaddingMask()(IDS))
    assert mask.tolist() == [[True, True, False], [True, True, True]]
