"""Copying models on top of pretrained KerasHub backbones."""

import keras

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
    backbone: keras.Model,
    *,
    head: str | keras.Layer = "pointer_generator",
    vocabulary_size: int | None = None,
    special_ids: tuple | list | None = None,
    start: int | None = None,
    trainable: bool | None = None,
    lora_rank: int | None = None,
    attention_units: int | None = None,
    num_heads: int | None = None,
    pointing: str = "heads",
    coverage: bool = False,
    coverage_enabled: bool = True,
    dropout: float = 0.0,
    seed: int | None = None,
    **head_options,
) -> Seq2Seq:
    """Builds a copying model from a KerasHub backbone.

    The backbone provides the embeddings, encoder and decoder. Its table is also
    the output layer. Only an attention that points and a head are added. The
    model shares its weights with `backbone`; `backbone.enable_lora` may be
    called before. Its ids belong to a vocabulary whose special tokens have the
    rows `special_ids`; `tfcopy.data.hub_pieces` makes such a vocabulary from a
    KerasHub tokenizer.

    The prompt of a decoder-only network is BOS and the source, which it points
    at. BOS and the target follow.

    ```python
    backbone = keras_hub.models.BartBackbone(**small)
    model = models.from_backbone(backbone, head="pointer_generator")
    distribution = model(batch)
    ```

    Args:
        backbone: A `keras_hub.models.BartBackbone`, `T5Backbone`,
            `T5GemmaBackbone`, or `T5Gemma2Backbone` without a vision encoder;
            a `MarianBackbone` or `M2M100Backbone`; or a decoder-only one:
            `GPT2Backbone`, `GemmaBackbone`, `Gemma3Backbone`, `LlamaBackbone`,
            `Llama3Backbone`, `MistralBackbone`, `OPTBackbone`, `Phi3Backbone`,
            `QwenBackbone` or `Qwen3Backbone`.
        head: A name of `tokens.HEADS`, such as `"softmax"` (the backbone
            alone), or a head layer that is `tied`.
        vocabulary_size: V; by default all rows of the table are used.
        special_ids: The rows of PAD, UNK, BOS and EOS in the backbone's
            table; by default as in its published vocabularies.
        start: Row of a token that the decoder of a BART, Marian or M2M-100
            reads before BOS, such as the end before the language of an
            answer; `None` for none.
        trainable: Whether the backbone is trained; `False` freezes it, `None`
            leaves it unchanged, even if partly frozen, as with LoRA.
        lora_rank: Rank of LoRA's matrices for the backbone's queries and
            values, which are then trained instead of the backbone; `None` for
            no LoRA.
        attention_units: Size of the attention that points; by default the size
            of the decoder's states.
        num_heads: Number of its heads; by default as in the decoder.
        pointing: `"heads"` (the mean of the weights of `num_heads` heads) or
            `"additive"`.
        coverage: Whether this attention has coverage, the sum of its earlier
            weights.
        coverage_enabled: Whether coverage is on from the start.
        dropout: Dropout rate of the embeddings and of the features before the
            output layer, in addition to the backbone's own dropout.
        seed: Optional integer, of dropout and noise.
        head_options: Passed to the head if it is a name.

    Returns:
        A `Seq2Seq`.

    Raises:
        ValueError: If the backbone is not supported, or if its table has too
            few rows.

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
    if start is not None and not parts.takes_start:
        raise ValueError(f"{type(backbone).__name__} takes no `start`.")
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
        first = embedding.special_ids[tokens.BOS]
        encoder = PromptEncoder(backbone, first, name="encoder")
        cell = PromptCell(backbone, attention, name="cell")
    else:
        encoder = BackboneEncoder(backbone, name="encoder")
        cell = BackboneCell(backbone, attention, start, name="cell")
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
