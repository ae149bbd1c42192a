"""Adapters of KerasHub's decoder-only networks: prompt and continuation.

The source is the prompt: the network reads it from left to right, and its
hidden states are the annotations. The positions of a target continue those of
its prompt without the padding: token t has the position of the prompt's length
plus t. The network thus computes the same as for prompt and target in a single
sequence, `[BOS, source, BOS, target]`.

KerasHub's blocks support only consecutive positions that are the same for all
rows of a batch. These adapters call the layers inside the blocks.

Shapes: B batch, S tokens of the prompt, T target steps, K beams, N tokens of a
call, M rows that they may attend to, D hidden size, H heads of queries, G heads
of keys and values, d size of a head, R rows that the beams have appended.
"""

import math

import keras
from keras import ops

from tfcopy.keras_internals import own_layers
from tfcopy.layers.backbones.backbone_parts import (
    BackboneParts,
    attend,
    to_heads,
)


class CausalParts(BackboneParts):
    """Base of adapters of decoder-only networks.

    A subclass has `_block`. Keys and values of a block are a dict of `keys` and
    `values`, `(B, G, N, d)`.

    Args:
        backbone: The backbone.
    """

    # Names of layers in an attention. `rotation` rotates queries and keys;
    # `query_{norm}` and `key_{norm}` normalise them before that.
    rotation = norm = ""

    @property
    def logit_cap(self):
        table = self.backbone.token_embedding
        # A quantized table caps its products itself.
        return None if table.quantization_mode else table.logit_soft_cap

    @property
    def num_heads(self):
        return self.backbone.num_query_heads

    @property
    def decoder_layers(self):
        """The layers that both `encode` and `decode` call."""
        return [*self.backbone.transformer_layers, self.backbone.layer_norm]

    @property
    def encoder_layers(self):
        """The same as `decoder_layers`."""
        return self.decoder_layers

    def row_shapes(self, batch, length):
        """Returns the shape of each block's keys and values, by its name."""
        size = self.backbone.hidden_dim
        shapes = {}
        for block in self.backbone.transformer_layers:
            dense = own_layers(_attention(block)).key_dense
            shape = dense.compute_output_shape((batch, length, size))
            shapes[block.name] = (batch, shape[2], length, shape[3])
        return shapes

    def encode(self, words, mask, training=False):
        """Encodes a prompt.

        Args:
            words: Embedded tokens, `(B, S, D)`.
            mask: Boolean, `(B, S)`.
            training: Whether to apply dropout.

        Returns:
            `(annotations, prompt)`: `(B, S, D)`, and the keys and values of
            each block, by its name.
        """
        places = _places(mask)
        earlier = ops.expand_dims(places, 2) >= ops.expand_dims(places, 1)
        visible = earlier & ops.expand_dims(mask, 1)
        annotations, rows = self._run(
            words, places, visible, places, lambda name, new: [new], training
        )
        return annotations, {name: new for name, (new,) in rows.items()}

    def decode(self, words, mask, prompt, training=False):
        """Computes the output at all steps of a target.

        Args:
            words: Embeddings of the previous tokens, `(B, T, D)`.
            mask: Boolean, `(B, S)`.
            prompt: From `encode`.
            training: Whether to apply dropout.

        Returns:
            `(B, T, D)`.
        """
        steps = ops.arange(ops.shape(words)[1], dtype="int32")
        earlier = ops.expand_dims(steps, 1) >= steps  # (T, T)
        hidden, _ = self._run(
            words,
            _length(mask) + steps,
            _join_masks(mask, ops.expand_dims(earlier, 0)),
            _row_places(mask, steps),
            lambda name, new: [prompt[name], new],
            training,
        )
        return hidden

    def step(self, words, mask, history):
        """Computes the output at a step of a search.

        Args:
            words: Embeddings of the previous tokens of K beams, `(B, K, D)`.
            mask: Boolean, `(B, S)`.
            history: `History` of the keys and values of earlier tokens; its
                `prompt` is from `encode`.

        Returns:
            `(x, rows)`: `(B, K, D)`, and all keys and values, including this
            step.
        """
        own = history.visible()
        # Each step appended one row per beam.
        steps = ops.arange(ops.shape(own)[2], dtype="int32") // own.shape[1]
        hidden, rows = self._run(
            words,
            _length(mask) + history.steps,
            _join_masks(mask, own),
            _row_places(mask, steps),
            lambda name, new: [
                history.prompt[name],
                history.add(history.rows[name], new),
            ],
        )
        return hidden, {name: written for name, (_, written) in rows.items()}

    def _run(self, words, places, visible, row_places, join, training=False):
        """Runs the network for some tokens of each sentence.

        Args:
            words: Embedded tokens, `(B, N, D)`.
            places: Positions of the tokens, `(B, N or 1)`.
            visible: Boolean, `(B, N, M)`, the rows that each attends to.
            row_places: Positions of the rows, `(B, M)`.
            join: Function from a block's name and the keys and values of these
                tokens to a list of keys and values; concatenated they are the M
                rows.
            training: Whether to apply dropout.

        Returns:
            `(hidden, rows)`: `(B, N, D)`, and the results of `join`, by name.
        """
        dtype = self.backbone.token_embedding.compute_dtype
        x = self._begin(ops.cast(words, dtype), places, training)
        back = ops.expand_dims(places, 2) - ops.expand_dims(row_places, 1)
        rows = {}
        for block in self.backbone.transformer_layers:
            layers = own_layers(_attention(block))
            window = _window(block)
            seen = visible
            if window is not None:
                seen = visible & (back < window)

            def read(x, name=block.name, layers=layers, seen=seen):
                queries, keys = (
                    self._project_heads(layers, side, x, places)
                    for side in ("query", "key")
                )
                new = {"keys": keys, "values": layers.value_dense(x)}
                new = {part: to_heads(x) for part, x in new.items()}
                rows[name] = join(name, new)
                found = attend(
                    to_heads(queries),
                    rows[name],
                    seen,
                    soft_cap=self._soft_cap,
                    drop=lambda x: layers.dropout_layer(x, training=training),
                )
                return layers.output_dense(to_heads(found))

            x = self._block(block, own_layers(block), x, read, training)
        return self.backbone.layer_norm(x), rows

    @property
    def _soft_cap(self):
        """The soft cap of the attention scores, or `None`."""
        return getattr(self.backbone, "attention_logit_soft_cap", None)

    def _begin(self, words, places, training):
        """Returns the inputs of the first block, `(B, N, D)`."""
        return words

    def _project_heads(self, attention, side, x, places):
        """Computes queries `(B, N, H, d)` or keys `(B, N, G, d)`."""
        x = getattr(attention, f"{side}_dense")(x)
        norm = getattr(attention, f"{side}_{self.norm}", None)
        if norm is not None:
            x = norm(x)
        rotate = getattr(attention, self.rotation, None)
        return x if rotate is None else rotate(x, positions=places)

    def _block(self, block, layers, x, attend, training):
        """Computes a block's output, `(B, N, D)`.

        Args:
            block: The block.
            layers: Its `own_layers`.
            x: `(B, N, D)`.
            attend: Function that applies its self-attention.
            training: Whether to apply dropout.
        """
        raise NotImplementedError


