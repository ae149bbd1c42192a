"""Pointer softmax on Europarl English-French (Gulcehre et al., 2016).

Trains the paper's baseline (nmt) and the same model with a pointer softmax,
compares them, shows what was copied, and exports the better one.

    python -m tfcopy.recipes.europarl_ps                        the demo corpus
    python -m tfcopy.recipes.europarl_ps --data_dir europarl/   Europarl v7
    python -m tfcopy.recipes.europarl_ps --train '[a.en, a.fr]' your own files
    python -m tfcopy.recipes.europarl_ps --preset paper         the paper's

Repeating a command that was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
from typing import Literal

from jsonargparse.typing import (
    NonNegativeFloat,
    PositiveFloat,
    PositiveInt,
)

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet

PAPER = {"nmt": {"bleu": 20.19}, "pointer_softmax": {"bleu": 23.76}}


@dataclasses.dataclass(frozen=True)
class Config:
    """Corpus, model, training, search, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes and corpus the other fields started from.
        data_dir: Folder with europarl-v7.fr-en.en and .fr (or fr-en.tgz); of
            a TFDS dataset, where it is kept.
        download: Fetch Europarl into --data_dir if it is not there.
        train: Two text files, source and target, plain or gzipped:
            '[a.en, a.fr]'.
        validation: Two files; held out from --train if not given.
        test: Two files; held out from --train if not given.
        tfds: Name of a TFDS translation dataset, as wmt14_translate/fr-en.
        source_language: Code of the language to translate from.
        target_language: Code of the language to translate into.
        tokenization: moses; space for text that is tokenised already; or
            sentencepiece for the pieces of --sentencepiece_model, which then
            are the words of all other flags.
        sentencepiece_model: One file for both languages, or two: '[en.model,
            fr.model]'; tfcopy.data.train_sentencepiece makes them.
        dictionary: TSV file of target words and their source translations,
            for pointer labels.
        output_dictionary: TSV file of source words and their translations:
            what answers say for words pointed at, where it has them.
        unmatched: Label of OOV words that the source does not hold:
            attention_argmax (point where the model looks) or unk.
        source_vocabulary: Vocabulary file to use instead of counting words.
        target_vocabulary: Vocabulary file to use instead of counting words.
        source_vocabulary_size: Most frequent source words to keep.
        target_vocabulary_size: Most frequent target words to keep.
        candidates: Words that an update's output layer knows (the large
            vocabulary trick); all if not given.
        candidates_from: Which words are among them beside the most frequent:
            those of an update's sources (the paper's choice), of the whole
            batch, targets too, or a sample of all words as well.
        search_candidates: Words that search generates, the most frequent; all
            if not given.
        max_length: Longer sentences, in words, are not trained on.
        systems: Which of nmt and pointer_softmax to train.
        head: Output head of the system that points, which then bears its
            name: pointer_softmax, pointer_generator or copynet.
        embedding_dim: Size of the word embeddings.
        units: Size of the decoder's state.
        encoder: gru (the paper's), or transformer.
        encoder_units: Size of the encoder's state, each direction; half the
            size of a Transformer.
        encoder_layers: Blocks of a Transformer encoder.
        encoder_heads: Attention heads of each of them.
        attention_units: Hidden size of the attention.
        output_units: Width of the layer below the output softmax.
        dropout: Share dropped of embeddings and of that layer, in training.
        initializers: keras, or dl4mt (those of the paper's base system).
        switch_activation: noisy_tanh, relu or another Keras activation.
        switch_bias: Where the switch starts; above 0 leans to generating.
        optimizer: adam or adadelta.
        learning_rate: Of the optimizer.
        batch_size: Sentences of an update, over all devices.
        accumulate: Batches of an update.
        normalize: What the loss is divided by, tokens or sentences.
        clip_norm: Largest norm of the gradients of an update.
        updates: Most updates of each system.
        eval_every: Updates between two scores on the validation set.
        patience: Scores in a row without a better one that end training.
        pad_multiple: Sentences are padded to a multiple of this length.
        precision: float32 or mixed_bfloat16.
        num_beams: Beams of the search.
        length_penalty: Scores are divided by length to this power.
        max_target_length: Most words of a translation.
        merge: How search treats several ways to say a word: max (the
            paper's) or sum; if not given, max with the pointer softmax and
            sum with other heads.
        bleu_tokenize: Sacrebleu's tokenisation; 13a, or none for text that
            is tokenised already.
        seed: Of weights, order, dropout and noise.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where the better system is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    data_dir: str | None = None
    download: bool = False
    train: list[str] | None = None
    validation: list[str] | None = None
    test: list[str] | None = None
    tfds: str | None = None
    source_language: str = "en"
    target_language: str = "fr"
    tokenization: Literal["moses", "space", "sentencepiece"] = "moses"
    sentencepiece_model: list[str] | None = None
    dictionary: str | None = None
    output_dictionary: str | None = None
    unmatched: Literal["attention_argmax", "unk"] = "attention_argmax"
    source_vocabulary: str | None = None
    target_vocabulary: str | None = None
    source_vocabulary_size: PositiveInt = 2_000
    target_vocabulary_size: PositiveInt = 2_000
    candidates: PositiveInt | None = None
    candidates_from: Literal["sources", "batch", "sample"] = "sample"
    search_candidates: PositiveInt | None = None
    max_length: PositiveInt = 50
    systems: list[Literal["nmt", "pointer_softmax"]] = dataclasses.field(
        default_factory=lambda: ["nmt", "pointer_softmax"]
    )
    head: Literal["pointer_softmax", "pointer_generator", "copynet"] = (
        "pointer_softmax"
    )
    embedding_dim: PositiveInt = 128
    units: PositiveInt = 256
    encoder: Literal["gru", "transformer"] = "gru"
    encoder_units: PositiveInt | None = 128
    encoder_layers: PositiveInt = 2
    encoder_heads: PositiveInt = 4
    attention_units: PositiveInt | None = None
    output_units: PositiveInt | None = None
    dropout: command_line.Share = 0.1
    initializers: Literal["keras", "dl4mt"] = "keras"
    switch_activation: str = "noisy_tanh"
    switch_bias: float = 1.0
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 2e-3
    batch_size: PositiveInt = 64
    accumulate: PositiveInt = 1
    normalize: Literal["tokens", "sentences"] = "tokens"
    clip_norm: PositiveFloat | None = 1.0
    updates: PositiveInt = 1_500
    eval_every: PositiveInt = 250
    patience: PositiveInt | None = 5
    pad_multiple: PositiveInt = 1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    num_beams: PositiveInt = 5
    length_penalty: NonNegativeFloat = 1.0
    max_target_length: PositiveInt = 60
    merge: Literal["max", "sum"] | None = None
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = "13a"
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/europarl_ps"
    savedmodel_dir: str = "savedmodels/europarl_ps"
    fresh: bool = False


PRESETS = {
    "paper": {
        "source_vocabulary_size": 30_000,
        "target_vocabulary_size": 30_000,
        "embedding_dim": 512,
        "units": 1024,
        "encoder_units": None,
        "dropout": 0.0,
        "initializers": "dl4mt",
        "optimizer": "adadelta",
        "learning_rate": 1.0,
        "batch_size": 32,
        "normalize": "sentences",
        "updates": 500_000,
        "eval_every": 5_000,
        "patience": 10,
        "max_target_length": 200,
        "bleu_tokenize": "none",
    }
}

SYSTEMS = ("nmt", "pointer_softmax")


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        import keras

        from tfcopy import training
        from tfcopy.experiments import (
            learning_curves,
            reporting,
            restoring,
            run_folder,
        )
        from tfcopy.experiments.pairs import translation_steps

    folder = os.path.join(config.log_dir, config.run or config.preset)
    translation_steps.check(config, SYSTEMS)
    translation_steps.check_pointing(config)
    translation_steps.load_dictionary(config, "output_dictionary")
    run_folder.begin("europarl_ps", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    data = prepare(config, os.path.join(folder, "data"))

    results, translators, answers = {}, {}, {}
    for number, system in enumerate(config.systems, 1):
        head = "softmax" if system == "nmt" else config.head
        system = "nmt" if system == "nmt" else head
        print(f"\n[{number}/{len(config.systems)}] {system}")
        keras.utils.set_random_seed(config.seed)
        with strategy.scope():
            model = build_model(config, data.vocabularies, head)
        print(f"{reporting.num_parameters(model):,} parameters")
        translator = build_translator(config, model, data, head)
        scores = translation_steps.train_and_score(
            config, system, head, model, translator, data, folder
        )
        results[system], answers[system] = scores
        translators[system] = translator

    translation_steps.print_examples(data, answers)
    translation_steps.print_comparison(results, PAPER)
    learning_curves.print_lead(results)
    learning_curves.draw(results, folder, "nats a sentence")
    best = max(results, key=lambda system: results[system]["bleu"])
    path = restoring.export(
        restoring.servable(best, translators[best], data.words),
        config.savedmodel_dir,
        bleu=results[best]["bleu"],
    )
    report = {
        "recipe": "europarl_ps",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": PAPER,
        "savedmodel": path,
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    if "demo" in data.corpus.name:
        translation_steps.print_unseen_names(translators[best])
    reporting.print_next_steps(
        "europarl_ps",
        folder,
        path,
        best,
        "The session is closed.",
        watch.seconds,
    )
    return report


def prepare(config, folder):
    """The corpus as words and as ids; both are remembered in a folder."""
    from tfcopy.experiments.pairs import translation_steps

    corpus = translation_steps.load_corpus(config)
    return translation_steps.prepare(
        config,
        corpus,
        translation_steps.tokenizers(config, corpus),
        folder,
        unmatched=config.unmatched,
        dictionary=translation_steps.load_dictionary(config, "dictionary"),
    )


def build_model(config, vocabularies, head):
    """The system's model."""
    from tfcopy.models import gru_translator

    options = {}
    if head == "pointer_softmax":
        options = {
            "switch_activation": config.switch_activation,
            "switch_bias": config.switch_bias,
        }
    return gru_translator(
        vocabularies[0].size,
        vocabularies[1].size,
        head=head,
        embedding_dim=config.embedding_dim,
        encoder=config.encoder,
        encoder_layers=config.encoder_layers,
        encoder_heads=config.encoder_heads,
        units=config.units,
        encoder_units=config.encoder_units,
        attention_units=config.attention_units,
        output_units=config.output_units,
        dropout=config.dropout,
        initializers=config.initializers,
        seed=config.seed,
        **options,
    )


def build_translator(config, model, data, head):
    """Text in, text out, with the system's model."""
    from tfcopy.decoding import SearchOptions
    from tfcopy.experiments.pairs import translation_steps
    from tfcopy.serving.servables.translator import Translator

    merge = "max" if head == "pointer_softmax" else "sum"
    options = SearchOptions(
        num_beams=config.num_beams,
        max_length=config.max_target_length,
        length_penalty=config.length_penalty,
        merge=config.merge or merge,
    )
    return Translator(
        model,
        *data.vocabularies,
        source_tokenizer=data.tokenizers[0],
        target_tokenizer=data.tokenizers[1],
        options=options,
        dictionary=translation_steps.load_dictionary(
            config, "output_dictionary"
        ),
        candidate_ids=translation_steps.search_candidates(config, data),
    )


# What `serving.export --set` may change.
SEARCH_FLAGS = ("num_beams", "length_penalty", "max_target_length", "merge")
SEARCH_FLAGS += ("search_candidates", "output_dictionary")


def restore(config, system, folder, checkpoint):
    """A trained system as `run` exports it.

    Args:
        config: The recipe's config.
        system: Its folder's name: `"nmt"`, or the name of a head.
        folder: Of the run.
        checkpoint: As of `restored.load_weights`.

    Returns:
        `restored.Servable`.
    """
    from tfcopy.experiments import restoring
    from tfcopy.experiments.pairs import text_preprocessing, translation_steps

    translation_steps.check_pointing(config)
    data_folder = os.path.join(folder, "data")
    known = text_preprocessing.kept(
        data_folder, lambda: prepare(config, data_folder)
    )
    head = "softmax" if system == "nmt" else system
    model = build_model(config, known.vocabularies, head)
    restoring.load_weights(
        translation_steps.as_trained(config, model),
        os.path.join(folder, system),
        checkpoint,
        known.identity,
    )
    translator = build_translator(config, model, known, head)
    return restoring.servable(system, translator, known)


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
