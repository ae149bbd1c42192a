"""Adapters of BART, Marian and M2M-100: encoding a source, decoding a target.

Shapes: B batch, N any rows, D hidden size, H heads, d size of a head.
"""

from keras import ops

from tfcopy.keras_internals import own_layers
from tfcopy.layers.backbones.backbone_parts import (
    BackboneParts,
    attend,
    map_all,
    to_heads,
)


class BartParts(BackboneParts):
    """Adapter of a `keras_hub.models.BartBackbone`."""

    takes_start = True
    special_ids = (1, 3, 2, 2)
    # In BART, a target begins with the end token. The next token is the start
    # token, which is predicted like any other.
    target_start = "end"

    @property
    def encoder_layers(self):
        backbone = self.backbone
        return [
            backbone.encoder_position_embedding,
            backbone.encoder_embeddings_add,
            backbone.encoder_embeddings_layer_norm,
            backbone.encoder_embeddings_dropout,
            *backbone.encoder_transformer_layers,
        ]

    @property
    def decoder_layers(self):
        backbone = self.backbone
        return [
            backbone.decoder_position_embedding,
            backbone.decoder_embeddings_add,
            backbone.decoder_embeddings_layer_norm,
            backbone.decoder_embeddings_dropout,
            *backbone.decoder_transformer_layers,
        ]

    def encode(self, words, mask, training=False):
        places = ops.arange(ops.shape(words)[1], dtype="int32")
        x = self._add_places(self.encoder_layers, words, places, training)
        for block in self.backbone.encoder_transformer_layers:
            x = block(x, padding_mask=mask, training=training)
        return x

    def decode(self, words, annotations, mask, training=False):
        places = ops.arange(ops.shape(words)[1], dtype="int32")
        x = self._add_places(self.decoder_layers, words, places, training)
        for block in self.backbone.decoder_transformer_layers:
            x = block(
                x, annotations, encoder_padding_mask=mask, training=training
            )
        return x

    def source_caches(self, annotations):
        return {
            block.name: _keys_and_values(
                own_layers(own_layers(block).cross_attention_layer), annotations
            )
            for block in self.backbone.decoder_transformer_layers
        }

    def step(self, words, mask, caches, history, start=None):
        # Rows of a token before the first one, which all beams read.
        visible, rows = history.visible(), {}
        places = history.steps
        if start:
            places = places + 1
            visible = _join(ops.ones_like(visible[:, :, :1]), visible)
        x = self._add_places(self.decoder_layers, words, places)
        of_source = ops.expand_dims(mask, 1)

        def read_target(y):
            attention = own_layers(layers.self_attention_layer)
            new = _keys_and_values(attention, y)
            rows[block.name] = history.add(history.rows[block.name], new)
            seen = rows[block.name]
            if start:
                first = start[block.name]
                seen = {k: _join(first[k], x) for k, x in seen.items()}
            return _read(attention, y, seen, visible)

        def read_source(y):
            attention = own_layers(layers.cross_attention_layer)
            return _read(attention, y, caches[block.name], of_source)

        def feed_forward(y):
            y = map_all(layers.feedforward_intermediate_dense, y)
            return map_all(layers.feedforward_output_dense, y)

        for block in self.backbone.decoder_transformer_layers:
            layers = own_layers(block)
            for norm, sublayer in (
                (layers.self_attention_layer_norm, read_target),
                (layers.cross_attention_layer_norm, read_source),
                (layers.feedforward_layer_norm, feed_forward),
            ):
                if block.normalize_first:
                    x = x + sublayer(norm(x))
                else:
                    x = norm(x + sublayer(x))
        return x, rows

    def _add_places(self, layers, words, places, training=False):
        """Adds positions, up to the last of the table, and normalises."""
        positions, add, norm, dropout, *_ = layers
        places = ops.minimum(places, self.backbone.max_sequence_length - 1)
        x = add((words, positions(words, positions=places)))
        return dropout(norm(x), training=training)


class MarianParts(BartParts):
    """Adapter of a `MarianBackbone` or an `M2M100Backbone`."""

    special_ids = (1, 3, 2, 2)  # as in M2M-100
    target_start = "pad"

    @property
    def target_table(self):
        return self.backbone.decoder_token_embedding

    @property
    def encoder_layers(self):
        return self._layers("encoder")

    @property
    def decoder_layers(self):
        return self._layers("decoder")

    def encode(self, words, mask, training=False):
        return self._normalize("encoder", super().encode(words, mask, training))

    def decode(self, words, annotations, mask, training=False):
        x = super().decode(words, annotations, mask, training)
        return self._normalize("decoder", x)

    def step(self, words, mask, caches, history, start=None):
        x, rows = super().step(words, mask, caches, history, start)
        return self._normalize("decoder", x), rows

    def _layers(self, side):
        names = "position_embedding", "embeddings_dropout", "layer_norm"
        first, second, last = (
            getattr(self.backbone, f"{side}_{name}") for name in names
        )
        blocks = getattr(self.backbone, f"{side}_transformer_layers")
        return [first, second, *blocks, *([last] if last else [])]

    def _normalize(self, side, x):
        norm = getattr(self.backbone, f"{side}_layer_norm")
        return norm(x) if norm else x

    def _add_places(self, layers, words, places, training=False):
        positions, dropout, *_ = layers
        return dropout(positions(words, positions=places), training=training)


def _join(first, others):
    """Concatenates rows, the third axis."""
    return ops.concatenate([first, others], axis=2)


def _keys_and_values(attention, x):
    """Computes the keys and values of `(B, N, D)`, by head."""
    return {
        "keys": to_heads(map_all(attention.key_dense, x)),
        "values": to_heads(map_all(attention.value_dense, x)),
    }


def _read(attention, x, rows, visible):
    """Attends with queries from `(B, N, D)`; returns the same shape."""
    found = attend(to_heads(map_all(attention.query_dense, x)), [rows], visible)
    return map_all(attention.output_dense, to_heads(found))
