"""Pointer-generator with coverage on CNN/Daily Mail (See et al., 2017).

Trains an attentional baseline, the pointer-generator and, from its weights,
the pointer-generator with coverage; compares them and the lead of the article
by ROUGE, shows what was copied, and exports the best one. Whatever has a
source and a shorter target will do: summaries, headlines, questions.

    python -m tfcopy.recipes.cnn_dailymail_pg                     demo news
    python -m tfcopy.recipes.cnn_dailymail_pg --preset paper      the paper's
    python -m tfcopy.recipes.cnn_dailymail_pg --bin_dir finished_files/chunked
    python -m tfcopy.recipes.cnn_dailymail_pg --train '[a.src, a.tgt]'
    python -m tfcopy.recipes.cnn_dailymail_pg --train '[news.csv]' \\
        --source_column text --target_column title

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

PAPER = {
    "seq2seq_attention": {"rouge1": 31.33, "rouge2": 11.81, "rougeL": 28.83},
    "pointer_generator": {"rouge1": 36.44, "rouge2": 15.66, "rougeL": 33.42},
    "pointer_generator_coverage": {
        "rouge1": 39.53,
        "rouge2": 17.28,
        "rougeL": 36.38,
    },
    "lead_3": {"rouge1": 40.34, "rouge2": 17.70, "rougeL": 36.57},
}
SYSTEMS = (
    "lead_3",
    "seq2seq_attention",
    "pointer_generator",
    "pointer_generator_coverage",
)
WITHOUT_MODEL = ("lead_3",)


@dataclasses.dataclass(frozen=True)
class Config:
    """Corpus, model, training, search, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes and corpus the other fields started from.
        train: Two text files, source and target, plain or gzipped, or one
            table: '[a.csv]', .tsv or .jsonl.
        validation: The same; held out from --train if not given.
        test: The same; held out from --train if not given.
        source_column: Column of a table's source, by name, or by number (from
            1) in a table without a header; of a TFDS dataset, the feature.
        target_column: The same of the target.
        bin_dir: Folder with the publisher's files train_*.bin, val_*.bin and
            test_*.bin.
        tfds: Name of a TFDS dataset of two texts, as cnn_dailymail or xsum.
        data_dir: Where TFDS keeps its datasets.
        tokenization: moses, or space for text that is tokenised already.
        lowercase: Whether words are known in lower case; what is copied comes
            back as typed.
        vocabulary: Vocabulary file to use instead of counting words.
        vocabulary_size: Most frequent words of both sides to keep.
        max_source_length: Words of a source that are read.
        max_target_length: Words of a target that are trained on, with its
            end.
        systems: Which to train, of lead_3, seq2seq_attention,
            pointer_generator and pointer_generator_coverage.
        head: Output head of the systems that point: pointer_generator,
            pointer_softmax or copynet.
        embedding_dim: Size of the word embeddings.
        units: Size of the LSTMs (of one direction in the encoder).
        attention_units: Hidden size of the attention; twice --units if not
            given.
        dropout: Share of embeddings and outputs dropped.
        initializers: keras, or the authors' (paper).
        optimizer: adam, or adagrad with sums that start at 0.1.
        learning_rate: Of the optimizer.
        schedule: constant, or linear for a learning rate that falls to zero
            at the last update, with coverage from the start again.
        batch_size: Pairs in a batch of one replica.
        accumulate: Batches in one update.
        normalize: Each example the same (examples), each token the same
            (tokens), or sums over sentences (sentences); the baseline always
            takes tokens, as in the paper.
        clip_norm: Largest global norm of the gradients.
        updates: Updates of the baseline and of the pointer-generator.
        coverage_updates: Updates with coverage, after those without.
        coverage_start_step: Train pointer_generator_coverage in one run and
            switch coverage on at this update; if not given it starts from
            the weights of pointer_generator, or, where that is not among
            --systems, after --updates.
        coverage_weight: Weight of the coverage loss.
        reset_optimizer: Whether the optimizer starts anew with coverage.
        eval_every: Updates between two dev scores.
        patience: Dev scores in a row without a better one that end a phase.
        pad_multiple: Lengths are padded to a multiple of this.
        precision: float32 or mixed_bfloat16.
        num_beams: Hypotheses kept in search.
        min_summary_length: Fewest tokens of an answer before its end.
        max_summary_length: Most tokens of an answer.
        length_penalty: Scores are divided by length ** this.
        coverage_penalty: Weight of the penalty on source words without
            attention (Wu et al., 2016).
        no_repeat_ngram: No sequence of so many words twice; 0 for any.
        forbid_unk: Whether <unk> is never generated.
        refill_beams: Whether finished answers leave no beam less, as in the
            authors' search.
        decode_initial_attention: Whether search attends once before the
            first word, as the authors' decoder does.
        bleu_tokenize: Tokenisation of sacrebleu.
        seed: Of weights, order and dropout.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where the best system is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    train: list[str] | None = None
    validation: list[str] | None = None
    test: list[str] | None = None
    source_column: str | None = None
    target_column: str | None = None
    bin_dir: str | None = None
    tfds: str | None = None
    data_dir: str | None = None
    tokenization: Literal["moses", "space"] = "moses"
    lowercase: bool = False
    vocabulary: str | None = None
    vocabulary_size: PositiveInt = 800
    max_source_length: PositiveInt = 120
    max_target_length: PositiveInt = 60
    systems: list[
        Literal[
            "lead_3",
            "seq2seq_attention",
            "pointer_generator",
            "pointer_generator_coverage",
        ]
    ] = dataclasses.field(default_factory=lambda: list(SYSTEMS))
    head: Literal["pointer_generator", "pointer_softmax", "copynet"] = (
        "pointer_generator"
    )
    embedding_dim: PositiveInt = 64
    units: PositiveInt = 128
    attention_units: PositiveInt | None = None
    dropout: command_line.Share = 0.0
    initializers: Literal["keras", "paper"] = "keras"
    optimizer: Literal["adam", "adagrad"] = "adam"
    learning_rate: PositiveFloat = 2e-3
    schedule: Literal["constant", "linear"] = "linear"
    batch_size: PositiveInt = 32
    accumulate: PositiveInt = 1
    normalize: Literal["examples", "tokens", "sentences"] = "examples"
    clip_norm: PositiveFloat | None = 2.0
    updates: PositiveInt = 1_000
    coverage_updates: PositiveInt = 2_000
    coverage_start_step: NonNegativeInt | None = None
    coverage_weight: NonNegativeFloat = 1.0
    reset_optimizer: bool = True
    eval_every: PositiveInt = 250
    patience: PositiveInt | None = None
    pad_multiple: PositiveInt = 1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    num_beams: PositiveInt = 4
    min_summary_length: NonNegativeInt = 0
    max_summary_length: PositiveInt = 60
    length_penalty: NonNegativeFloat = 1.0
    coverage_penalty: NonNegativeFloat = 0.0
    no_repeat_ngram: NonNegativeInt = 0
    forbid_unk: bool = False
    refill_beams: bool = True
    decode_initial_attention: bool = False
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = "13a"
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/cnn_dailymail_pg"
    savedmodel_dir: str = "savedmodels/cnn_dailymail_pg"
    fresh: bool = False


