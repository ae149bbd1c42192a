"""Flags of the models of pairs of texts, of their training and search."""

from typing import Literal

from jsonargparse.typing import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from tfcopy.experiments.config import (
    POINTING_HEADS,
    ModelConfig,
    RunConfig,
    Seed,
    Share,
    TrainingConfig,
    data,
    group,
    model,
    search,
    training,
)


@group
class PairsConfig(ModelConfig, TrainingConfig, RunConfig):
    """Training an encoder and a decoder on pairs of texts."""

    pad_multiple: PositiveInt = training(
        1, "Lengths are padded to a multiple of this."
    )
    num_beams: PositiveInt = search(10, "Hypotheses that search keeps.")
    length_penalty: NonNegativeFloat = search(
        1.0, "Scores are divided by length to this power."
    )


@group
class AttentionConfig:
    """The size of an additive attention."""

    attention_units: PositiveInt | None = model(
        None, "Hidden size of the attention; the model's own if not given."
    )


@group
class PointerSoftmaxConfig(PairsConfig, AttentionConfig):
    """The translator of the pointer softmax paper and its switch."""

    unmatched: Literal["attention_argmax", "unk"] = data(
        "unk",
        "Label of unknown words that the source does not hold: unk, or "
        "attention_argmax (point where the model looks).",
    )
    candidates: PositiveInt | None = training(
        None,
        "Words that an update's output layer knows (the large vocabulary "
        "trick); all if not given.",
    )
    candidates_from: Literal["sources", "batch", "sample"] = training(
        "sample",
        "Words among them beside the most frequent: those of an update's "
        "sources (the paper's choice), of the whole batch with its targets, "
        "or a sample of all words as well.",
    )
    search_candidates: PositiveInt | None = search(
        None,
        "Words that search generates, the most frequent; all if not given.",
    )
    encoder_units: PositiveInt | None = model(
        None,
        "Size of the encoder's state, each direction; half the size of a "
        "Transformer; --units if not given.",
    )
    output_units: PositiveInt | None = model(
        None, "Width of the layer below the output softmax."
    )
    initializers: Literal["keras", "dl4mt"] = model(
        "keras", "keras, or dl4mt (those of the paper's base system)."
    )
    switch_activation: str = model(
        "noisy_tanh",
        "Activation of the switch's hidden layers: noisy_tanh, relu or another "
        "Keras activation.",
    )
    switch_bias: float = model(
        1.0, "Where the switch starts; above 0 it leans to generating."
    )
    normalize: Literal["tokens", "sentences"] = training(
        "tokens", "What the loss is divided by, tokens or sentences."
    )


@group
class CopyNetConfig(PairsConfig, AttentionConfig):
    """CopyNet, the paper's baselines, and additions of the authors' code."""

    end_mark: bool = data(
        False,
        "End sources with a mark that attention can see, so that what comes "
        "after the last word is a place like any other.",
    )
    position_one_hot: NonNegativeInt = model(
        0,
        "Positions that CopyNet's annotations tell apart by a one-hot vector; "
        "57 in the authors' code, 0 in the paper.",
    )
    coverage: bool = model(
        False,
        "Let attention see how much a position has got, as in the authors' "
        "code.",
    )
    deep_readout: bool = model(
        False,
        "Give context and last word linear terms in the logits, as in the "
        "authors' code.",
    )
    initializers: Literal["keras", "authors"] = model(
        "keras", "keras, or the authors'."
    )
    max_target_length: PositiveInt = search(
        57, "Most tokens of an answer, with its end."
    )
    allow_unk: bool = search(False, "Let <unk> be an answer.")


@group
class PlannerConfig(PairsConfig):
    """Decoders that plan their alignment, and the baseline without a plan."""

    decoder: Literal["gru", "biscale"] = model(
        "gru",
        "gru (two layers, as in the released script), or biscale (the "
        "paper's).",
    )
    head: Literal[("softmax", *POINTING_HEADS)] = model(
        "softmax", f"Output head: softmax, {', '.join(POINTING_HEADS)}."
    )
    encoder_units: PositiveInt | None = model(
        None,
        "Size of the encoder's state, each direction; --units if not given.",
    )
    baseline_units: PositiveInt | None = model(
        None, "The baseline's --units, if they differ."
    )
    baseline_encoder_units: PositiveInt | None = model(
        None, "The baseline's --encoder_units, if they differ."
    )
    query: Literal["both", "first", "second"] = model(
        "both", "Layers whose states attend: both, first or second."
    )
    plan_steps: PositiveInt = model(10, "Steps that a plan is made for.")
    summary_units: PositiveInt = model(32, "Size of the summary of a plan.")
    update_gate: bool = model(
        False,
        "Let a gate mix the old plan into a new one, as in the paper; it makes "
        "learning slow (docs/planning.md).",
    )
    switch: Literal["previous", "current"] = model(
        "previous",
        "previous (a plan decides about the step after it), or current, as in "
        "the released code.",
    )
    resample: bool = model(
        False, "Draw plans that move on again, as in the released code."
    )
    always_replan: bool = model(
        False,
        "Plan at each step: the control that tells planning from having more "
        "weights.",
    )
    commitment_penalty: NonNegativeFloat = training(
        3e-5, "Weight of the penalty on certain plans."
    )
    planner_layer_norm: bool = model(False, "Normalise the planner's layers.")
    initializers: Literal["keras", "dl4mt"] = model(
        "keras", "keras, or dl4mt, the authors'."
    )
    baseline_learning_rate: PositiveFloat | None = training(
        None, "The baseline's --learning_rate, if it differs."
    )


@group
class RarestWordConfig(TrainingConfig, RunConfig):
    """The task of naming the rarest word of a sequence, and its models."""

    num_words: PositiveInt = data(600, "Size of the vocabulary.")
    num_pointed: PositiveInt = data(
        60, "So many of the rarest words are pointed at."
    )
    length: PositiveInt = data(7, "Words of a sequence.")
    q: Share = data(
        0.002,
        "Share by which each word is rarer than the one before it; the paper "
        "does not tell, and its figures need 0.0022 or less.",
    )
    train_size: PositiveInt | None = data(
        None, "Sequences to train on; new ones without end if not given."
    )
    num_validation: PositiveInt = data(5_000, "Sequences to validate.")
    num_test: PositiveInt = data(20_000, "Sequences to test.")
    data_seed: Seed = data(
        0, "Seed of the sequences to validate and test, and of --train_size."
    )
    systems: list[Literal["softmax", "pointer_softmax"]] = training(
        ["softmax", "pointer_softmax"],
        "Systems to train, of softmax and pointer_softmax.",
    )
    embedding_dim: PositiveInt = model(256, "Size of the embeddings.")
    units: PositiveInt = model(256, "Size of the GRU and of all hidden layers.")
    pointer: Literal["dense", "attention"] = model(
        "dense",
        "dense, with an output for each position, as in the paper; or "
        "attention.",
    )
    activation: Literal["relu", "tanh"] = model(
        "relu", "Activation of the hidden layers."
    )
    temperature: PositiveFloat = model(
        2.0, "Inverse temperature of the switch."
    )
    switch_bias: float = model(
        1.0, "Initial bias of the switch; above 0 it leans to the shortlist."
    )
    learning_rate: PositiveFloat = training(
        4e-3, "Learning rate of the optimizer."
    )
    batch_size: PositiveInt = training(250, "Sequences of an update.")
    updates: PositiveInt = training(1_500, "Updates of each system.")
    eval_every: PositiveInt = training(
        100, "Updates between two scores on the validation set."
    )
