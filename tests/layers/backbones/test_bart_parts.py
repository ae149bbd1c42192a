"""BART's encoder reads no padding, and drops in training alone."""

import keras
import numpy as np
import pytest

from tests import helpers
from tests.models.backbones import make_backbone
from tfcopy.layers.backbones.bart_parts import BartParts


@pytest.fixture(scope="module")
def encode():
    keras.utils.set_random_seed(0)
    backbone = make_backbone("bart", num_layers=1, dropout=0.5)
    backbone.encoder_embeddings_dropout.rate = 0.0  # The blocks alone drop.
    return BartParts(backbone).encode


def test_padding_is_not_read(encode):
    words = np.random.default_rng(0).normal(size=(1, 4, 8)).astype("float32")
    mask = np.array([[True, True, True, False]])
    alone = helpers.to_numpy(encode(words[:, :3], mask[:, :3]))
    helpers.assert_close(encode(words, mask)[:, :3], alone)
    with pytest.raises(AssertionError):
        helpers.assert_close(encode(words, mask | True)[:, :3], alone)


def test_dropout_is_for_training(encode):
    words, mask = np.ones((1, 3, 8), "float32"), np.ones((1, 3), bool)
    same, again, other = (
        helpers.to_numpy(encode(words, mask, training=training))
        for training in (False, False, True)
    )
    np.testing.assert_array_equal(same, again)
    assert np.abs(same - other).max() > 0.1