class Gpt2Parts(CausalParts):
    """Adapter of a `keras_hub.models.GPT2Backbone`."""

    @property
    def num_heads(self):
        return self.backbone.num_heads

    @property
    def special_ids(self):
        # The only special token is `<|endoftext|>`, with the last id.
        return (self.backbone.vocabulary_size - 1,) * 4

    @property
    def decoder_layers(self):
        return [*self._first_layers, *super().decoder_layers]

    @property
    def _first_layers(self):
        """The embedding of positions, and the layers after it."""
        backbone = self.backbone
        return [backbone.position_embedding, backbone.embeddings_dropout]

    def _begin(self, words, places, training):
        table, *others = self._first_layers
        # Positions beyond the table get the vector of its last one.
        places = ops.minimum(places, self.backbone.max_sequence_length - 1)
        x = words + table(words, positions=places)
        for layer in others:
            x = layer(x, training=training)
        return x

    def _block(self, block, layers, x, attend, training):
        y = attend(layers.self_attention_layer_norm(x))
        x = x + layers.self_attention_dropout(y, training=training)
        y = layers.feedforward_layer_norm(x)
        y = layers.feedforward_intermediate_dense(y)
        y = layers.feedforward_output_dense(y)
        return x + layers.feedforward_dropout(y, training=training)


class OptParts(Gpt2Parts):
    """Adapter of a `keras_hub.models.OPTBackbone`."""

    special_ids = (1, 3, 2, 2)

    @property
    def _first_layers(self):
        return [self.backbone.embeddings.position_embedding]


class LlamaParts(CausalParts):
    """Adapter of Llama's and Mistral's backbones."""

    special_ids = (2, 0, 1, 2)
    rotation = "rotary_embedding_layer"
    norm = "dense_layer_norm"  # in Qwen 3

    def _block(self, block, layers, x, attend, training):
        y = attend(layers.self_attention_layernorm(x))
        x = x + layers.self_attention_dropout(y, training=training)
        y = layers.feedforward_layernorm(x)
        gate = ops.cast(layers.feedforward_gate_dense(y), "float32")
        gate = ops.cast(block.activation(gate), block.compute_dtype)
        y = layers.feedforward_intermediate_dense(y) * gate
        return x + layers.feedforward_output_dense(y)


