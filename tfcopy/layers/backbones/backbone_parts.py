"""Parts of a KerasHub network as a copying model calls them: base, attention.

KerasHub's attention layers take keys and values of shape `(B, N, G, d)`, and
transpose them at every call. A search attends to the rows of earlier steps
again and again. Here they are thus stored with the axis of heads first.

Shapes: B batch, S source steps, T target steps, K beams, E size of the
encoder, D of the decoder, N tokens that attend, M rows that they may attend to,
H heads of queries, G heads of keys and values, d size of a head.
"""

import math

from keras import ops

from tfcopy.layers.tensors import masked_softmax


class BackboneParts:
    """Base of adapters that call the layers of a KerasHub encoder-decoder.

    Args:
        backbone: The backbone.

    Attributes:
        special_ids: The rows of PAD, UNK, BOS and EOS in the backbone's table.
        takes_start: Whether `step` also takes `start`, the keys and values of
            a token before the first one, by block.
        target_start: Special token of its tokenizer that begins a target:
            `"start"`, `"end"` or `"pad"`.
        lora_layers: Names of the layers that LoRA adapts.
        feature_scale: Factor of the features before the output layer.
        logit_cap: Soft cap of the logits, `cap * tanh(logits / cap)`, or
            `None`.
    """

    special_ids = None
    takes_start = False
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
            `(B, G, S, d)`.
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


def map_all(dense, x):
    """Applies an einsum-dense layer of KerasHub to all tokens in one product.

    The layer itself multiplies sentence by sentence. In a step of a search, a
    sentence has few rows, and TensorFlow then takes half as long again.

    Args:
        dense: `Dense`, or an `EinsumDense` whose kernel has the axes of the
            inputs, then the axes of the outputs, in order. A quantized layer is
            called as it is.
        x: `(B, N, ...)`.

    Returns:
        `(B, N, ...)`.
    """
    if dense.quantization_mode:
        return dense(x)
    kernel = ops.cast(dense.kernel, dense.compute_dtype)
    inner = len(x.shape) - 2
    size, outer = math.prod(kernel.shape[:inner]), kernel.shape[inner:]
    count = x.shape[1] or ops.shape(x)[1]
    rows = ops.reshape(ops.cast(x, kernel.dtype), (-1, size))
    rows = ops.matmul(rows, ops.reshape(kernel, (size, -1)))
    if dense.bias is not None:
        bias = ops.cast(dense.bias, kernel.dtype)
        rows = ops.add(rows, ops.reshape(bias, (-1,)))
    if dense.activation is not None:
        rows = dense.activation(rows)
    return ops.reshape(rows, (-1, count, *outer))


def to_heads(x):
    """Transposes `(B, N, H, d)` to `(B, H, N, d)`, or back."""
    return ops.transpose(x, (0, 2, 1, 3))


def attend(
    queries, rows, visible, scale=None, soft_cap=None, bias=None, drop=None
):
    """Attends to the rows, for all heads.

    Args:
        queries: `(B, H, N, d)`; several heads share keys and values.
        rows: List of dicts of `keys` and `values`, `(B, G, *, d)`; concatenated
            they are the M rows.
        visible: Boolean, `(B, N or 1, M)`.
        scale: Factor of the scores, by default `1 / sqrt(d)`.
        soft_cap: Soft cap of the scores, or `None`.
        bias: Added to the scores; it broadcasts to `(B, H, N, M)`.
        drop: Function that applies dropout to the weights.

    Returns:
        Tensor of the shape of `queries`.
    """
    _, heads, count, size = ops.shape(queries)
    groups = rows[0]["keys"].shape[1]
    # Heads that share keys and values are adjacent.
    together = (-1, groups, heads // groups * count, size)
    scale = 1 / math.sqrt(size) if scale is None else scale
    queries = ops.reshape(queries * scale, together)
    scores = [
        ops.matmul(queries, ops.transpose(x["keys"], (0, 1, 3, 2)))
        for x in rows
    ]
    scores = ops.concatenate(scores, axis=3) if len(rows) > 1 else scores[0]
    if soft_cap is not None:
        scores = ops.tanh(scores / soft_cap) * soft_cap
    total = ops.shape(scores)[3]
    scores = ops.reshape(scores, (-1, heads, count, total))
    if bias is not None:
        scores = ops.cast(scores, "float32") + ops.cast(bias, "float32")
    weights = masked_softmax(scores, ops.expand_dims(visible, 1), axis=-1)
    weights = ops.cast(weights, queries.dtype)
    weights = weights if drop is None else drop(weights)
    weights = ops.reshape(weights, (*together[:3], total))
    first, read = 0, 0
    for x in rows:
        last = first + ops.shape(x["values"])[2]
        read = read + ops.matmul(weights[..., first:last], x["values"])
        first = last
    return ops.reshape(read, (-1, heads, count, size))
