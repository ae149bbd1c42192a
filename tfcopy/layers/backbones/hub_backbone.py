"""Embedding, encoder and decoder cell made of a pretrained KerasHub network.

Shapes: B batch, T tokens or target steps, S source steps, K beams, D hidden
size, V vocabulary, M rows of the network's table, N rows of features, C
candidates.
"""

import keras
import numpy as np
from keras import ops

from tfcopy.keras_internals import all_layers, keep_own_policy, serialize_shared
from tfcopy.layers.backbones.bart_parts import BartParts, MarianParts
from tfcopy.layers.backbones.causal_parts import (
    GemmaParts,
    Gpt2Parts,
    Llama3Parts,
    LlamaParts,
    OptParts,
    Phi3Parts,
    Qwen3Parts,
    QwenParts,
)
from tfcopy.layers.backbones.t5_parts import T5Parts
from tfcopy.layers.backbones.t5gemma_parts import T5Gemma2Parts, T5GemmaParts
from tfcopy.layers.cells.decoder_cell import HistoryCell
from tfcopy.layers.configured import Configured, Unmasked
from tfcopy.layers.loop import first_history
from tfcopy.layers.tensors import or_all, take

_KINDS = {
    "BartBackbone": BartParts,
    "T5Backbone": T5Parts,
    "T5GemmaBackbone": T5GemmaParts,
    "T5Gemma2Backbone": T5Gemma2Parts,
    "MarianBackbone": MarianParts,
    "GPT2Backbone": Gpt2Parts,
    "GemmaBackbone": GemmaParts,
    "Gemma3Backbone": GemmaParts,
    "LlamaBackbone": LlamaParts,
    "Llama3Backbone": Llama3Parts,
    "MistralBackbone": LlamaParts,
    "OPTBackbone": OptParts,
    "Phi3Backbone": Phi3Parts,
    "QwenBackbone": QwenParts,
    "Qwen3Backbone": Qwen3Parts,
}


# A logit with probability 0 in float32, but of moderate size, so that sums over
# the vocabulary keep their precision.
_NEVER = -1e3


def parts_of(backbone):
    """Returns the `BackboneParts` of a backbone.

    Raises:
        ValueError: If backbones of its class are not supported.
    """
    for kind in type(backbone).__mro__:
        if kind.__name__ in _KINDS:
            return _KINDS[kind.__name__](backbone)
    raise ValueError(
        f"`backbone` must be one of {', '.join(_KINDS)}. "
        f"Received: {type(backbone).__name__}."
    )


def columns(x, places):
    """Gathers columns of a tensor, `(..., M)` to `(..., V)`.

    Args:
        x: Tensor.
        places: Indices, `(V,)`, mostly consecutive.
    """
    # A few slices, since a gather of all columns takes many times as long.
    starts = np.flatnonzero(np.diff(places, prepend=-2) != 1)
    ends = [*starts[1:], len(places)]
    parts = [
        x[..., places[start] : places[end - 1] + 1]
        for start, end in zip(starts, ends)
    ]
    return ops.concatenate(parts, axis=-1)


class OfBackbone(Configured):
    """Mixin of layers that consist of some layers of a backbone, their `parts`.

    The config contains the whole backbone, which several such layers of a model
    share. Each layer of the backbone is a sublayer of only one of them.
    """

    def get_config(self):
        backbone = serialize_backbone(self.parts.backbone)
        return {**super().get_config(), "backbone": backbone}

    @classmethod
    def from_config(cls, config):
        backbone = deserialize_backbone(config["backbone"])
        return super().from_config({**config, "backbone": backbone})


def serialize_backbone(backbone):
    """Returns the config of a backbone, with settings that its own one lacks.

    These are LoRA, without which a loaded backbone lacks weights; the input
    quantizers of quantized layers; and, in KerasHub 0.32, whether a Llama's
    table is tied.
    """
    layers = all_layers(backbone)
    adapted = [x for x in layers if getattr(x, "lora_enabled", False)]
    lora = None
    if adapted:
        names = sorted({layer.name for layer in adapted})
        lora = {"rank": adapted[0].lora_rank, "target_layer_names": names}
    config = serialize_shared(backbone)
    if hasattr(backbone, "tie_word_embeddings"):
        tied = {"tie_word_embeddings": backbone.tie_word_embeddings}
        config["config"] = {**config["config"], **tied}
    quantizers = {
        x.path: keras.saving.serialize_keras_object(x.inputs_quantizer)
        for x in layers
        if hasattr(x, "inputs_quantizer")
    }
    return {"backbone": config, "lora": lora, "quantizers": quantizers}


