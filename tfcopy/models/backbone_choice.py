"""Copying on top of a pretrained network of KerasHub."""

from tfcopy import tokens
from tfcopy.layers import Readout
from tfcopy.layers.backbones.causal_parts import CausalParts
from tfcopy.layers.backbones.hub_backbone import (
    BackboneCell,
    BackboneEmbedding,
    BackboneEncoder,
)
from tfcopy.layers.backbones.prompt_layers import PromptCell, PromptEncoder
from tfcopy.models.assembly import make_attention, make_head
from tfcopy.models.seq2seq import Seq2Seq


def from_backbone(
    backbone,
    *,
    head="pointer_generator",
    vocabulary_size=None,
    special_ids=None,
    trainable=None,
    lora_rank=None,
    attention_units=None,
    num_heads=None,
    pointing="heads",
    coverage=False,
    coverage_enabled=True,
    dropout=0.0,
    seed=None,
    **head_options,
):
    """A backbone of KerasHub that points.

    The backbone gives the embeddings, the annotations, the decoder's states
    and the output layer; its own table of words where the two are tied. An
    attention that points and a head are added, and nothing else. The model
    shares its weights with `backbone`, whose `enable_lora` may be called
    before. It takes ids of a vocabulary that `special_ids` describes;
    `tfcopy.data.hub_pieces` makes it of a tokenizer of KerasHub.

    A decoder-only network reads BOS and the source as its prompt, and what it
    points at; BOS and the target follow.

    Args:
        backbone: A `keras_hub.models.BartBackbone`, `T5Backbone`,
            `T5GemmaBackbone`, or `T5Gemma2Backbone` without a vision encoder;
            or a decoder-only one: `GPT2Backbone`, `GemmaBackbone`,
            `Gemma3Backbone`, `LlamaBackbone`, `Llama3Backbone`,
            `MistralBackbone`, `OPTBackbone`, `Phi3Backbone`, `QwenBackbone` or
            `Qwen3Backbone`.
        head: `"pointer_generator"`, `"pointer_softmax"`, `"copynet"`,
            `"softmax"` (the backbone alone), or a head layer that is `tied`.
        vocabulary_size: V; by default all rows of the table have a word.
        special_ids: The rows of PAD, UNK, BOS and EOS in the backbone's
            table; by default those of its published vocabularies.
        trainable: Whether the backbone is trained; `False` freezes it, `None`
            leaves it as it is, partly frozen perhaps, as with LoRA.
        lora_rank: Rank of the matrices that LoRA trains in the backbone's
            queries and values instead of the backbone; `None` for none.
        attention_units: Size of the attention that points; that of the
            decoder's states if `None`.
        num_heads: Heads of that attention; as many as the decoder's if
            `None`.
        pointing: `"heads"` or `"additive"`, as in `transformer_cell`.
        coverage: Whether that attention sees where it has looked before.
        coverage_enabled: Whether coverage is on from the start.
        dropout: Dropout rate of the embeddings and of the features that words
            are predicted from, besides the backbone's own.
        seed: Optional integer, of dropout and noise.
        head_options: Passed to the head if it is a name.

    Returns:
        A `Seq2Seq`.

    Raises:
        ValueError: If it is another backbone, or its table has too few rows.

    Reference:
        [Lewis et al., 2020](https://arxiv.org/abs/1910.13461) for BART;
        [Raffel et al., 2020](https://arxiv.org/abs/1910.10683) for T5;
        [Zhang et al., 2025](https://arxiv.org/abs/2504.06225) for T5Gemma;
        [Zhang et al., 2025](https://arxiv.org/abs/2512.14856) for T5Gemma 2;
        [Hu et al., 2022](https://arxiv.org/abs/2106.09685) for LoRA.
    """
    embedding = BackboneEmbedding(
        backbone, vocabulary_size, special_ids, name="embedding"
    )
    parts, source_embedding = embedding.parts, embedding
    if parts.source_table is not parts.target_table:
        source_embedding = BackboneEmbedding(
            backbone,
            vocabulary_size,
            special_ids,
            side="source",
            name="source_embedding",
        )
    if trainable is not None:
        backbone.trainable = trainable
    if lora_rank is not None:
        backbone.enable_lora(lora_rank, parts.lora_layers)
    attention = make_attention(
        attention_units or parts.hidden_dim,
        num_heads or parts.num_heads,
        pointing,
        coverage,
        coverage_enabled,
    )
    if isinstance(parts, CausalParts):
        start = embedding.special_ids[tokens.BOS]
        encoder = PromptEncoder(backbone, start, name="encoder")
        cell = PromptCell(backbone, attention, name="cell")
    else:
        encoder = BackboneEncoder(backbone, name="encoder")
        cell = BackboneCell(backbone, attention, name="cell")
    return Seq2Seq(
        source_embedding=source_embedding,
        encoder=encoder,
        initial_state=None,
        target_embedding=embedding,
        cell=cell,
        deep_output=Readout(dropout=dropout, seed=seed, name="readout"),
        head=make_head(
            head,
            embedding.vocabulary_size,
            {"seed": seed},
            tied=True,
            **head_options,
        ),
        dropout=dropout,
        seed=seed,
    )
