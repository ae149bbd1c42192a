"""Adapter of Marian's network, and of M2M-100's."""

from tfcopy.layers.backbones.bart_parts import BartParts


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
        x = super().encode(words, mask, training)
        return self._normalize("encoder", x)

    def decode(self, words, annotations, mask, training=False):
        x = super().decode(words, annotations, mask, training)
        return self._normalize("decoder", x)

    def step(self, words, mask, caches, history):
        x, rows = super().step(words, mask, caches, history)
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
