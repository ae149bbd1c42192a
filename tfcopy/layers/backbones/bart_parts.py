"""How BART reads a source and writes a target."""

from keras import ops

from tfcopy.keras_internals import decoder_attentions, keys_and_values
from tfcopy.layers.backbones.backbone_parts import BackboneParts


class BartParts(BackboneParts):
    """The layers of a `keras_hub.models.BartBackbone`."""

    special_ids = (1, 3, 2, 2)
    # A target begins with the end of another sentence: what follows it is the
    # start symbol, which is a word like others.
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
        x = self._with_places(self.encoder_layers, words, places, training)
        for block in self.backbone.encoder_transformer_layers:
            x = block(x, padding_mask=mask, training=training)
        return x

    def decode(self, words, annotations, mask, training=False):
        places = ops.arange(ops.shape(words)[1], dtype="int32")
        x = self._with_places(self.decoder_layers, words, places, training)
        for block in self.backbone.decoder_transformer_layers:
            x = block(
                x, annotations, encoder_padding_mask=mask, training=training
            )
        return x

    def source_caches(self, annotations):
        return {
            block.name: keys_and_values(
                decoder_attentions(block)[1], annotations
            )
            for block in self.backbone.decoder_transformer_layers
        }

    def step(self, words, annotations, mask, caches, history):
        x = self._with_places(self.decoder_layers, words, history.steps)
        visible, rows = history.visible(), {}
        for block in self.backbone.decoder_transformer_layers:
            name = block.name
            new = keys_and_values(decoder_attentions(block)[0], x)
            rows[name] = history.add(history.rows[name], new)
            # The beams stand where steps of one sentence stand, and the mask
            # says whose rows are whose.
            x, _, _ = block(
                x,
                annotations,
                decoder_attention_mask=visible,
                encoder_padding_mask=mask,
                self_attention_cache=rows[name],
                cross_attention_cache=caches[name],
                use_causal_mask=False,
            )
        return x, rows

    def _with_places(self, layers, words, places, training=False):
        """Words with their positions, normalised; all late ones are alike."""
        positions, add, norm, dropout, *_ = layers
        places = ops.minimum(places, self.backbone.max_sequence_length - 1)
        x = add((words, positions(words, positions=places)))
        return dropout(norm(x), training=training)
