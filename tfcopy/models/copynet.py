"""CopyNet and its two baselines."""

import keras

from tfcopy import layers
from tfcopy.layers.configured import check_choice
from tfcopy.models import assembly
from tfcopy.models.seq2seq import Seq2Seq

SYSTEMS = ("enc_dec", "rnnsearch", "copynet")
CHOICES = ("gru", "transformer")


def copynet(
    source_vocabulary_size: int,
    target_vocabulary_size: int,
    *,
    system: str = "copynet",
    head: str | keras.Layer | None = None,
    encoder: str = "gru",
    encoder_layers: int = 2,
    encoder_heads: int = 4,
    decoder: str = "gru",
    decoder_options: dict | None = None,
    feedforward_units: int | None = None,
    tied: bool = False,
    embedding_dim: int = 150,
    units: int = 300,
    attention_units: int | None = None,
    position_one_hot: int = 0,
    coverage: bool = False,
    deep_readout: bool = False,
    dropout: float = 0.0,
    initializers: str = "keras",
    seed: int | None = None,
    source_embedding: keras.Layer | None = None,
    **head_options,
) -> Seq2Seq:
    """Builds CopyNet, or one of its two baselines.

    ```python
    model = models.copynet(9, 9, **sizes)
    distribution = model(batch)  # a `CopyDistribution`
    ```

    Args:
        source_vocabulary_size: Positive integer.
        target_vocabulary_size: Positive integer, V.
        system: `"copynet"` (attentive and selective read, copying),
            `"rnnsearch"` (only attention) or `"enc_dec"` (the encoder's last
            states are the only context).
        head: A name of `tokens.HEADS`, or a head layer; by default as in the
            paper.
        encoder: `"gru"` (bidirectional, as in the paper) or `"transformer"`,
            with annotations of the same size.
        encoder_layers: Blocks of the Transformer.
        encoder_heads: Attention heads of each block.
        decoder: `"gru"` (as in the paper) or `"transformer"`, which takes no
            first state from the encoder. A linear layer projects the hidden
            state and context of a Transformer for the logits.
        decoder_options: Arguments of `transformer_cell`, for a Transformer.
        feedforward_units: Hidden size of the feed-forward networks of both
            Transformers; four times their size if `None`.
        tied: Whether the output matrix is the target's embedding table,
            transposed.
        embedding_dim: Size of the embeddings of both sides.
        units: Size of all GRUs, of one direction in the encoder.
        attention_units: Hidden size of the attention; `units` if `None`.
        position_one_hot: Number of positions that a one-hot vector in CopyNet's
            annotations distinguishes; 57 in the authors' synthetic task, 0 in
            the paper.
        coverage: Whether the attention has coverage, as a scalar, as in the
            authors' code; not in the paper.
        deep_readout: Whether the logits also have linear terms of the context
            and the previous token, as in the authors' code.
        dropout: Dropout rate of the embeddings, of the readout, and in the
            blocks of a Transformer.
        initializers: `"keras"` (Glorot, orthogonal, embeddings with standard
            deviation 1) or `"authors"` (orthogonal times 1.1, embeddings
            uniform within 0.1).
        seed: Optional integer, of the dropout.
        source_embedding: Optional layer from ids `(B, S)` to `(B, S, E)`
            instead of the source's table, such as a `DefinitionEmbedding`.
        head_options: Passed to the head if it is a name.

    Returns:
        A `Seq2Seq`. With the defaults and 1,003 words in both vocabularies, the
        systems have 3,531,103, 2,811,103 and 2,540,803 parameters.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 3;
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473) for
        `"rnnsearch"`.
    """
    check_choice("system", system, SYSTEMS)
    check_choice("encoder", encoder, CHOICES)
    check_choice("decoder", decoder, CHOICES)
    check_choice("initializers", initializers, ("keras", "authors"))
    if initializers == "keras":
        _, recurrent, _, embedding = assembly.make_initializers(initializers)
    else:
        recurrent = keras.initializers.Orthogonal(gain=1.1)
        embedding = keras.initializers.RandomUniform(-0.1, 0.1)
    if system == "enc_dec" and "transformer" in (encoder, decoder):
        raise ValueError(
            "The system 'enc_dec' has no attention and needs "
            "encoder='gru' and decoder='gru'. "
            f"Received: encoder={encoder!r}, decoder={decoder!r}."
        )
    sizes = source_vocabulary_size, target_vocabulary_size
    blocks = {"feedforward_units": feedforward_units, "dropout": dropout}
    reader = layers.BidirectionalGRU(
        units,
        recurrent_initializer=recurrent,
        reset_after=False,
        name="encoder",
    )
    encoder = assembly.make_encoder(
        encoder, reader, encoder_layers, encoder_heads, **blocks
    )
    if position_one_hot and system == "copynet":
        encoder = layers.PositionOneHot(
            encoder, position_one_hot, name="position_one_hot"
        )
    selective = system == "copynet"
    head = head or ("copynet" if selective else "softmax")
    if decoder == "gru":
        initial_state = layers.StateReduction(
            units, parts=1, activation="tanh", name="initial_state"
        )
        size = attention_units or units
        if system == "enc_dec":
            attention = layers.FinalContext(name="final_context")
        elif coverage:
            attention = layers.CoverageAttention(
                size, feature="scalar", name="attention"
            )
        else:
            attention = layers.BahdanauAttention(size, name="attention")
        kind = layers.AttentionalGRUCell
        if selective:
            kind = layers.SelectiveReadGRUCell
        cell = kind(
            units, attention, recurrent_initializer=recurrent, name="cell"
        )
    else:
        initial_state = None
        options = {"seed": seed, **blocks, **(decoder_options or {})}
        cell = assembly.transformer_cell(
            units, attention_units, coverage=coverage, **options
        )
    parts = ("hidden", "context", "inputs") if deep_readout else ("hidden",)
    readout = layers.Readout(parts, dropout, seed, name="readout")
    if decoder == "transformer" and not deep_readout:
        # In a Transformer the hidden state does not depend on this context.
        size = embedding_dim if tied else units
        readout = layers.OutputProjection(
            size, dropout, seed=seed, name="readout"
        )

    return Seq2Seq(
        encoder=encoder,
        **assembly.make_embeddings(
            *sizes, embedding_dim, embedding, tied, source_embedding
        ),
        initial_state=initial_state,
        cell=cell,
        deep_output=readout,
        head=assembly.make_head(
            head, target_vocabulary_size, tied=tied, **head_options
        ),
        dropout=dropout,
        seed=seed,
    )
