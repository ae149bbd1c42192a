"""Attention by head reads what KerasHub's own layer does."""

import numpy as np

from tests import helpers
from tests.models.backbones import make_backbone
from tfcopy.layers.backbones.backbone_parts import attend, map_all, to_heads


def test_heads_that_share_keys_read_what_the_layer_does():
    rng = np.random.default_rng(0)
    block = make_backbone("t5gemma", num_layers=1).decoder_layers[0]
    attention = block.cross_attn
    x, source = (
        rng.normal(size=(2, 3, size)).astype("float32") for size in (8, 4)
    )
    visible = np.array([[[True, False, True]]])
    bias = np.where(visible[:, None], 0, -1e9).astype("float32")
    expected, rows = attention([x, source], attention_mask=bias)
    rows = {"keys": to_heads(rows[:, 0]), "values": to_heads(rows[:, 1])}
    found = attend(
        to_heads(map_all(attention.query_dense, x)),
        [rows],
        visible,
        scale=attention.scaling,
        soft_cap=attention.logit_soft_cap,
    )
    found = map_all(attention.output_dense, to_heads(found))
    helpers.assert_close(found, expected)
