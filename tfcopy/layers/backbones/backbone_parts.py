"""Base class of the parts of a KerasHub network, as a copying model calls them.

Shapes: B batch, S source steps, T target steps, K beams, E size of the
encoder, D of the decoder, H heads of keys and values, d size of a head.
"""


class BackboneParts:
    """Base of adapters that call the layers of a KerasHub encoder-decoder.

    Args:
        backbone: The backbone.

    Attributes:
        special_ids: The rows of PAD, UNK, BOS and EOS in the backbone's table.
        target_start: Special token of its tokenizer that begins a target:
            `"start"`, `"end"` or `"pad"`.
        lora_layers: Names of the layers that LoRA adapts.
        feature_scale: Factor of the features before the output layer.
        logit_cap: Soft cap of the logits, `cap * tanh(logits / cap)`, or
            `None`.
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
        """The embedding of the source tokens."""
        return self.backbone.token_embedding

    @property
    def target_table(self):
        """The embedding of the target tokens, and the output layer."""
        return self.backbone.token_embedding

    @property
    def hidden_dim(self):
        """D."""
        return self.backbone.hidden_dim

    @property
    def num_heads(self):
        """Number of heads of the decoder's queries."""
        return self.backbone.num_heads

    @property
    def encoder_layers(self):
        """The layers that `encode` calls, in order."""
        raise NotImplementedError

    @property
    def decoder_layers(self):
        """The layers that `decode` calls, in order."""
        raise NotImplementedError

    def encode(self, words, mask, training=False):
        """Computes the annotations of a source.

        Args:
            words: Embedded tokens, `(B, S, E)`.
            mask: Boolean, `(B, S)`.
            training: Whether to apply dropout.

        Returns:
            `(B, S, E)`.
        """
        raise NotImplementedError

    def decode(self, words, annotations, mask, training=False):
        """Computes the decoder's output at all steps of a target.

        Args:
            words: Embeddings of the previous tokens, `(B, T, D)`.
            annotations: From `encode`.
            mask: Boolean, `(B, S)`.
            training: Whether to apply dropout.

        Returns:
            `(B, T, D)`.
        """
        raise NotImplementedError

    def source_caches(self, annotations):
        """Computes the keys and values of the source for each cross-attention.

        Returns:
            Dict from the name of a block to a dict of `keys` and `values`,
            `(B, H, S, d)`.
        """
        raise NotImplementedError

    def step(self, words, mask, caches, history):
        """Computes the decoder's output at a step of a search.

        Args:
            words: Embeddings of the previous tokens of K beams, `(B, K, D)`.
            mask: Boolean, `(B, S)`.
            caches: From `source_caches`.
            history: `History` of the self-attentions' keys and values.

        Returns:
            `(x, rows)`: `(B, K, D)`, and all keys and values, including this
            step.
        """
        raise NotImplementedError