class Llama3Parts(LlamaParts):
    """Adapter of a `keras_hub.models.Llama3Backbone`."""

    special_ids = (128_001, 128_001, 128_000, 128_001)


class Phi3Parts(LlamaParts):
    """Adapter of a `keras_hub.models.Phi3Backbone`.

    Raises:
        ValueError: If its rotary positions depend on the length of the text.
    """

    special_ids = (32_000, 0, 1, 32_000)

    def __init__(self, backbone):
        super().__init__(backbone)
        if backbone.rope_scaling_type is not None:
            raise ValueError(
                "`backbone` must have rotary positions that do not depend on "
                "the length of the text. Received: rope_scaling_type="
                f"{backbone.rope_scaling_type!r}."
            )

    def _block(self, block, layers, x, attend, training):
        layers.self_attention_layernorm = layers.pre_attention_layernorm
        layers.self_attention_dropout = layers.attention_dropout
        layers.feedforward_layernorm = layers.post_attention_layernorm
        return super()._block(block, layers, x, attend, training)


class QwenParts(LlamaParts):
    """Adapter of a `keras_hub.models.QwenBackbone`."""

    special_ids = (151_643,) * 4


class Qwen3Parts(LlamaParts):
    """Adapter of a `keras_hub.models.Qwen3Backbone`."""

    special_ids = (151_643, 151_643, 151_645, 151_645)


class GemmaParts(CausalParts):
    """Adapter of the backbones of Gemma 1, 2 and 3.

    Raises:
        ValueError: If the backbone is an embedding model.
    """

    special_ids = (0, 3, 2, 1)
    # Gemma 1 and 2 then interleave the halves of queries and keys, which does
    # not change the scores.
    rotation = "rope_layer"
    norm = "norm"  # in Gemma 3

    def __init__(self, backbone):
        super().__init__(backbone)
        if getattr(backbone, "use_bidirectional_attention", False):
            raise ValueError(
                "`backbone` must be causal, not an embedding model with "
                f"bidirectional attention. Received: {backbone.name}."
            )

    def _begin(self, words, places, training):
        return words * ops.cast(
            math.sqrt(self.backbone.hidden_dim), words.dtype
        )

    def _block(self, block, layers, x, attend, training):
        y = attend(layers.pre_attention_norm(x))
        if block.use_post_attention_norm:
            y = layers.post_attention_norm(y)
        if block.dropout:
            y = layers.attention_dropout(y, training=training)
        x = x + y
        y = layers.pre_ffw_norm(x)
        gate = keras.activations.gelu(layers.gating_ffw(y), approximate=True)
        y = layers.ffw_linear(gate * layers.gating_ffw_2(y))
        if block.use_post_ffw_norm:
            y = layers.post_ffw_norm(y)
        return x + y


def _attention(block):
    """Returns the self-attention of a block."""
    layers = own_layers(block)
    if hasattr(layers, "attention"):
        return layers.attention
    return layers.self_attention_layer


def _window(block):
    """Returns how far back a block attends, or `None` for no limit."""
    size = getattr(block, "sliding_window_size", None)
    size = getattr(block, "sliding_window", size)
    return (
        size if getattr(block, "use_sliding_window_attention", True) else None
    )


def _places(mask):
    """Returns the positions of the tokens of a prompt, `(B, S)`."""
    return ops.cumsum(ops.cast(mask, "int32"), axis=1) - 1


def _length(mask):
    """Returns the number of tokens of a prompt, `(B, 1)`."""
    return ops.sum(ops.cast(mask, "int32"), axis=1, keepdims=True)


def _row_places(mask, steps):
    """Returns the positions of a prompt and of steps after it, `(B, M)`."""
    return ops.concatenate([_places(mask), _length(mask) + steps], axis=1)


def _join_masks(mask, row_mask):
    """Concatenates the masks of a prompt and of rows, `(B or 1, N, R)`."""
    rows = ops.expand_dims(mask, 1)  # (B, 1, S)
    batch, length = ops.shape(mask)
    many, written = ops.shape(row_mask)[1:]
    return ops.concatenate(
        [
            ops.broadcast_to(rows, (batch, many, length)),
            ops.broadcast_to(row_mask, (batch, many, written)),
        ],
        axis=2,
    )
