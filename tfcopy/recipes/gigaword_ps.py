"""Pointer softmax on headlines (Gulcehre et al., 2016, section 5.2).

Trains the paper's baseline (nmt_lvt: a translator from first sentences to
headlines, with the large vocabulary trick) and the same model with a pointer
softmax, compares them by ROUGE, shows what was copied, and exports the better
one. What is pointed at is either words that the vocabulary lacks (--pointers
unk) or names, which become numbered placeholders (--pointers entity).

    python -m tfcopy.recipes.gigaword_ps                    generated headlines
    python -m tfcopy.recipes.gigaword_ps --pointers entity
    python -m tfcopy.recipes.gigaword_ps --train '[a.src, a.tgt]'  your own
    python -m tfcopy.recipes.gigaword_ps --train '[news.csv]' \\
        --source_column lead --target_column headline
    python -m tfcopy.recipes.gigaword_ps --preset paper --train '[a.src, a.tgt]'

The corpus of the paper, annotated Gigaword, is licensed. The one that TFDS has
(--tfds gigaword) will do for the baseline alone: its rare words are UNK
already, and nobody knows which; its names are in lower case.

Repeating a command that was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
from typing import Literal

from jsonargparse.typing import (
    NonNegativeFloat,
    NonNegativeInt,
    PositiveFloat,
    PositiveInt,
)

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet


def _scores(*values):
    names = ("rouge1", "rouge2", "rougeL")
    names += tuple(f"{name}_recall" for name in names)
    return dict(zip(names, values))


# Tables 1 and 3 (recall), and Table 2.
PAPER = {
    "unk": {
        "nmt_lvt": _scores(34.87, 16.54, 32.27, 36.45, 17.41, 33.90),
        "pointer_softmax_lvt": _scores(
            35.19, 16.66, 32.51, 37.29, 17.75, 34.70
        ),
    },
    "entity": {
        "nmt_lvt": _scores(34.89, 16.78, 32.37),
        "pointer_softmax_lvt": _scores(35.11, 16.76, 32.55),
    },
}
# In a hundred examples.
PAPER_POINTERS = {
    "unk": {"train": 2.7, "validation": 9.1},
    "entity": {"train": 161, "validation": 139},
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Corpus, model, training, search, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes the other fields started from.
        train: Two text files, source and headlines, plain or gzipped, or one
            table: '[a.csv]', .tsv or .jsonl.
        validation: The same; held out from --train if not given.
        test: The same; held out from --train if not given.
        source_column: Column of a table's source, by name, or by number (from
            1) in a table without a header; of a TFDS dataset, the feature.
        target_column: The same of the headlines.
        tfds: Name of a TFDS dataset of two texts, as gigaword.
        data_dir: Where TFDS keeps its datasets.
        num_validation: Most pairs to validate, drawn at random; all if not
            given.
        num_test: Most pairs to test, drawn at random; all if not given.
        tokenization: moses, or space for text that is tokenised already.
        lowercase: Whether words are known in lower case; what is copied comes
            back as typed.
        pointers: What is pointed at, unk (words outside of the vocabulary) or
            entity (these, and the placeholders of entities).
        entity_pattern: Regular expression (RE2) of a whole token that is an
            entity; if not given, a token with a capital in front or a figure
            anywhere, wherever it stands.
        entity_exceptions: The same of tokens that are none nevertheless; if
            not given, English function words.
        entity_truecase: Whether words that the training sources have in lower
            case at least as often as with a capital are none either: for
            headlines with capitals throughout.
        train_tags: Two files that tell entities instead, source and
            headlines: a tag for each token of --train, O or anything else. A
            model so trained is asked with text as `acme￨ORG of`.
        validation_tags: The same for --validation.
        test_tags: The same for --test.
        unmatched: Label of unknown words that the source does not hold: unk,
            or attention_argmax (point where the model looks).
        source_vocabulary: Vocabulary file to use instead of counting words.
        target_vocabulary: Vocabulary file to use instead of counting words.
        source_vocabulary_size: Most frequent source words to keep.
        target_vocabulary_size: Most frequent words of headlines to keep.
        min_count: Words that are rarer on a side are unknown there.
        source_vectors: Word vectors that the source embeddings start from:
            word2vec's text or binary format, or GloVe's, plain or gzipped.
        target_vectors: The same of the headlines; it may be the same file.
        candidates: Words that an update's output layer knows (the large
            vocabulary trick); all if not given.
        candidates_from: Which words are among them beside the most frequent:
            those of an update's sources (the paper's choice), of the whole
            batch, targets too, or a sample of all words as well.
        search_candidates: Words that search generates, the most frequent; all
            if not given.
        max_source_length: Words of a source that are read.
        max_target_length: Words of a headline that are trained on, with its
            end.
        systems: Which of nmt_lvt and pointer_softmax_lvt to train.
        embedding_dim: Size of the word embeddings.
        units: Size of the decoder's state.
        encoder_units: Size of the encoder's state, each direction; --units if
            not given.
        attention_units: Hidden size of the attention.
        output_units: Width of the layer below the output softmax.
        dropout: Share dropped of embeddings and of that layer, in training.
        initializers: keras, or dl4mt (those of the paper's base system).
        switch_activation: noisy_tanh, relu or another Keras activation.
        switch_bias: Where the switch starts; above 0 leans to generating.
        optimizer: adam or adadelta.
        learning_rate: Of the optimizer.
        batch_size: Pairs of an update, over all devices.
        accumulate: Batches of an update.
        normalize: What the loss is divided by, tokens or sentences.
        clip_norm: Largest norm of the gradients of an update.
        updates: Most updates of each system.
        eval_every: Updates between two scores on the validation set.
        patience: Scores in a row without a better one that end training.
        pad_multiple: Lengths are padded to a multiple of this.
        precision: float32 or mixed_bfloat16.
        num_beams: Beams of the search.
        min_summary_length: Fewest words of an answer before its end.
        max_summary_length: Most words of an answer, with its end.
        length_penalty: Scores are divided by length to this power.
        no_repeat_ngram: No sequence of so many words twice; 0 for any.
        forbid_unk: Whether <unk> is never generated.
        merge: How search treats several ways to say a word: max (the
            paper's) or sum.
        bleu_tokenize: Tokenisation of sacrebleu.
        seed: Of weights, order, dropout and noise.
        run: Name of the run; the preset's if not given, with _entity behind
            it for --pointers entity.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where the better system is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    train: list[str] | None = None
    validation: list[str] | None = None
    test: list[str] | None = None
    source_column: str | None = None
    target_column: str | None = None
    tfds: str | None = None
    data_dir: str | None = None
    num_validation: PositiveInt | None = None
    num_test: PositiveInt | None = None
    tokenization: Literal["moses", "space"] = "moses"
    lowercase: bool = False
    pointers: Literal["unk", "entity"] = "unk"
    entity_pattern: str | None = None
    entity_exceptions: str | None = None
    entity_truecase: bool = False
    train_tags: list[str] | None = None
    validation_tags: list[str] | None = None
    test_tags: list[str] | None = None
    unmatched: Literal["unk", "attention_argmax"] = "unk"
    source_vocabulary: str | None = None
    target_vocabulary: str | None = None
    source_vocabulary_size: PositiveInt = 2_000
    target_vocabulary_size: PositiveInt = 2_000
    min_count: PositiveInt = 5
    source_vectors: str | None = None
    target_vectors: str | None = None
    candidates: PositiveInt | None = 400
    candidates_from: Literal["sources", "batch", "sample"] = "sources"
    search_candidates: PositiveInt | None = None
    max_source_length: PositiveInt = 100
    max_target_length: PositiveInt = 50
    systems: list[Literal["nmt_lvt", "pointer_softmax_lvt"]] = (
        dataclasses.field(
            default_factory=lambda: ["nmt_lvt", "pointer_softmax_lvt"]
        )
    )
    embedding_dim: PositiveInt = 64
    units: PositiveInt = 128
    encoder_units: PositiveInt | None = None
    attention_units: PositiveInt | None = None
    output_units: PositiveInt | None = None
    dropout: command_line.Share = 0.0
    initializers: Literal["keras", "dl4mt"] = "keras"
    switch_activation: str = "noisy_tanh"
    switch_bias: float = 1.0
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 2e-3
    batch_size: PositiveInt = 32
    accumulate: PositiveInt = 1
    normalize: Literal["tokens", "sentences"] = "tokens"
    clip_norm: PositiveFloat | None = 1.0
    updates: PositiveInt = 1_000
    eval_every: PositiveInt = 200
    patience: PositiveInt | None = 5
    pad_multiple: PositiveInt = 1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    num_beams: PositiveInt = 5
    min_summary_length: NonNegativeInt = 0
    max_summary_length: PositiveInt = 30
    length_penalty: NonNegativeFloat = 1.0
    no_repeat_ngram: NonNegativeInt = 0
    forbid_unk: bool = False
    merge: Literal["max", "sum"] = "max"
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = "13a"
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/gigaword_ps"
    savedmodel_dir: str = "savedmodels/gigaword_ps"
    fresh: bool = False


PRESETS = {
    "paper": {
        "num_validation": 2_000,
        "num_test": 2_000,
        "tokenization": "space",
        "source_vocabulary_size": 125_000,
        "target_vocabulary_size": 75_000,
        "candidates": 2_000,
        "embedding_dim": 100,
        "units": 200,
        "initializers": "dl4mt",
        "optimizer": "adadelta",
        "learning_rate": 1.0,
        "batch_size": 64,
        "normalize": "sentences",
        "updates": 500_000,
        "eval_every": 5_000,
        "patience": 10,
        "max_summary_length": 50,
        "bleu_tokenize": "none",
    }
}


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
        from tfcopy.experiments.pairs import headlines, summarization

    suffix = "_entity" * (config.pointers == "entity")
    name = config.run or f"{config.preset}{suffix}"
    folder = os.path.join(config.log_dir, name)
    headlines.check(config)
    run_folder.begin("gigaword_ps", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    data = headlines.prepare(config, os.path.join(folder, "data"))
    test = summarization.TestSet(data, config, split=False)

    results, translators, answers = {}, {}, {}
    for number, system in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {system}")
        keras.utils.set_random_seed(config.seed)
        with strategy.scope():
            model = build_model(config, data.vocabularies, system)
            headlines.set_vectors(model, data)
        print(f"{reporting.num_parameters(model):,} parameters")
        translators[system] = build_translator(config, model, data, system)
        results[system], answers[system] = headlines.train_and_score(
            config, system, model, translators[system], data, test, folder
        )

    summarization.print_examples(test, answers)
    paper, pointers = PAPER[config.pointers], PAPER_POINTERS[config.pointers]
    headlines.print_comparison(results, paper, data, pointers)
    learning_curves.print_lead(results)
    learning_curves.draw(results, folder, "nats a headline")
    best = summarization.best_on_validation(translators, data)
    path = restoring.export(
        servable(best, translators[best], data.words),
        config.savedmodel_dir,
        rouge1=results[best]["rouge1"],
    )
    report = {
        "recipe": "gigaword_ps",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": paper,
        "savedmodel": path,
        "pointers_per_100": data.pointers_per_100,
        "paper_pointers_per_100": pointers,
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    reporting.print_next_steps(
        "gigaword_ps", folder, path, best, test.pairs[0][0], watch.seconds
    )
    return report


def build_model(config, vocabularies, system):
    """The system's model."""
    from tfcopy.experiments.pairs.headlines import HEADS
    from tfcopy.models import gru_translator

    options = {}
    if HEADS[system] == "pointer_softmax":
        options = {
            "switch_activation": config.switch_activation,
            "switch_bias": config.switch_bias,
        }
    return gru_translator(
        vocabularies[0].size,
        vocabularies[1].size,
        head=HEADS[system],
        embedding_dim=config.embedding_dim,
        units=config.units,
        encoder_units=config.encoder_units,
        attention_units=config.attention_units,
        output_units=config.output_units,
        dropout=config.dropout,
        initializers=config.initializers,
        seed=config.seed,
        **options,
    )


