"""The pointer-generator network, with or without coverage, with any head."""

import keras

from tfcopy.layers import (
    BahdanauAttention,
    BidirectionalLSTM,
    CoverageAttention,
    InputFeedingLSTMCell,
    OutputProjection,
    StateReduction,
)
from tfcopy.models.embedding import make_embedding
from tfcopy.models.head_choice import make_head
from tfcopy.models.seq2seq import Seq2Seq


def pointer_generator(
    vocabulary_size,
    *,
    head="pointer_generator",
    coverage=False,
    coverage_enabled=True,
    embedding_dim=128,
    units=256,
    attention_units=None,
    output_units=None,
    dropout=0.0,
    initializers="keras",
    decode_initial_attention=False,
    seed=None,
    source_embedding=None,
    **head_options,
):
    """Bidirectional LSTM, input-feeding LSTM decoder, one embedding table.

    Args:
        vocabulary_size: Positive integer, V, of both sides.
        head: `"pointer_generator"`, `"softmax"` (the paper's baseline),
            `"pointer_softmax"`, or a head layer.
        coverage: Whether attention sees where it has looked before.
        coverage_enabled: Whether coverage is on from the start. If not,
            `cell.attention.enable()` switches it on, as in the paper's second
            phase.
        embedding_dim: Size of the embeddings, and of the inputs of the
            decoder's LSTM.
        units: Size of the LSTMs, of one direction in the encoder.
        attention_units: Hidden size of the attention; twice `units` if
            `None`.
        output_units: Width of the output projection; `units` if `None`.
        dropout: Dropout rate of the embeddings and of the output projection; 0
            in the paper.
        initializers: `"keras"` (Glorot, orthogonal, embeddings of deviation
            1) or `"paper"` (the authors': LSTMs uniform within 0.02;
            embeddings, state reduction and output layer normal of deviation
            1e-4; else Glorot).
        decode_initial_attention: Whether search attends once before its first
            step, as the authors' decoder does and their training does not.
        seed: Optional integer, of dropout and noise.
        source_embedding: Optional layer from ids `(B, S)` to `(B, S, E)`
            instead of the table of both sides, such as a `DefinitionEmbedding`.
            Target words have no definitions; copied ones are zeros if it
            combines by `"bands"` or `"replace"`.
        head_options: Passed to the head if it is a name.

    Returns:
        A `Seq2Seq`. With the defaults and V = 50,000 it has the paper's
        21,500,753 parameters, with coverage 512 more.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 2.
    """
    output_units = output_units or units
    if initializers == "keras":
        lstm, recurrent = "glorot_uniform", "orthogonal"
        small = "glorot_uniform"
        bias = "zeros"
        # Keras's default is so small that attention learns late.
        embedding = keras.initializers.RandomNormal(stddev=1.0)
    elif initializers == "paper":
        lstm = recurrent = keras.initializers.RandomUniform(-0.02, 0.02)
        small = keras.initializers.TruncatedNormal(stddev=1e-4)
        bias = embedding = small
    else:
        raise ValueError(
            "`initializers` must be 'keras' or 'paper'. "
            f"Received: initializers={initializers!r}."
        )
    if head == "pointer_softmax":
        head_options = {"seed": seed, **head_options}
    options = {"use_bias": True, "use_score_bias": False, "name": "attention"}
    attention_units = attention_units or 2 * units
    if coverage:
        attention = CoverageAttention(
            attention_units, enabled=coverage_enabled, **options
        )
    else:
        attention = BahdanauAttention(attention_units, **options)
    embedding = source_embedding or make_embedding(
        vocabulary_size, embedding_dim, embedding, "embedding"
    )
    return Seq2Seq(
        source_embedding=embedding,
        encoder=BidirectionalLSTM(units, lstm, recurrent, name="encoder"),
        initial_state=StateReduction(
            units,
            kernel_initializer=small,
            bias_initializer=bias,
            name="initial_state",
        ),
        target_embedding=embedding,
        cell=InputFeedingLSTMCell(
            units,
            attention,
            input_units=embedding_dim,
            kernel_initializer=lstm,
            recurrent_initializer=recurrent,
            decode_initial_attention=decode_initial_attention,
            name="cell",
        ),
        deep_output=OutputProjection(
            output_units, dropout, seed=seed, name="output_projection"
        ),
        head=make_head(
            head, vocabulary_size, kernel_initializer=small, **head_options
        ),
        dropout=dropout,
        seed=seed,
    )
