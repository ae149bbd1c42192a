"""Translation model of the pointer softmax paper, with any head."""

import keras

from tfcopy import layers
from tfcopy.layers.configured import check_choice
from tfcopy.layers.encoders.states import MeanInitialState
from tfcopy.models import assembly
from tfcopy.models.seq2seq import Seq2Seq

CHOICES = ("gru", "transformer")


def translator(
    source_vocabulary_size: int,
    target_vocabulary_size: int,
    *,
    head: str | keras.Layer = "pointer_softmax",
    encoder: str = "gru",
    encoder_layers: int = 2,
    encoder_heads: int = 4,
    decoder: str = "gru",
    decoder_options: dict | None = None,
    feedforward_units: int | None = None,
    tied: bool = False,
    coverage: bool = False,
    embedding_dim: int = 512,
    units: int = 1024,
    encoder_units: int | None = None,
    attention_units: int | None = None,
    output_units: int | None = None,
    dropout: float = 0.0,
    initializers: str = "keras",
    seed: int | None = None,
    source_embedding: keras.Layer | None = None,
    **head_options,
) -> Seq2Seq:
    """Builds a translation model with a GRU or Transformer, and a deep output.

    ```python
    model = models.translator(9, 9, head="pointer_softmax", **sizes)
    model.compile("adam")
    model.fit(data, shuffle=False, verbose=0)
    ```

    Args:
        source_vocabulary_size: Positive integer.
        target_vocabulary_size: Positive integer, V.
        head: A name of `tokens.HEADS`, or a head layer.
        encoder: `"gru"` (bidirectional, as in the paper) or `"transformer"`,
            with annotations of the same size.
        encoder_layers: Blocks of the Transformer.
        encoder_heads: Attention heads of each block.
        decoder: `"gru"` (conditional, as in the paper) or `"transformer"`,
            which takes no first state from the encoder.
        decoder_options: Arguments of `transformer_cell`, for a Transformer.
        feedforward_units: Hidden size of the feed-forward networks of both
            Transformers; four times their size if `None`.
        tied: Whether the output matrix is the target's embedding table,
            transposed.
        coverage: Whether the attention has coverage, the sum of its earlier
            weights.
        embedding_dim: Size of the embeddings of both sides.
        units: Size of the decoder's state.
        encoder_units: Size of one direction's state; `units` if `None`.
        attention_units: Hidden size of the attention; twice `encoder_units`
            if `None`.
        output_units: Width of the deep output; `embedding_dim` if `None`.
        dropout: Dropout rate of the embeddings and of the deep output, and in
            the blocks of a Transformer.
        initializers: `"keras"` (Glorot, orthogonal, embeddings with standard
            deviation 1), or `"dl4mt"` (as in the base system: orthogonal if
            square, otherwise normal with standard deviation 0.01; Glorot for a
            Transformer).
        seed: Optional integer, of dropout and noise.
        source_embedding: Optional layer from ids `(B, S)` to `(B, S, E)`
            instead of the source's table, such as a `DefinitionEmbedding`.
        head_options: Passed to the head if it is a name.

    Returns:
        A `Seq2Seq`.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 3.
    """
    sizes = source_vocabulary_size, target_vocabulary_size
    encoder_units = encoder_units or units
    output_units = output_units or embedding_dim
    kernel, recurrent, readout, embedding = assembly.make_initializers(
        initializers
    )
    head = assembly.make_head(
        head,
        target_vocabulary_size,
        {"seed": seed, "switch_units": embedding_dim},
        kernel_initializer=readout,
        tied=tied,
        **head_options,
    )
    check_choice("encoder", encoder, CHOICES)
    check_choice("decoder", decoder, CHOICES)
    blocks = {"feedforward_units": feedforward_units, "dropout": dropout}
    if decoder == "gru":
        initial_state = MeanInitialState(units, kernel, name="initial_state")
        attention = assembly.make_attention(
            attention_units or 2 * encoder_units,
            pointing="additive",
            coverage=coverage,
            kernel_initializer=kernel,
        )
        cell = layers.ConditionalGRUCell(
            units, attention, kernel, recurrent, name="cell"
        )
    else:
        initial_state = None
        options = {"seed": seed, **blocks, **(decoder_options or {})}
        cell = assembly.transformer_cell(
            units, attention_units, coverage=coverage, **options
        )

    reader = layers.BidirectionalGRU(
        encoder_units, kernel, recurrent, name="encoder"
    )
    return Seq2Seq(
        encoder=assembly.make_encoder(
            encoder, reader, encoder_layers, encoder_heads, **blocks
        ),
        **assembly.make_embeddings(
            *sizes, embedding_dim, embedding, tied, source_embedding
        ),
        initial_state=initial_state,
        cell=cell,
        deep_output=layers.DeepOutput(
            output_units, dropout, readout, seed, name="deep_output"
        ),
        head=head,
        dropout=dropout,
        seed=seed,
    )