def build_translator(config, model, data, system):
    """Text in, text out, with the system's model."""
    from tfcopy.data.text.entities import placeholder_ids
    from tfcopy.decoding import SearchOptions
    from tfcopy.experiments.pairs import translation_steps
    from tfcopy.serving.servables.translator import Translator

    placeholders = ()
    if data.entities is not None:
        placeholders = placeholder_ids(data.vocabularies[1])
    options = SearchOptions(
        num_beams=config.num_beams,
        min_length=config.min_summary_length,
        max_length=config.max_summary_length,
        length_penalty=config.length_penalty,
        no_repeat_ngram=config.no_repeat_ngram,
        forbid_unk=config.forbid_unk,
        # A placeholder without a source word would be spelt <unk>.
        source_only=placeholders if config.forbid_unk else (),
        merge=config.merge,
    )
    return Translator(
        model,
        *data.vocabularies,
        source_tokenizer=data.tokenizers[0],
        target_tokenizer=data.tokenizers[1],
        options=options,
        max_source_length=config.max_source_length,
        candidate_ids=translation_steps.search_candidates(config, data),
        entities=data.entities,
    )


# What `serving.export --set` may change.
SEARCH_FLAGS = ("num_beams", "min_summary_length", "max_summary_length")
SEARCH_FLAGS += ("length_penalty", "no_repeat_ngram", "forbid_unk", "merge")
SEARCH_FLAGS += ("search_candidates", "max_source_length")


def restore(config, system, folder, checkpoint):
    """A trained system as `run` exports it.

    Args:
        config: The recipe's config.
        system: Its name.
        folder: Of the run.
        checkpoint: As of `restored.load_weights`.

    Returns:
        `restored.Servable`.
    """
    from tfcopy.experiments import restoring
    from tfcopy.experiments.pairs import (
        headlines,
        summarization,
        translation_steps,
    )
    from tfcopy.experiments.pairs import text_preprocessing as words

    summarization.check_shared(config)
    translation_steps.check_pointing(config)
    data_folder = os.path.join(folder, "data")
    known = words.kept(
        data_folder, lambda: headlines.prepare(config, data_folder)
    )
    model = build_model(config, known.vocabularies, system)
    restoring.load_weights(
        translation_steps.as_trained(config, model),
        os.path.join(folder, system),
        checkpoint,
        known.identity,
    )
    translator = build_translator(config, model, known, system)
    return servable(system, translator, known)


def servable(system, translator, words):
    """What is exported of a system."""
    from tfcopy.experiments import restoring

    entities = words.entities and dataclasses.asdict(words.entities)
    return restoring.servable(system, translator, words, entities=entities)


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
