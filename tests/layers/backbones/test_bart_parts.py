"""BART's encoder reads no padding."""

import numpy as np
import pytest

from tests import helpers
from tests.models.backbones import make_backbone
from tfcopy.layers.backbones.bart_parts import BartParts


def test_padding_is_not_read():
    encode = BartParts(make_backbone("bart", num_layers=1)).encode
    words = np.random.default_rng(0).normal(size=(1, 4, 8)).astype("float32")
    mask = np.array([[True, True, True, False]])
    alone = helpers.to_numpy(encode(words[:, :3], mask[:, :3]))
    helpers.assert_close(encode(words, mask)[:, :3], alone)
    with pytest.raises(AssertionError):
        helpers.assert_close(encode(words, mask | True)[:, :3], alone)
