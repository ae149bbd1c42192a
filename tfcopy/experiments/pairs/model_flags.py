"""Flags of the models of pairs of texts, of their training and search."""

from typing import Literal

from tfcopy import flags
from tfcopy.experiments.config import (
    POINTING,
    Beams,
    Head,
    ModelConfig,
    PointingHead,
    RunConfig,
    Share,
    TrainingConfig,
    VocabularySize,
    data,
    file,
    from_flags,
    group,
    model,
    search,
    systems,
    training,
    unrecorded,
    variant_flag,
)

_Kind = Literal["gru", "transformer"]  # of encoder and decoder


@group
class TransformerConfig(ModelConfig):
    """Sizes of encoder and decoder, and which of them is a Transformer.

    Attributes:
        encoder: Encoder: gru (the paper's), or transformer, twice --units wide.
        encoder_layers: Number of blocks in a Transformer encoder.
        encoder_heads: Number of attention heads per block of a Transformer
            encoder.
        decoder: Decoder: gru (the paper's), or transformer, --units wide.
        decoder_layers: Number of blocks in a Transformer decoder.
        decoder_heads: Number of attention heads per block of a Transformer
            decoder, and of the attention that points.
        feedforward_units: Size of the hidden layer in each block of a
            Transformer; four times the size of the block if not given.
        positions: Positions of a Transformer decoder: sinusoidal or learned
            vectors that are added to the words, or rotary.
        num_positions: Number of learned positions; all later ones are like the
            last.
        normalize_first: Normalise the inputs of a Transformer decoder's layers;
            false for their outputs, as in the first Transformers, which need a
            --warmup.
        pointing: Attention by which a Transformer decoder points: heads (the
            mean of several heads' weights), or additive (as recurrent decoders
            have).
        tied_embeddings: Use the embeddings of target words as output matrix,
            too.
    """

    encoder: _Kind = variant_flag.common("gru", replaced=True)
    encoder_layers: flags.PositiveInt = model(2, replaced=True)
    encoder_heads: flags.PositiveInt = model(4, replaced=True)
    decoder: _Kind = variant_flag.common("gru", replaced=True)
    decoder_layers: flags.PositiveInt = model(2, replaced=True)
    decoder_heads: flags.PositiveInt = model(4, replaced=True)
    feedforward_units: flags.PositiveInt | None = model(None, replaced=True)
    positions: Literal["sinusoidal", "learned", "rotary"] = model(
        "sinusoidal", replaced=True
    )
    num_positions: flags.PositiveInt = model(512, replaced=True)
    normalize_first: bool = model(True, replaced=True)
    pointing: Literal["heads", "additive"] = variant_flag("heads")
    tied_embeddings: bool = model(False, replaced=True)


def build_model(make, config: TransformerConfig, data, **arguments):
    """Builds a model of two vocabularies with the flags that it reads.

    Args:
        make: A function of `models`.
        config: The flags.
        data: `PairData`.
        **own: Further arguments of the function.
    """
    sides = zip(("source", "target"), data.vocabularies)
    sizes = {f"{side}_vocabulary_size": words.size for side, words in sides}
    return from_flags(
        make, config, **sizes, **model_options(config), **arguments
    )


def model_options(config: TransformerConfig) -> dict:
    """Returns arguments of `models` whose flags have other names."""
    return {
        "decoder_options": {
            "num_layers": config.decoder_layers,
            "num_heads": config.decoder_heads,
            "positions": config.positions,
            "num_positions": config.num_positions,
            "normalize_first": config.normalize_first,
            "pointing": config.pointing,
        },
        "tied": config.tied_embeddings,
    }