def deserialize_backbone(config):
    """Builds the backbone from the result of `serialize_backbone`."""
    # Imported late, since it takes a second; these register the classes.
    import keras_hub  # noqa: F401

    from tfcopy.layers.backbones import marian_backbone  # noqa: F401

    backbone = keras.saving.deserialize_keras_object(config["backbone"])
    # Another layer of the model may share the backbone, with LoRA enabled.
    if config["lora"] and not serialize_backbone(backbone)["lora"]:
        backbone.enable_lora(**config["lora"])
    for layer in all_layers(backbone):
        keep_own_policy(layer)
        if layer.path in config["quantizers"]:
            layer.inputs_quantizer = keras.saving.deserialize_keras_object(
                config["quantizers"][layer.path]
            )
    return backbone


@keras.saving.register_keras_serializable(package="tfcopy")
class BackboneEmbedding(OfBackbone, keras.layers.Layer):
    """Embedding and output layer that use the table of a backbone.

    Vocabularies of this package begin with PAD, UNK, BOS and EOS. These have
    the rows `special_ids` of the backbone's table; several may share a row. All
    other rows follow in their order. If a backbone has two tables, the table of
    the target is the output layer.

    Args:
        backbone: A backbone of KerasHub.
        vocabulary_size: V; by default all rows of the table are used.
        special_ids: The rows of PAD, UNK, BOS and EOS; by default as in the
            backbone's published vocabularies.
        side: The table to use, `"source"` or `"target"`.

    Call arguments:
        ids: Ids of this package's vocabulary, `(B, T)`.

    Returns:
        `(B, T, D)`, float32.
    """

    def __init__(
        self,
        backbone,
        vocabulary_size=None,
        special_ids=None,
        side="target",
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals(), "backbone")
        self.parts = parts_of(backbone)
        self.table = getattr(self.parts, f"{side}_table")
        self.special_ids = tuple(special_ids or self.parts.special_ids)
        size = self.table.input_dim
        others = np.setdiff1d(np.arange(size), self.special_ids)
        # Row of the table for each id.
        self.rows = np.concatenate([self.special_ids, others]).astype("int32")
        self.vocabulary_size = vocabulary_size or len(self.rows)
        if self.vocabulary_size > len(self.rows):
            raise ValueError(
                f"`vocabulary_size` must be at most {len(self.rows)}: the "
                f"backbone's table has {size} rows. Received: "
                f"vocabulary_size={vocabulary_size}."
            )
        self.rows = self.rows[: self.vocabulary_size]
        self.output_dim = self.table.output_dim

    def build(self, ids_shape):
        """Builds nothing: the table belongs to the backbone."""

    def call(self, ids):
        vectors = self.table(take(ops.convert_to_tensor(self.rows), ids))
        return ops.cast(vectors, "float32")

    def compute_output_spec(self, ids):
        return keras.KerasTensor((*ids.shape, self.output_dim), "float32")

    @property
    def shared_row_bias(self):
        """Bias `(V,)` that prevents tokens whose row a later token has, too.

        It is very low for these tokens, and 0 for all others.
        """
        _, last = np.unique(self.rows[::-1], return_index=True)
        bias = np.full(self.rows.shape, _NEVER, "float32")
        bias[len(self.rows) - 1 - last] = 0.0
        return bias

    @property
    def embeddings(self):
        """The vectors of the vocabulary, `(V, D)`."""
        return take(self.table.embeddings, ops.convert_to_tensor(self.rows))

    def logits(self, features, candidate_ids=None):
        """Computes the logits of the vocabulary, without a bias.

        Args:
            features: `(N, D)`.
            candidate_ids: Optional `(C,)`: only these tokens get a logit.

        Returns:
            `(N, V)`, or `(N, C)`.
        """
        product = self._products(
            features * self.parts.feature_scale, candidate_ids
        )
        cap = self.parts.logit_cap
        return product if cap is None else ops.tanh(product / cap) * cap

    def _products(self, features, candidate_ids):
        """Multiplies features by the rows of the vocabulary."""
        if self.table.quantization_mode:
            product = columns(self.table(features, reverse=True), self.rows)
            if candidate_ids is not None:
                product = take(product, candidate_ids, axis=1)
            return product
        tied = self.table.tie_weights
        # Inside another layer, the table's `call` would multiply in float32.
        kernel = ops.cast(
            self.table.embeddings if tied else self.table.reverse_embeddings,
            features.dtype,
        )
        if candidate_ids is not None:
            rows = take(ops.convert_to_tensor(self.rows), candidate_ids)
            kernel = take(kernel, rows, axis=0 if tied else 1)
        kernel = ops.transpose(kernel) if tied else kernel
        product = ops.matmul(features, kernel)
        if candidate_ids is not None:
            return product
        return columns(product, self.rows)


