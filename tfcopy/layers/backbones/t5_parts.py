"""How T5 reads a source and writes a target.

Shapes: B batch, K beams, H heads, d size of a head, R rows that the beams have
written, N any rows, D hidden size.
"""

import warnings

from keras import ops

from tfcopy.layers.backbones.backbone_parts import BackboneParts

# KerasHub passes masks to attentions that, it says, lose them.
warnings.filterwarnings(
    "ignore", ".*T5MultiHeadAttention.*was passed an input with a mask"
)
_MASKED = -1e9  # T5's own


class T5Parts(BackboneParts):
    """The layers of a `keras_hub.models.T5Backbone`."""

    special_ids = (0, 2, 0, 1)
    target_start = "pad"
    lora_layers = ("query_projector", "value_projector")

    @property
    def feature_scale(self):
        backbone = self.backbone
        tied = backbone.tie_embedding_weights
        return backbone.hidden_dim**-0.5 if tied else 1.0

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
            # The first one computes what all add to their scores.
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

    def step(self, words, annotations, mask, caches, history):
        _, *blocks, norm, _ = self.decoder_layers
        x, rows = words, {}
        bias = self._bias(blocks[0].self_attention, history)
        for block in blocks:
            name = block.name
            new = _keys_and_values(
                block.self_attention, block.self_attention_layer_norm(x)
            )
            rows[name] = history.add(history.rows[name], new)
            x, _, _, _ = block(
                x,
                position_bias=bias,
                encoder_hidden_states=annotations,
                encoder_attention_mask=ops.expand_dims(mask, 1),
                self_attention_cache=rows[name],
                cross_attention_cache=caches[name],
            )
        return norm(x), rows

    def _bias(self, attention, history):
        """What a step adds to the scores of the rows, `(B, H, K, R)`."""
        visible = history.visible()
        beams = visible.shape[1]
        steps = ops.shape(visible)[2] // beams
        bias = attention.compute_bias(1, steps, history.steps[0, 0])
        # Each step has written a row for each beam.
        bias = ops.repeat(ops.cast(bias, "float32"), beams, axis=3)
        hidden = ops.where(ops.expand_dims(visible, 1), 0.0, _MASKED)
        return bias + hidden


def _keys_and_values(attention, x):
    """`(B, N, D)` to `(B, 2, N, H, d)`."""
    size = (attention.num_heads, attention.key_value_dim)
    rows = ops.shape(x)[1]
    both = [
        ops.reshape(projector(x), (-1, rows, *size))
        for projector in (attention.key_projector, attention.value_projector)
    ]
    return ops.stack(both, axis=1)