def check(
    config: TransformerConfig,
    *,
    encoder_units=None,
    attention_units=None,
    features=None,
):
    """Raises a ValueError that names flags which do not go together.

    Args:
        config: The flags.
        encoder_units: --encoder_units, if the recipe has them.
        attention_units: --attention_units, if the recipe has them.
        features: Dict from the flag for the size of what words are predicted
            from to that size; `None`, or a size of `None`, if it is the size of
            the embeddings.
    """
    if config.encoder == "transformer":
        flag = "--units" if encoder_units is None else "--encoder_units"
        size = 2 * (encoder_units or config.units)
        _check_heads(size, f"Twice {flag}", config.encoder_heads, "encoder")
    if config.decoder == "transformer":
        _check_decoder(config, attention_units)
    for flag, size in (features or {}).items():
        own = config.embedding_dim
        if config.tied_embeddings and size not in (None, own):
            raise ValueError(
                f"--tied_embeddings needs an --embedding_dim equal to {flag}. "
                f"Received: {own}, {flag} {size}."
            )


def _check_decoder(config, attention_units):
    heads, size = config.decoder_heads, config.units
    _check_heads(size, "--units", heads, "decoder")
    if config.positions == "rotary" and size // heads % 2:
        raise ValueError(
            "--positions rotary needs --units that are an even multiple of "
            f"--decoder_heads. Received: {size}, --decoder_heads {heads}."
        )
    if config.pointing == "heads" and attention_units is not None:
        _check_heads(attention_units, "--attention_units", heads, "decoder")


def _check_heads(size, what, heads, side):
    if size % heads:
        raise ValueError(
            f"{what} must be a multiple of --{side}_heads with --{side} "
            f"transformer. Received: {size}, --{side}_heads {heads}."
        )


@group
class ProgramsConfig:
    """Programs of LiteRT, which answer without TensorFlow.

    Attributes:
        litert: Precision of the programs of LiteRT in an export. int8 becomes
            float32 if it makes the answer to one of 100 test texts worse. none
            exports without programs.
    """

    litert: Literal["int8", "float32", "none"] = unrecorded("int8")


@group
class PairsConfig(TransformerConfig, TrainingConfig, ProgramsConfig, RunConfig):
    """Training an encoder and a decoder on pairs of texts.

    Attributes:
        pool_batches: Batches whose pairs, drawn at random, are sorted by length
            together; more of them pad less and mix less, 1 sorts nothing.
        label_smoothing: Share of the loss that is the mean cost of all words of
            the vocabulary instead of the target's; 0.1 is usual for
            Transformers.
        num_beams: Beam size; 1 for greedy search.
        same_in_every_batch: Make an answer independent of the other texts of
            its batch, scores to 1e-5; false is a third faster for few texts.
        length_penalty: Scores are divided by length to this power; 0 for no
            length normalisation.
        unfinished_compete: Let answers that are cut off compete with finished
            ones by their scores; otherwise they come after all of these.
        coverage_penalty: Weight of the coverage penalty on source words that
            got little attention (Wu et al., 2016).
        no_repeat_ngram: Never repeat an n-gram of this length in an answer; 0
            allows repeats.
        forbid_unk: Never answer <unk>.
        replace_unk: Put the source word with the highest attention in the place
            of each <unk> of an answer.
    """

    pool_batches: flags.PositiveInt = training(20)
    label_smoothing: Share = training(0.0)
    num_beams: Beams = search.common(10)
    same_in_every_batch: bool = search(True)
    length_penalty: flags.NonNegativeFloat = search(1.0)
    unfinished_compete: bool = search(False)
    coverage_penalty: flags.NonNegativeFloat = search(0.0)
    no_repeat_ngram: flags.NonNegativeInt = search(0)
    forbid_unk: bool = search(False)
    replace_unk: bool = search(False)


@group
class AttentionConfig:
    """The size of an additive attention.

    Attributes:
        attention_units: Hidden size of the attention; the model's default if
            not given.
    """

    attention_units: flags.PositiveInt | None = model(None)


@group
class BackboneConfig:
    """A pretrained network in the place of the recipe's own.

    Attributes:
        backbone: Pretrained network of KerasHub instead of the recipe's own
            encoder and decoder: a preset such as bart_base_en or
            t5_small_multi, an address such as hf://USER/NAME, or the folder of
            a preset, or of a translator as `tfcopy import` reads it. Its
            tokenizer cuts texts and lengths count its subwords; a learning rate
            of 1e-4 is the default then. docs/backbones.md
        freeze: Part of --backbone that is not trained: none, encoder, or all,
            so that only head and pointing are trained.
        lora_rank: Train matrices of this rank in the attentions of --backbone
            instead of the network itself (LoRA).
    """

    backbone: str | None = variant_flag.common(None, role="input")
    freeze: Literal["none", "encoder", "all"] = model("none")
    lora_rank: flags.PositiveInt | None = model(None)


