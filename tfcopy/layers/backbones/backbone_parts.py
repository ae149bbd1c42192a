"""Base class of the parts of a KerasHub network that our layers call.

Shapes: B batch, S source steps, T target steps, K beams, E size of the
encoder, D of the decoder, H heads of keys and values, d size of a head.
"""


class BackboneParts:
    """The layers of an encoder-decoder of KerasHub, in our order of calls.

    Args:
        backbone: The backbone.

    Attributes:
        special_ids: The rows of its table that PAD, UNK, BOS and EOS have.
        target_start: Which word of its tokenizer a target begins with:
            `"start"`, `"end"` or `"pad"`.
        lora_layers: Names of the layers that LoRA adapts.
        feature_scale: Factor of the features that words are predicted from.
        logit_cap: What logits stay below: `cap * tanh(logits / cap)`; `None`
            for logits as they are.
    """

    special_ids = None
    target_start = "start"
    lora_layers = ("query", "value")
    feature_scale = 1.0
    logit_cap = None

    def __init__(self, backbone):
        self.backbone = backbone

    @property
    def source_table(self):
        """The embedding of a source's words."""
        return self.backbone.token_embedding

    @property
    def target_table(self):
        """The embedding of a target's words, which is the output layer, too."""
        return self.backbone.token_embedding

    @property
    def hidden_dim(self):
        """D."""
        return self.backbone.hidden_dim

    @property
    def num_heads(self):
        """Heads of the decoder's queries."""
        return self.backbone.num_heads

    @property
    def encoder_layers(self):
        """All that `encode` calls, in order."""
        raise NotImplementedError

    @property
    def decoder_layers(self):
        """All that `decode` calls, in order."""
        raise NotImplementedError

    def encode(self, words, mask, training=False):
        """The annotations of a source.

        Args:
            words: Embedded words, `(B, S, E)`.
            mask: Boolean, `(B, S)`.
            training: Whether to drop.

        Returns:
            `(B, S, E)`.
        """
        raise NotImplementedError

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
        raise NotImplementedError

    def source_caches(self, annotations):
        """Returns the source's keys and values for each cross-attention.

        Returns:
            By the name of a block, its dict of `keys` and `values`,
            `(B, H, S, d)`.
        """
        raise NotImplementedError

    def step(self, words, mask, caches, history):
        """The decoder's output at a step of a search.

        Args:
            words: The previous words of K beams, embedded, `(B, K, D)`.
            mask: Boolean, `(B, S)`.
            caches: From `source_caches`.
            history: `History` of such keys and values of the words before.

        Returns:
            `(x, rows)`: `(B, K, D)`, and the keys and values with those of this
            step.
        """
        raise NotImplementedError
