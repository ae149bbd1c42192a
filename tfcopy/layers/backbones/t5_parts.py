"""Adapter of KerasHub's T5: encoding of a source, decoding of a target.

Shapes: B batch, K beams, H heads, R rows that the beams have appended, N any
rows, M rows that they attend to, D hidden size.
"""

import warnings

from keras import ops

from tfcopy.layers.backbones.backbone_parts import (
    BackboneParts,
    attend,
    map_all,
)
from tfcopy.layers.tensors import merge_heads, split_heads

# KerasHub passes masks to its attention layers, and warns that they lose them.
warnings.filterwarnings(
    "ignore", ".*T5MultiHeadAttention.*was passed an input with a mask"
)


class T5Parts(BackboneParts):
    """Adapter of a `keras_hub.models.T5Backbone`."""

    special_ids = (0, 2, 0, 1)
    target_start = "pad"
    lora_layers = ("query_projector", "value_projector")

    @property
    def feature_scale(self):
        tied = self.backbone.tie_embedding_weights
        return self.backbone.hidden_dim**-0.5 if tied else 1.0

    @property
    def encoder_layers(self):
        backbone = self.backbone
        return [
            backbone.encoder_embedding_dropout,
            *backbone.encoder_transformer_layers,
            backbone.encoder_layer_norm,
            backbone.encoder_dropout,
        ]

    @property
    def decoder_layers(self):
        backbone = self.backbone
        return [
            backbone.decoder_embedding_dropout,
            *backbone.decoder_transformer_layers,
            backbone.decoder_layer_norm,
            backbone.decoder_dropout,
        ]

    def encode(self, words, mask, training=False):
        first, *blocks, norm, last = self.encoder_layers
        x, bias = first(words, training=training), None
        for block in blocks:
            # The first block computes the position bias of all blocks.
            x, bias = block(
                x,
                attention_mask=ops.expand_dims(mask, 1),
                position_bias=bias,
                training=training,
            )
        return last(norm(x), training=training)

    def decode(self, words, annotations, mask, training=False):
        first, *blocks, norm, last = self.decoder_layers
        x, bias = first(words, training=training), None
        for block in blocks:
            x, bias = block(
                x,
                position_bias=bias,
                encoder_hidden_states=annotations,
                encoder_attention_mask=ops.expand_dims(mask, 1),
                use_causal_mask=True,
                training=training,
            )
        return last(norm(x), training=training)

    def source_caches(self, annotations):
        return {
            block.name: _keys_and_values(block.cross_attention, annotations)
            for block in self.backbone.decoder_transformer_layers
        }

    def step(self, words, mask, caches, history):
        _, *blocks, norm, _ = self.decoder_layers
        x, rows = ops.cast(words, norm.compute_dtype), {}
        visible, of_source = history.visible(), ops.expand_dims(mask, 1)
        bias = _bias(blocks[0].self_attention, visible, history)
        for block in blocks:
            name, attention = block.name, block.self_attention
            y = block.self_attention_layer_norm(x)
            new = _keys_and_values(attention, y)
            rows[name] = history.add(history.rows[name], new)
            x = x + _read(attention, y, rows[name], visible, bias)
            y = block.cross_attention_layer_norm(x)
            x = x + _read(block.cross_attention, y, caches[name], of_source)
            y = block.layer_norm(x)
            gate = map_all(block.input_projector, y)
            if block.use_gated_activation:
                gate = gate * map_all(block.gate_projector, y)
            x = x + map_all(block.output_projector, gate)
        return norm(x), rows


def _bias(attention, visible, history):
    """Computes the relative position bias of a step, `(1, H, 1, R)`."""
    steps = ops.shape(visible)[2] // visible.shape[1]
    bias = attention.compute_bias(1, steps, history.steps[0, 0])
    # Each step appended one row per beam.
    return ops.repeat(bias, visible.shape[1], axis=3)


def _keys_and_values(attention, x):
    """Computes the keys and values of `(B, N, D)`, by head."""
    heads = attention.num_heads
    return {
        "keys": split_heads(map_all(attention.key_projector, x), heads),
        "values": split_heads(map_all(attention.value_projector, x), heads),
    }


def _read(attention, x, rows, visible, bias=None):
    """Attends with queries from `(B, N, D)`; returns the same shape."""
    queries = map_all(attention.query_projector, x)
    queries = split_heads(queries, attention.num_heads)
    found = attend(queries, [rows], visible, scale=1.0, bias=bias)
    return map_all(attention.output_projector, merge_heads(found))