@group
class PointerSoftmaxConfig(PairsConfig, AttentionConfig, BackboneConfig):
    """The translator of the pointer softmax paper and its switch.

    Attributes:
        unmatched: Label of unknown target words that do not occur in the
            source: unk, or attention_argmax (point where attention is highest).
        candidates: Size of the output vocabulary sampled for each update (the
            large vocabulary trick); the whole vocabulary if not given.
        candidates_from: Words in --candidates besides the most frequent ones:
            the words of the batch's sources (as in the paper), of the whole
            batch with its targets, or also a random sample of the vocabulary.
        search_candidates: Search generates only this many of the most frequent
            words; all if not given.
        shortlist: Search generates only likely translations of the source's
            words and the --search_candidates most frequent words (200 if not
            given): dictionary (learnt from the training pairs), or a file of
            source words and translations, as build_dictionary writes it. 1.6
            times as fast with 10,000 words, more with larger vocabularies.
        encoder_units: Size of the encoder per direction, half the size of a
            Transformer; --units if not given.
        output_units: Size of the layer below the output softmax;
            --embedding_dim if not given.
        initializers: Weight initializers: keras, or dl4mt (those of the system
            that the paper builds on).
        coverage: Feed the coverage of each source position to the attention.
        switch_activation: Activation of the switch's hidden layers: noisy_tanh,
            relu or tanh.
        switch_bias: Initial bias of the switch; above 0 it favours generating.
        normalize: Average the loss over tokens or over sentences.
    """

    unmatched: Literal["attention_argmax", "unk"] = data("unk")
    candidates: VocabularySize | None = training(None)
    candidates_from: Literal["sources", "batch", "sample"] = training("sample")
    search_candidates: VocabularySize | None = search(None)
    shortlist: str | None = file(topic="search")
    encoder_units: flags.PositiveInt | None = model(None, replaced=True)
    output_units: flags.PositiveInt | None = model(None, replaced=True)
    initializers: Literal["keras", "dl4mt"] = model("keras", replaced=True)
    coverage: bool = model(False)
    switch_activation: Literal["noisy_tanh", "relu", "tanh"] = model(
        "noisy_tanh"
    )
    switch_bias: float = model(1.0)
    normalize: Literal["tokens", "sentences"] = training("tokens")


@group
class CopyNetConfig(PairsConfig, AttentionConfig):
    """CopyNet, the paper's baselines, and additions of the authors' code.

    Attributes:
        head: Output head of the system copynet: copynet, pointer_softmax,
            pointer_generator, or your own, as MODULE:CLASS.
        end_mark: Append an end-of-sequence token to sources, which attention
            can see, so that the place after the last word is one like any
            other.
        position_one_hot: Number of source positions that CopyNet's encoder
            marks by a one-hot vector; 57 in the authors' code, 0 in the paper.
        coverage: Feed the coverage of each source position to the attention, as
            in the authors' code.
        deep_readout: Add linear terms of the context and the last word to the
            logits, as in the authors' code.
        initializers: Weight initializers: keras, or those of the authors' code.
        max_target_length: Maximum length of an output, in tokens, end of
            sequence included.
    """

    plain = "enc_dec", "rnnsearch", "rnn_context"

    head: PointingHead = variant_flag.common("copynet")
    end_mark: bool = data(False)
    position_one_hot: flags.NonNegativeInt = model(0)
    coverage: bool = model(False)
    deep_readout: bool = model(False)
    initializers: Literal["keras", "authors"] = model("keras")
    max_target_length: flags.PositiveInt = search(57)


