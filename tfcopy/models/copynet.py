"""CopyNet and its two baselines."""

import keras

from tfcopy.layers import (
    AttentionalGRUCell,
    BahdanauAttention,
    BidirectionalGRU,
    CoverageAttention,
    FinalContext,
    PositionOneHot,
    Readout,
    SelectiveReadGRUCell,
    StateReduction,
)
from tfcopy.models.embedding import make_embedding
from tfcopy.models.head_choice import make_head
from tfcopy.models.seq2seq import Seq2Seq

SYSTEMS = ("enc_dec", "rnnsearch", "copynet")


def copynet(
    source_vocabulary_size,
    target_vocabulary_size,
    *,
    system="copynet",
    head=None,
    embedding_dim=150,
    units=300,
    attention_units=None,
    position_one_hot=0,
    coverage=False,
    deep_readout=False,
    dropout=0.0,
    initializers="keras",
    seed=None,
    source_embedding=None,
    **head_options,
):
    """A bidirectional GRU, and a GRU decoder of one of three kinds.

    Args:
        source_vocabulary_size: Positive integer.
        target_vocabulary_size: Positive integer, V.
        system: `"copynet"` (attentive and selective read, copying),
            `"rnnsearch"` (attention alone) or `"enc_dec"` (the encoder's last
            states are the only context).
        head: Name of a head, or a head layer; the system's own if `None`.
        embedding_dim: Size of the embeddings of both sides.
        units: Size of all GRUs, of one direction in the encoder.
        attention_units: Hidden size of the attention; `units` if `None`.
        position_one_hot: Number of positions that a one-hot vector in CopyNet's
            annotations distinguishes; 57 in the authors' synthetic task, 0 in
            the paper.
        coverage: Whether attention sees each position's coverage, as one
            number, as in the authors' code; not in the paper.
        deep_readout: Whether logits also have linear terms of context and
            last word, as in the authors' code.
        dropout: Dropout rate of the embeddings and of the readout.
        initializers: `"keras"` (Glorot, orthogonal, embeddings of deviation
            1) or `"authors"` (orthogonal times 1.1, embeddings uniform within
            0.1).
        seed: Optional integer, of the dropout.
        source_embedding: Optional layer from ids `(B, S)` to `(B, S, E)`
            instead of the source's table, such as a `DefinitionEmbedding`.
        head_options: Passed to the head if it is a name.

    Returns:
        A `Seq2Seq`. If both vocabularies have 1,003 words, the defaults give
        3,531,103, 2,811,103 and 2,540,803 parameters.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 3;
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473) for
        `"rnnsearch"`.
    """
    if system not in SYSTEMS:
        raise ValueError(
            f"`system` must be one of {SYSTEMS}. Received: system={system!r}."
        )
    if initializers == "keras":
        recurrent = "orthogonal"
        # Keras's default is so small that attention learns late.
        embedding = keras.initializers.RandomNormal(stddev=1.0)
    elif initializers == "authors":
        recurrent = keras.initializers.Orthogonal(gain=1.1)
        embedding = keras.initializers.RandomUniform(-0.1, 0.1)
    else:
        raise ValueError(
            "`initializers` must be 'keras' or 'authors'. "
            f"Received: initializers={initializers!r}."
        )
    encoder = BidirectionalGRU(
        units,
        recurrent_initializer=recurrent,
        reset_after=False,
        name="encoder",
    )
    if position_one_hot and system == "copynet":
        encoder = PositionOneHot(
            encoder, position_one_hot, name="position_one_hot"
        )
    attention_units = attention_units or units
    if system == "enc_dec":
        attention = FinalContext(name="final_context")
    elif coverage:
        attention = CoverageAttention(
            attention_units, feature="scalar", name="attention"
        )
    else:
        attention = BahdanauAttention(attention_units, name="attention")
    selective = system == "copynet"
    cell = SelectiveReadGRUCell if selective else AttentionalGRUCell
    parts = ("hidden", "context", "inputs") if deep_readout else ("hidden",)

    def embed(size, name):
        return make_embedding(size, embedding_dim, embedding, name)

    return Seq2Seq(
        source_embedding=source_embedding
        or embed(source_vocabulary_size, "source_embedding"),
        encoder=encoder,
        initial_state=StateReduction(
            units, parts=1, activation="tanh", name="initial_state"
        ),
        target_embedding=embed(target_vocabulary_size, "target_embedding"),
        cell=cell(
            units, attention, recurrent_initializer=recurrent, name="cell"
        ),
        deep_output=Readout(parts, dropout, seed, name="readout"),
        head=make_head(
            head or ("copynet" if selective else "softmax"),
            target_vocabulary_size,
            **head_options,
        ),
        dropout=dropout,
        seed=seed,
    )