PRESETS = {
    "paper": {
        "tfds": "cnn_dailymail",
        "lowercase": True,
        "vocabulary_size": 50_000,
        "max_source_length": 400,
        "max_target_length": 100,
        "embedding_dim": 128,
        "units": 256,
        "initializers": "paper",
        "optimizer": "adagrad",
        "learning_rate": 0.15,
        "schedule": "constant",
        "batch_size": 16,
        "updates": 230_000,
        "coverage_updates": 3_000,
        "eval_every": 2_000,
        "num_beams": 4,
        "min_summary_length": 35,
        "max_summary_length": 120,
    }
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        from tfcopy import training
        from tfcopy.experiments import reporting, restoring, run_folder
        from tfcopy.experiments.pairs import summarization

    folder = os.path.join(config.log_dir, config.run or config.preset)
    summarization.check(config, SYSTEMS)
    run_folder.begin("cnn_dailymail_pg", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    data = summarization.prepare(config, os.path.join(folder, "data"))
    test = summarization.TestSet(data, config)

    results, models, translators, answers = {}, {}, {}, {}
    for number, system in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {system}")
        if system == "lead_3":
            results[system] = test.score_texts(test.leads())
            continue
        model = build_model(config, data, system, strategy)
        print(f"{reporting.num_parameters(model):,} parameters")
        translator = build_translator(config, model, data)
        trained = train(config, system, model, models, translator, data, folder)
        answers[system], scores = test.answer(translator)
        results[system] = {**trained, **scores}
        models[system], translators[system] = model, translator

    references = test.reference_rates()
    summarization.print_examples(test, answers)
    summarization.print_comparison(results, references, PAPER)
    best = path = None
    if translators:
        best = summarization.best_on_validation(translators, data)
        path = restoring.export(
            servable(best, translators[best]),
            config.savedmodel_dir,
            rouge1=results[best]["rouge1"],
        )
    report = {
        "recipe": "cnn_dailymail_pg",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": PAPER,
        **({"savedmodel": path} if path else {}),
        "references": references,
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    if best and "demo" in data.corpus.name:
        summarization.print_unseen_names(translators[best])
    if best:
        reporting.print_next_steps(
            "cnn_dailymail_pg",
            folder,
            path,
            best,
            "A story .",
            watch.seconds,
        )
    return report


def head_of(config, system):
    """Name of the head that a system has: the baseline cannot point."""
    return "softmax" if system == "seq2seq_attention" else config.head


def build_model(config, data, system, strategy):
    """The system's model, the same at each start."""
    import keras

    from tfcopy.models import pointer_generator

    keras.utils.set_random_seed(config.seed)
    with strategy.scope():
        return pointer_generator(
            data.vocabularies[0].size,
            head=head_of(config, system),
            coverage=system == "pointer_generator_coverage",
            coverage_enabled=False,
            embedding_dim=config.embedding_dim,
            units=config.units,
            attention_units=config.attention_units,
            dropout=config.dropout,
            initializers=config.initializers,
            decode_initial_attention=config.decode_initial_attention,
            seed=config.seed,
        )


def train(config, system, model, models, translator, data, folder):
    """Trains a system; returns its part of the results.

    With coverage in two phases: the first is that of the pointer-generator,
    trained here, or whose weights are taken if it was trained before.
    """
    from tfcopy import losses, training
    from tfcopy.experiments.pairs import summarization

    options = {"steps": config.updates, "normalize": config.normalize}
    if system == "seq2seq_attention":
        options["normalize"] = "tokens"
    if system == "pointer_generator_coverage":
        attention = model.cell.attention
        options["penalty"] = losses.CoveragePenalty(
            config.coverage_weight, attention.enabled
        )
        start = config.coverage_start_step
        if start is None:
            start = config.updates
            if "pointer_generator" in models:
                training.warm_start(model, models["pointer_generator"])
                start = 0
        options["phases"] = [
            training.Phase(start, attention.enable, config.reset_optimizer)
        ]
        options["steps"] = start + config.coverage_updates
    return summarization.train(
        config,
        system,
        model,
        losses.OF_HEAD[head_of(config, system)],
        translator,
        data,
        folder,
        **options,
    )


def build_translator(config, model, data):
    """Text in, text out, with the system's model."""
    from tfcopy.decoding import SearchOptions
    from tfcopy.serving.servables.translator import Translator

    options = SearchOptions(
        num_beams=config.num_beams,
        min_length=config.min_summary_length,
        max_length=config.max_summary_length,
        length_penalty=config.length_penalty,
        length_offset=1,
        coverage_penalty=config.coverage_penalty,
        no_repeat_ngram=config.no_repeat_ngram,
        forbid_unk=config.forbid_unk,
        refill=config.refill_beams,
    )
    return Translator(
        model,
        *data.vocabularies,
        source_tokenizer=data.tokenizers[0],
        target_tokenizer=data.tokenizers[1],
        options=options,
        max_source_length=config.max_source_length,
        append_eos=False,
    )


# What `serving.export --set` may change.
SEARCH_FLAGS = ("num_beams", "min_summary_length", "max_summary_length")
SEARCH_FLAGS += ("length_penalty", "coverage_penalty", "no_repeat_ngram")
SEARCH_FLAGS += ("forbid_unk", "refill_beams", "decode_initial_attention")
SEARCH_FLAGS += ("max_source_length",)


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
    import tensorflow as tf

    from tfcopy.experiments import restoring
    from tfcopy.experiments.pairs import summarization, text_preprocessing

    summarization.check_shared(config)
    data_folder = os.path.join(folder, "data")
    known = text_preprocessing.kept(
        data_folder, lambda: summarization.prepare(config, data_folder)
    )
    model = build_model(config, known, system, tf.distribute.get_strategy())
    # Whether coverage is on is one of the weights.
    restoring.load_weights(
        model, os.path.join(folder, system), checkpoint, known.identity
    )
    return servable(system, build_translator(config, model, known))


def servable(system, translator):
    """What is exported of a system."""
    from tfcopy.experiments.restoring import Servable

    return Servable(translator, ["A story ."], {"system": system})


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