@keras.saving.register_keras_serializable(package="tfcopy")
class BackboneEncoder(OfBackbone, Unmasked):
    """Encoder that uses the encoder of a KerasHub backbone.

    Args:
        backbone: The backbone.

    Call arguments:
        inputs: Embedded tokens, `(B, S, D)`.
        mask: Boolean, `(B, S)`.

    Returns:
        `(annotations, first)`: `(B, S, D)`, float32, and the annotation of the
        first token, `(B, D)`.
    """

    def __init__(self, backbone, **kwargs):
        super().__init__(**kwargs)
        self.parts = parts_of(backbone)
        self.encoder_layers = self.parts.encoder_layers

    def build(self, inputs_shape, mask_shape=None):
        """Builds nothing: the layers belong to the backbone."""

    def call(self, inputs, mask, training=False):
        annotations = self.parts.encode(inputs, mask, training)
        annotations = ops.cast(annotations, "float32")
        return annotations, annotations[:, 0]

    def compute_output_spec(self, inputs, mask, training=False):
        batch, length, size = inputs.shape
        return (
            keras.KerasTensor((batch, length, size), "float32"),
            keras.KerasTensor((batch, size), "float32"),
        )


@keras.saving.register_keras_serializable(package="tfcopy")
class BackboneCell(OfBackbone, HistoryCell):
    """Decoder cell with the decoder of a KerasHub backbone, and an attention.

    The decoder's output, `hidden`, is the query of a separate attention, whose
    weights copying heads point with. As in `TransformerCell`, training runs all
    steps at once, and a search keeps the keys and values of the blocks'
    attentions in a `History`.

    Args:
        backbone: The backbone.
        attention: The attention that points, such as `MultiHeadAttention`;
            not `PlanAttention`.
        start: Row of the backbone's table for a token before BOS, which the
            decoder reads, but nothing predicts; `None` for none.
    """

    def __init__(self, backbone, attention, start=None, **kwargs):
        parts = parts_of(backbone)
        super().__init__(parts.hidden_dim, attention, **kwargs)
        self.keep_arguments(locals(), "backbone", "parts")
        self.parts = parts
        self.decoder_layers = self.parts.decoder_layers

    def build(self, inputs_shape, annotations_shape):
        self._build_attention(inputs_shape, annotations_shape, self.units)

    def _project(self, inputs, matches):
        """Casts the tokens to float32; see `DecoderCell.project`."""
        return ops.cast(inputs, "float32")

    def prepare(self, annotations, mask=None):
        """Prepares the `Memory` that all steps share."""
        mask = or_all(mask, annotations)
        return self._prepare(
            annotations, mask, {}, {"annotations": annotations, "mask": mask}
        )

    def prepare_search(self, annotations, mask):
        """Prepares the memory of a search, with caches of cross-attentions."""
        memory = self.prepare(annotations, mask)
        caches = self.parts.source_caches(annotations)
        memory = memory.update({"caches": caches, "start": {}})
        if self.start is None:
            return memory
        start, history = self._embed_start(mask), first_history(caches)
        _, rows = self._one_step(start, memory, history.add_beams(1))
        return memory.update({"start": rows})

    def _embed_start(self, mask):
        row = ops.full_like(mask[:, :1], self.start, dtype="int32")
        return ops.cast(self.parts.target_table(row), "float32")

    def _get_row_template(self, memory):
        return memory.sentences["caches"]

    def _all_steps(self, words, memory, training):
        sentences = memory.sentences
        has_start = self.start is not None
        if has_start:
            start = self._embed_start(sentences["mask"])
            words = ops.concatenate([start, words], axis=1)
        hidden = self.parts.decode(
            words, sentences["annotations"], sentences["mask"], training
        )
        return ops.cast(hidden[:, int(has_start) :], "float32")

    def _one_step(self, words, memory, history):
        sentences = memory.sentences
        # Some networks take none.
        start = [sentences["start"]] if sentences["start"] else []
        hidden, rows = self.parts.step(
            words, sentences["mask"], sentences["caches"], history, *start
        )
        return ops.cast(hidden, "float32"), rows

    def get_config(self):
        config = super().get_config()
        del config["units"], config["kernel_initializer"]
        return config
