"""Pointer-generator network, with optional coverage, and with any head."""

import keras

from tfcopy import layers
from tfcopy.layers.configured import check_choice
from tfcopy.models import assembly
from tfcopy.models.seq2seq import Seq2Seq

CHOICES = ("lstm", "transformer")


def pointer_generator(
    vocabulary_size: int,
    *,
    head: str | keras.Layer = "pointer_generator",
    encoder: str = "lstm",
    encoder_layers: int = 2,
    encoder_heads: int = 4,
    decoder: str = "lstm",
    decoder_options: dict | None = None,
    feedforward_units: int | None = None,
    tied: bool = False,
    coverage: bool = False,
    coverage_enabled: bool = True,
    embedding_dim: int = 128,
    units: int = 256,
    attention_units: int | None = None,
    output_units: int | None = None,
    dropout: float = 0.0,
    initializers: str = "keras",
    decode_initial_attention: bool = False,
    seed: int | None = None,
    source_embedding: keras.Layer | None = None,
    **head_options,
) -> Seq2Seq:
    """Builds a pointer-generator network; both sides share an embedding table.

    ```python
    model = models.pointer_generator(9, coverage=True, **sizes)
    distribution = model(batch)  # a `CopyDistribution`
    ```

    Args:
        vocabulary_size: Positive integer, V, of both sides.
        head: A name of `tokens.HEADS`, such as `"softmax"` (the paper's
            baseline), or a head layer.
        encoder: `"lstm"` (bidirectional, as in the paper) or `"transformer"`,
            with annotations of the same size.
        encoder_layers: Blocks of the Transformer.
        encoder_heads: Attention heads of each block.
        decoder: `"lstm"` (with input feeding, as in the paper) or
            `"transformer"`, which takes no first state from the encoder.
        decoder_options: Arguments of `transformer_cell`, for a Transformer.
        feedforward_units: Hidden size of the feed-forward networks of both
            Transformers; four times their size if `None`.
        tied: Whether the output matrix is the target's embedding table,
            transposed.
        coverage: Whether the attention has coverage, the sum of its earlier
            weights.
        coverage_enabled: Whether coverage is on from the start. If not,
            `cell.attention.enable()` switches it on, as in the second phase of
            training in the paper.
        embedding_dim: Size of the embeddings, and of the inputs of the
            decoder's LSTM.
        units: Size of the LSTMs, of one direction in the encoder.
        attention_units: Hidden size of the attention; twice `units` if
            `None`, `units` after a Transformer.
        output_units: Width of the output projection; `units` if `None`, or
            `embedding_dim` if `tied`.
        dropout: Dropout rate of the embeddings, of the output projection, and
            in the blocks of a Transformer; 0 in the paper.
        initializers: `"keras"` (Glorot, orthogonal, embeddings with standard
            deviation 1) or `"paper"` (from the authors' code: LSTMs uniform
            within 0.02; embeddings, state reduction and output layer normal
            with standard deviation 1e-4; otherwise Glorot).
        decode_initial_attention: Whether a search attends once before its first
            step, as in the authors' decoder, but not in their training.
        seed: Optional integer, of dropout and noise.
        source_embedding: Optional layer from ids `(B, S)` to `(B, S, E)`
            instead of the table of both sides, such as a `DefinitionEmbedding`.
            Target words have no definitions. With `combine="bands"` or
            `"replace"`, the embeddings of copied OOV words are thus zeros.
        head_options: Passed to the head if it is a name.

    Returns:
        A `Seq2Seq`. With the defaults and V = 50,000 it has the paper's
        21,500,753 parameters, with coverage 512 more.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 2.
    """
    check_choice("encoder", encoder, CHOICES)
    check_choice("decoder", decoder, CHOICES)
    check_choice("initializers", initializers, ("keras", "paper"))
    output_units = output_units or (embedding_dim if tied else units)
    if initializers == "keras":
        lstm, recurrent, small, embedding = assembly.make_initializers(
            initializers
        )
        bias = "zeros"
    else:
        lstm = recurrent = keras.initializers.RandomUniform(-0.02, 0.02)
        small = keras.initializers.TruncatedNormal(stddev=1e-4)
        bias = embedding = small
    blocks = {"feedforward_units": feedforward_units, "dropout": dropout}
    if decoder == "lstm":
        initial_state = layers.StateReduction(
            units,
            kernel_initializer=small,
            bias_initializer=bias,
            name="initial_state",
        )
        cell = layers.InputFeedingLSTMCell(
            units,
            assembly.make_attention(
                attention_units or 2 * units,
                pointing="additive",
                coverage=coverage,
                coverage_enabled=coverage_enabled,
                use_score_bias=False,
            ),
            input_units=embedding_dim,
            kernel_initializer=lstm,
            recurrent_initializer=recurrent,
            decode_initial_attention=decode_initial_attention,
            name="cell",
        )
    else:
        initial_state = None
        options = {"coverage": coverage, "coverage_enabled": coverage_enabled}
        options |= {"seed": seed, **blocks, **(decoder_options or {})}
        cell = assembly.transformer_cell(units, attention_units, **options)
    embedding = source_embedding or assembly.make_embedding(
        vocabulary_size, embedding_dim, embedding, "embedding", tied
    )
    reader = layers.BidirectionalLSTM(units, lstm, recurrent, name="encoder")
    return Seq2Seq(
        source_embedding=embedding,
        encoder=assembly.make_encoder(
            encoder, reader, encoder_layers, encoder_heads, **blocks
        ),
        initial_state=initial_state,
        target_embedding=embedding,
        cell=cell,
        deep_output=layers.OutputProjection(
            output_units, dropout, seed=seed, name="output_projection"
        ),
        head=assembly.make_head(
            head,
            vocabulary_size,
            {"seed": seed},
            kernel_initializer=small,
            tied=tied,
            **head_options,
        ),
        dropout=dropout,
        seed=seed,
    )