@group
class PlannerConfig(PairsConfig):
    """Decoders that plan their alignment, and the baseline without a plan.

    Attributes:
        decoder: Decoder: gru (two layers, as in the released script), biscale
            (the paper's), or, for the baseline alone, transformer.
        encoder_units: Size of the encoder per direction; --units if not given.
        baseline_units: The baseline's --units, if they differ.
        baseline_encoder_units: The baseline's --encoder_units, if they differ.
        query: Decoder layers whose states query the attention: both, first or
            second.
        plan_steps: Length of a plan, in decoder steps.
        summary_units: Size of the summary that is made of a plan.
        update_gate: Mix the old plan into a new one with a gate, as in the
            paper; this slows learning (docs/planning.md).
        switch: Commitment plan that decides whether to replan: the previous
            one, or the current one, as in the released code.
        resample: Resample a commitment plan when it is shifted, as in the
            released code.
        always_replan: Replan at every step: a control that separates the effect
            of planning from that of more weights.
        commitment_penalty: Weight of the penalty on overconfident commitment
            plans.
        initializers: Weight initializers: keras, or dl4mt (the authors').
        baseline_learning_rate: The baseline's --learning_rate, if it differs.
    """

    decoder: Literal["gru", "biscale", "transformer"] = variant_flag.common(
        "gru"
    )
    head: Head = variant_flag.common(
        "softmax", f"Output head: softmax, or one that can copy, {POINTING}"
    )
    encoder_units: flags.PositiveInt | None = model(None)
    baseline_units: flags.PositiveInt | None = model(None)
    baseline_encoder_units: flags.PositiveInt | None = model(None)
    query: Literal["both", "first", "second"] = model("both")
    plan_steps: flags.PositiveInt = model(10)
    summary_units: flags.PositiveInt = model(32)
    update_gate: bool = model(False)
    switch: Literal["previous", "current"] = model("previous")
    resample: bool = model(False)
    always_replan: bool = variant_flag(False)
    commitment_penalty: flags.NonNegativeFloat = training(3e-5)
    initializers: Literal["keras", "dl4mt"] = model("keras")
    baseline_learning_rate: flags.PositiveFloat | None = training(None)


@group
class RarestWordConfig(TrainingConfig, ProgramsConfig, RunConfig):
    """The task of naming the rarest word of a sequence, and its models.

    Attributes:
        num_words: Size of the vocabulary.
        num_pointed: Number of the rarest words, which are pointed at.
        length: Words per sequence.
        q: Relative drop in frequency from each word to the next; the paper does
            not state it, and its figures need 0.0022 or less.
        train_size: Number of training sequences; an endless stream of new ones
            if not given.
        num_validation: Number of validation sequences.
        num_test: Number of test sequences.
        systems: Systems to train, any of softmax and pointer_softmax.
        embedding_dim: Size of the embeddings.
        units: Size of the GRU and of all hidden layers.
        pointer: Pointer: dense (an output for each position, as in the paper),
            or attention.
        temperature: Inverse temperature of the switch.
        switch_bias: Initial bias of the switch; above 0 it favours the
            shortlist.
        learning_rate: Learning rate of the optimizer.
        batch_size: Sequences per batch.
        updates: Number of updates for each system.
        eval_every: Updates between evaluations on the validation set.
    """

    num_words: flags.PositiveInt = data.common(600)
    num_pointed: flags.PositiveInt = data(60)
    length: flags.PositiveInt = data(7)
    q: Share = data.common(0.002)
    train_size: flags.PositiveInt | None = data(None)
    num_validation: flags.PositiveInt = data(5_000)
    num_test: flags.PositiveInt = data(20_000, fixed=False)
    systems: list[Literal["softmax", "pointer_softmax"]] = systems(
        ["softmax", "pointer_softmax"]
    )
    embedding_dim: flags.PositiveInt = model(256)
    units: flags.PositiveInt = model.common(256)
    pointer: Literal["dense", "attention"] = model("dense")
    temperature: flags.PositiveFloat = model(2.0)
    switch_bias: float = model(1.0)
    learning_rate: flags.PositiveFloat = training.common(4e-3)
    batch_size: flags.PositiveInt = training.common(250)
    updates: flags.PositiveInt = training.common(1_500, fixed=False)
    eval_every: flags.PositiveInt = training(50, fixed=False)
