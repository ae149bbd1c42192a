"""How BART reads a source and writes a target.

Shapes: B batch, S source steps, T target steps, K beams, D hidden size, H
heads, d = D / H, R rows that the beams have written.
"""

from keras import ops

from tfcopy.keras_internals import decoder_attentions, keys_and_values


class BartParts:
    """The layers of a `keras_hub.models.BartBackbone`, in our order of calls.

    Args:
        backbone: The backbone.
    """

    # The rows of its table that PAD, UNK, BOS and EOS have. A target begins
    # with the end of another sentence: what follows it is the start symbol,
    # which is a word like others.
    special_ids = (1, 3, 2, 2)
    target_start = "end"
    feature_scale = 1.0
    lora_layers = ("query", "value")

    def __init__(self, backbone):
        self.backbone = backbone
        self.num_heads = backbone.num_heads

    @property
    def encoder_layers(self):
        """All that `encode` calls, in order."""
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
        """All that `decode` calls, in order."""
        backbone = self.backbone
        return [
            backbone.decoder_position_embedding,
            backbone.decoder_embeddings_add,
            backbone.decoder_embeddings_layer_norm,
            backbone.decoder_embeddings_dropout,
            *backbone.decoder_transformer_layers,
        ]

    def encode(self, words, mask, training=False):
        """The annotations of a source.

        Args:
            words: Embedded words, `(B, S, D)`.
            mask: Boolean, `(B, S)`.
            training: Whether to drop.

        Returns:
            `(B, S, D)`.
        """
        places = ops.arange(ops.shape(words)[1], dtype="int32")
        x = self._with_places(self.encoder_layers, words, places, training)
        for block in self.backbone.encoder_transformer_layers:
            x = block(x, padding_mask=mask, training=training)
        return x

    def decode(self, words, annotations, mask, training=False):
        """The decoder's output at all steps of a target.

        Args:
            words: The previous words, embedded, `(B, T, D)`.
            annotations: From `encode`.
            mask: Boolean, `(B, S)`.
            training: Whether to drop.

        Returns:
            `(B, T, D)`.
        """
        places = ops.arange(ops.shape(words)[1], dtype="int32")
        x = self._with_places(self.decoder_layers, words, places, training)
        for block in self.backbone.decoder_transformer_layers:
            x = block(
                x, annotations, encoder_padding_mask=mask, training=training
            )
        return x

    def source_caches(self, annotations):
        """What the blocks' attention over the source reads at each step.

        Returns:
            Dict of the keys and values, `(B, 2, S, H, d)`, by block.
        """
        return {
            block.name: keys_and_values(
                decoder_attentions(block)[1], annotations
            )
            for block in self.backbone.decoder_transformer_layers
        }

    def step(self, words, annotations, mask, caches, history):
        """The decoder's output at a step of a search.

        Args:
            words: The previous words of K beams, embedded, `(B, K, D)`.
            annotations: From `encode`.
            mask: Boolean, `(B, S)`.
            caches: From `source_caches`.
            history: `History` of such caches of the words before.

        Returns:
            `(x, rows)`: `(B, K, D)`, and the caches with those of this step.
        """
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
