"""Adapters of KerasHub's T5Gemma and T5Gemma 2.

Shapes: B batch, S source steps, K beams, D hidden size, N any rows, R rows that
the beams have appended, H heads of keys and values, d size of a head.
"""

from keras import ops

from tfcopy.layers.backbones.backbone_parts import (
    BackboneParts,
    attend,
    map_all,
    to_heads,
)
from tfcopy.layers.tensors import copies


class T5GemmaParts(BackboneParts):
    """Adapter of a `keras_hub.models.T5GemmaBackbone`."""

    special_ids = (0, 3, 2, 1)

    @property
    def target_table(self):
        return self.backbone.decoder_token_embedding

    @property
    def hidden_dim(self):
        return self.backbone.decoder_hidden_dim

    @property
    def num_heads(self):
        return self.backbone.decoder_num_attention_heads

    @property
    def logit_cap(self):
        return self.backbone.final_logit_softcapping

    @property
    def encoder_layers(self):
        return [
            self.backbone.encoder_dropout,
            *self.backbone.encoder_layers,
            self.backbone.encoder_norm,
        ]

    @property
    def decoder_layers(self):
        return [
            self.backbone.decoder_dropout,
            *self.backbone.decoder_layers,
            self.backbone.decoder_norm,
        ]

    def encode(self, words, mask, training=False):
        dropout, *blocks, norm = self.encoder_layers
        x = dropout(_scale(words), training=training)
        for block in blocks:
            x = block(x, padding_mask=mask, training=training)
        return dropout(norm(x), training=training)

    def decode(self, words, annotations, mask, training=False):
        dropout, *blocks, norm = self.decoder_layers
        x = dropout(_scale(words), training=training)
        for block in blocks:
            x, _ = block(
                (x, annotations),
                cross_attention_padding_mask=mask,
                training=training,
            )
        return dropout(norm(x), training=training)

    def source_caches(self, annotations):
        return {
            block.name: _keys_and_values(
                self._attentions(block)[1], annotations
            )
            for block in self.backbone.decoder_layers
        }

    def step(self, words, mask, caches, history):
        _, *blocks, norm = self.decoder_layers
        x, rows = ops.cast(_scale(words), norm.compute_dtype), {}
        # The `call` of a block would give each beam a different position.
        for block in blocks:
            name = block.name
            attention, _ = self._attentions(block)
            read = block.pre_self_attn_layernorm(x)
            queries = map_all(attention.query_dense, read)
            queries = attention.rotary_embedding(
                _normalize(attention, "query", queries), positions=history.steps
            )
            new = _keys_and_values(attention, read, history.steps)
            rows[name] = history.add(history.rows[name], new)
            visible = _mask_window(self._window(block), history)
            x = self._attend(
                block, x, queries, rows[name], visible, caches[name], mask
            )
            read = block.mlp(block.pre_feedforward_layernorm(x))
            x = x + block.post_feedforward_layernorm(read)
        return norm(x), rows

    def _attentions(self, block):
        """Returns the attentions of a block over the target and the source."""
        return block.self_attn, block.cross_attn

    def _window(self, block):
        """Returns how far back a block attends, or `None` for no limit."""
        is_sliding = block.layer_type == "sliding_attention"
        return block.sliding_window if is_sliding else None

    def _attend(self, block, x, queries, rows, visible, cache, mask):
        """Applies the attentions of a block to a step, `(B, K, D)`.

        Args:
            block: The block.
            x: `(B, K, D)`.
            queries: Queries of the attention over the target, `(B, K, *, d)`.
            rows: Keys and values of the target, `(B, H, R, d)`.
            visible: Boolean, `(B, K, R)`.
            cache: Keys and values of the source.
            mask: Boolean, `(B, S)`.
        """
        found = _read(block.self_attn, queries, [rows], visible)
        x = x + block.post_self_attn_layernorm(found)
        queries = block.pre_cross_attn_layernorm(x)
        queries = map_all(block.cross_attn.query_dense, queries)
        of_source = ops.expand_dims(mask, 1)
        found = _read(block.cross_attn, queries, [cache], of_source)
        return x + block.post_cross_attn_layernorm(found)


class T5Gemma2Parts(T5GemmaParts):
    """Adapter of a text-only `keras_hub.models.T5Gemma2Backbone`.

    One softmax weights the rows of target and source together.

    Raises:
        ValueError: If the backbone has a vision encoder.
    """

    def __init__(self, backbone):
        super().__init__(backbone)
        if not backbone.text_only_model:
            raise ValueError(
                "`backbone` must be text-only; docs/backbones.md shows how to "
                "leave the vision encoder out. Received: a T5Gemma2Backbone "
                "with a vision encoder."
            )

    def _attentions(self, block):
        return block.merged_attn, block.merged_attn

    def _window(self, block):
        is_sliding = block.attention_type == "sliding_attention"
        return block.sliding_window - 1 if is_sliding else None

    def _attend(self, block, x, queries, rows, visible, cache, mask):
        beams = visible.shape[1]
        visible = ops.concatenate([visible, copies(mask, beams)], axis=2)
        found = _read(block.merged_attn, queries, [rows, cache], visible)
        return x + block.post_self_attn_layernorm(found)


def _scale(words):
    """Scales embedded tokens for the first block."""
    return words * words.shape[-1] ** 0.5


def _keys_and_values(attention, x, steps=None):
    """Computes keys, rotated by `steps`, and values, both `(B, H, N, d)`."""
    keys = _normalize(attention, "key", map_all(attention.key_dense, x))
    if steps is not None:
        keys = attention.rotary_embedding(keys, positions=steps)
    values = map_all(attention.value_dense, x)
    return {"keys": to_heads(keys), "values": to_heads(values)}


def _read(attention, queries, rows, visible):
    """Attends with queries, `(B, N, *, d)`; returns `(B, N, D)`."""
    found = attend(
        to_heads(queries),
        rows,
        visible,
        scale=attention.scaling,
        soft_cap=attention.logit_soft_cap,
    )
    return map_all(attention.output_dense, to_heads(found))


def _normalize(attention, name, x):
    """Normalises queries or keys of T5Gemma 2; T5Gemma has no such layer."""
    if not getattr(attention, "use_query_key_norm", False):
        return x
    return getattr(attention, f"{name}_norm")(x)


def _mask_window(window, history):
    """Masks the visible rows outside a window, boolean, `(B, K, R)`.

    Args:
        window: Number of steps back; `None` for all of them.
        history: `History`.
    """
    visible = history.visible()
    if window is None:
        return visible
    beams = visible.shape[1]
    # Each step appended one row per beam.
    steps = ops.arange(ops.shape(visible)[2], dtype="int32") // beams
    return visible & (steps >= history.steps[0, 0] - window)
