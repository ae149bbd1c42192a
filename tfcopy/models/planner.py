"""Planning models of "Plan, attend, generate", and their baseline."""

import keras

from tfcopy import layers
from tfcopy.layers.configured import check_choice
from tfcopy.layers.encoders.states import MeanInitialState
from tfcopy.models import assembly
from tfcopy.models.seq2seq import Seq2Seq

SYSTEMS = ("baseline", "pag", "rpag")
CELLS = {"biscale": layers.BiscaleGRUCell, "gru": layers.TwoLayerGRUCell}


def planner(
    source_vocabulary_size: int,
    target_vocabulary_size: int,
    *,
    system: str = "pag",
    encoder: str = "gru",
    encoder_layers: int = 2,
    encoder_heads: int = 4,
    decoder: str = "biscale",
    decoder_options: dict | None = None,
    feedforward_units: int | None = None,
    tied: bool = False,
    head: str | keras.Layer = "softmax",
    embedding_dim: int = 600,
    units: int = 600,
    encoder_units: int | None = None,
    query: str = "both",
    plan_steps: int = 10,
    summary_units: int = 64,
    use_gate: bool = True,
    switch: str = "previous",
    resample: bool = False,
    always_replan: bool = False,
    layer_norm: bool = False,
    planner_layer_norm: bool = False,
    dropout: float = 0.0,
    initializers: str = "keras",
    seed: int | None = None,
    source_embedding: keras.Layer | None = None,
    **head_options,
) -> Seq2Seq:
    """Builds a planning model, or its baseline.

    ```python
    model = models.planner(9, 9, system="rpag", plan_steps=3, **sizes)
    distribution = model(batch)  # a `PlannedDistribution`
    ```

    Args:
        source_vocabulary_size: Positive integer.
        target_vocabulary_size: Positive integer, V.
        system: `"baseline"` (additive attention that also reads the previous
            token), `"pag"` (plans its alignments) or `"rpag"` (repeats them).
        encoder: `"gru"` (bidirectional, as in the paper) or `"transformer"`,
            with annotations of the same size.
        encoder_layers: Blocks of the Transformer.
        encoder_heads: Attention heads of each block.
        decoder: `"biscale"` (as in the paper), `"gru"` (as in the authors'
            script) or, only for the baseline, `"transformer"`.
        decoder_options: Arguments of `transformer_cell`, for a Transformer.
        feedforward_units: Hidden size of the feed-forward networks of both
            Transformers; four times their size if `None`.
        tied: Whether the output matrix is the target's embedding table,
            transposed.
        head: A name of `tokens.HEADS`, or a head layer.
        embedding_dim: Size of the embeddings of both sides, and width of the
            deep output.
        units: Size of each decoder layer.
        encoder_units: Size of one direction's state; `units` if `None`.
        query: The layers whose states attend: `"both"`, `"first"` or
            `"second"`.
        plan_steps: Number of steps of a plan.
        summary_units: As in `PlanAttention`.
        use_gate: As in `PlanAttention`.
        switch: As in `PlanAttention`.
        resample: As in `PlanAttention`.
        always_replan: As in `PlanAttention`.
        layer_norm: Whether the decoder's layers are normalised.
        planner_layer_norm: Whether the planner's layers are normalised.
        dropout: Dropout rate of the embeddings and of the deep output, and in
            the blocks of a Transformer.
        initializers: `"keras"` (Glorot, orthogonal, embeddings with standard
            deviation 1), or `"dl4mt"` (as in the authors' code: orthogonal if
            square, otherwise normal with standard deviation 0.01).
        seed: Optional integer, of dropout and noise.
        source_embedding: Optional layer from ids `(B, S)` to `(B, S, E)`
            instead of the source's table, such as a `DefinitionEmbedding`.
        head_options: Passed to the head if it is a name.

    Returns:
        A `Seq2Seq`.

    Reference:
        [Gulcehre et al., 2017](https://arxiv.org/abs/1706.05087);
        [Chung et al., 2016](https://arxiv.org/abs/1603.06147) for the baseline.
    """
    check_choice("system", system, SYSTEMS)
    check_choice("encoder", encoder, ("gru", "transformer"))
    check_choice("decoder", decoder, (*CELLS, "transformer"))
    if decoder == "transformer" and system != "baseline":
        raise ValueError(
            "With decoder='transformer', which cannot plan, `system` must be "
            f"'baseline'. Received: system={system!r}."
        )
    sizes = source_vocabulary_size, target_vocabulary_size
    encoder_units = encoder_units or units
    kernel, recurrent, readout, embedding = assembly.make_initializers(
        initializers
    )
    blocks = {"feedforward_units": feedforward_units, "dropout": dropout}
    if decoder == "transformer":
        initial_state = None
        options = {"seed": seed, **blocks, **(decoder_options or {})}
        cell = assembly.transformer_cell(units, **options)
    else:
        options = {"kernel_initializer": kernel, "name": "attention"}
        if system == "baseline":
            attention = layers.BahdanauAttention(
                2 * encoder_units, use_bias=True, reads_words=True, **options
            )
        else:
            attention = layers.PlanAttention(
                2 * encoder_units,
                mode="plan" if system == "pag" else "repeat",
                plan_steps=plan_steps,
                summary_units=summary_units,
                use_gate=use_gate,
                switch=switch,
                resample=resample,
                layer_norm=planner_layer_norm,
                always_replan=always_replan,
                seed=seed,
                **options,
            )
        initial_state = MeanInitialState(
            2 * units, kernel, name="initial_state"
        )
        cell = CELLS[decoder](
            units,
            attention,
            kernel,
            recurrent,
            query=query,
            layer_norm=layer_norm,
            name="cell",
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
            embedding_dim, dropout, readout, seed, name="deep_output"
        ),
        head=assembly.make_head(
            head,
            target_vocabulary_size,
            kernel_initializer=readout,
            tied=tied,
            **head_options,
        ),
        dropout=dropout,
        seed=seed,
    )
