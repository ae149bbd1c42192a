"""Networks drop in training alone; decoders refuse what is none."""

import keras
import numpy as np
import pytest

from tests import helpers
from tests.models.backbones import make_backbone
from tfcopy.layers.backbones.hub_backbone import parts_of


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", ["bart", "gpt2", "gemma", "llama"])
def test_dropout_is_for_training(kind):
    keras.utils.set_random_seed(0)
    backbone = make_backbone(kind, num_layers=1, dropout=0.5)
    if kind == "bart":
        backbone.encoder_embeddings_dropout.rate = 0.0  # The blocks alone drop.
    encode = parts_of(backbone).encode
    words, mask = np.ones((1, 3, 8), "float32"), np.ones((1, 3), bool)
    same, again, other = (
        helpers.to_numpy(encode(words, mask, training=training)[0])
        for training in (False, False, True)
    )
    np.testing.assert_array_equal(same, again)
    assert np.abs(same - other).max() > 0.1


@pytest.mark.parametrize(
    "kind, options, message",
    [
        ("gemma3", {"use_bidirectional_attention": True}, "must be causal"),
        (
            "phi3",
            {
                "rope_scaling_type": "su",
                "rope_scaling_short_factor": [1.0, 1.0],
                "rope_scaling_long_factor": [2.0, 2.0],
            },
            "do not depend on the length",
        ),
    ],
)
def test_networks_that_cannot_go_on_from_left_to_right(kind, options, message):
    backbone = make_backbone(kind, **options)
    with pytest.raises(ValueError, match=message):
        parts_of(backbone)
