"""Translation into characters with planners (Gulcehre et al., 2017).

Sources are pieces of a byte-pair encoding that is learned here, targets are
characters. Trains an attentional decoder (baseline), one that plans its
alignments (pag) and one that repeats them (rpag), scores their translations,
draws where each looked and when it planned, and exports the best one.

    python -m tfcopy.recipes.wmt15_pag                      invented text
    python -m tfcopy.recipes.wmt15_pag --train '[a.en, a.de]' ...
    python -m tfcopy.recipes.wmt15_pag --preset paper       WMT 2015, by TFDS

Needs SentencePiece: pip install "tfcopy[subwords]". A system called pag_ln is
pag with layers normalised, and so are the others.
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

# BLEU of newstest2015 into each language; the baselines are the authors' own
# runs where they have them.
PAPER = {
    "de": {
        "baseline": {"bleu": 22.1},
        "pag": {"bleu": 22.21},
        "pag_ln": {"bleu": 22.83},
        "rpag": {"bleu": 22.45},
        "rpag_ln": {"bleu": 22.73},
    },
    "cs": {
        "baseline": {"bleu": 16.98},
        "pag": {"bleu": 16.99},
        "pag_ln": {"bleu": 18.59},
        "rpag": {"bleu": 17.79},
    },
    "fi": {
        "baseline": {"bleu": 10.93},
        "pag": {"bleu": 11.13},
        "pag_ln": {"bleu": 11.84},
        "rpag": {"bleu": 10.59},
    },
}

SYSTEMS = ("baseline", "baseline_ln", "pag", "pag_ln", "rpag", "rpag_ln")


@dataclasses.dataclass(frozen=True)
class Config:
    """Corpus, models, training, search, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes the other fields started from.
        train: Source and target file to train on, one sentence a line.
        validation: Source and target file to validate; with --train.
        test: Source and target file to test; with --train.
        tfds: Translation dataset of TensorFlow Datasets; with --preset paper
            it is wmt15_translate if neither it nor --train is given.
        data_dir: Where TFDS keeps its datasets.
        source_language: Of the sources, as in TFDS or file names.
        target_language: Of the targets.
        bpe_merges: Merges of the byte-pair encoding of sources.
        sentencepiece_model: File of a model for sources, instead of learning
            one.
        source_vocabulary: File of the pieces to know, one a line, instead of
            counting them.
        target_vocabulary: The same of characters.
        source_vocabulary_size: Most pieces of the source; all if not given.
        target_vocabulary_size: Most characters, with the special words.
        max_source_length: Longer sources, in pieces, are not trained on.
        max_target_length: Longer targets, in characters, are not trained on,
            nor are longer translations made.
        systems: Which of baseline, pag and rpag to train, and of the same
            names with _ln, whose layers are normalised.
        decoder: biscale (the paper's), or gru (two layers, as in the released
            script).
        head: How characters are said: softmax, pointer_softmax,
            pointer_generator or copynet.
        embedding_dim: Size of the embeddings and of the deep output.
        units: Size of each decoder layer.
        encoder_units: Size of the encoder's state, each direction; --units if
            not given.
        baseline_embedding_dim: The same of the baseline, if it differs.
        baseline_units: The same.
        baseline_encoder_units: The same.
        query: Whose states attend: both, first or second.
        plan_steps: Steps that a plan is made for.
        summary_units: Size of the summary of a plan.
        update_gate: Whether a gate mixes the old plan into a new one, as in
            the paper; it makes learning slow (docs/planning.md).
        switch: previous (a plan decides about the step after it) or current,
            as in the released code.
        resample: Whether plans that move on are drawn again, as in the
            released code.
        always_replan: Whether each step plans: the control that tells
            planning from having more weights.
        commitment_penalty: Weight of the penalty on certain plans.
        planner_layer_norm: Whether planners are normalised as well.
        dropout: Share of embeddings and outputs dropped.
        initializers: keras, or dl4mt, the authors'.
        optimizer: adam, or adadelta.
        learning_rate: Of the optimizer.
        baseline_learning_rate: The same of the baseline, if it differs.
        schedule: constant, or linear for a learning rate that falls to zero
            at the last update.
        batch_size: Sentences of a batch.
        accumulate: Batches of an update.
        clip_norm: Largest norm of the gradients of an update.
        baseline_clip_norm: The same of the baseline, if it differs.
        updates: Most updates of each system.
        eval_every: Updates between two scores on the validation set.
        patience: Scores in a row without a better one that end training.
        pad_multiple: Lengths are padded to a multiple of this.
        precision: float32 or mixed_bfloat16.
        num_beams: Beams of the search.
        length_penalty: Scores are divided by length to this power.
        bleu_tokenize: Sacrebleu's tokenisation; 13a, or none for text that
            is tokenised already.
        seed: Of weights, order, dropout and noise.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where the best system is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    train: list[str] | None = None
    validation: list[str] | None = None
    test: list[str] | None = None
    tfds: str | None = None
    data_dir: str | None = None
    source_language: str = "en"
    target_language: str = "fr"
    bpe_merges: PositiveInt = 1_000
    sentencepiece_model: str | None = None
    source_vocabulary: str | None = None
    target_vocabulary: str | None = None
    source_vocabulary_size: PositiveInt | None = None
    target_vocabulary_size: PositiveInt = 304
    max_source_length: PositiveInt = 49
    max_target_length: PositiveInt = 120
    systems: list[
        Literal["baseline", "baseline_ln", "pag", "pag_ln", "rpag", "rpag_ln"]
    ] = dataclasses.field(default_factory=lambda: ["baseline", "pag", "rpag"])
    decoder: Literal["biscale", "gru"] = "biscale"
    head: Literal[
        "softmax", "pointer_softmax", "pointer_generator", "copynet"
    ] = "softmax"
    embedding_dim: PositiveInt = 64
    units: PositiveInt = 128
    encoder_units: PositiveInt | None = None
    baseline_embedding_dim: PositiveInt | None = None
    baseline_units: PositiveInt | None = None
    baseline_encoder_units: PositiveInt | None = None
    query: Literal["both", "first", "second"] = "both"
    plan_steps: PositiveInt = 10
    summary_units: PositiveInt = 32
    update_gate: bool = False
    switch: Literal["previous", "current"] = "previous"
    resample: bool = False
    always_replan: bool = False
    commitment_penalty: NonNegativeFloat = 3e-5
    planner_layer_norm: bool = False
    dropout: command_line.Share = 0.0
    initializers: Literal["keras", "dl4mt"] = "keras"
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 2e-3
    baseline_learning_rate: PositiveFloat | None = None
    schedule: Literal["constant", "linear"] = "linear"
    batch_size: PositiveInt = 32
    accumulate: PositiveInt = 1
    clip_norm: PositiveFloat | None = 5.0
    baseline_clip_norm: PositiveFloat | None = None
    updates: PositiveInt = 650
    eval_every: PositiveInt = 130
    patience: PositiveInt | None = None
    pad_multiple: PositiveInt = 1
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    num_beams: PositiveInt = 5
    length_penalty: NonNegativeFloat = 1.0
    bleu_tokenize: Literal["13a", "none", "intl", "zh", "char"] = "13a"
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/wmt15_pag"
    savedmodel_dir: str = "savedmodels/wmt15_pag"
    fresh: bool = False

    # What the parts that recipes share ask for.
    tokenization = "none"
    end_mark = True
    allow_unk = False
    download = False

    @property
    def max_length(self):
        return self.max_source_length, self.max_target_length


PRESETS = {
    "paper": {
        "target_language": "de",
        "bpe_merges": 20_000,
        "max_target_length": 499,
        "systems": ["baseline", "pag", "pag_ln", "rpag", "rpag_ln"],
        "embedding_dim": 600,
        "units": 600,
        "baseline_embedding_dim": 512,
        "baseline_units": 1024,
        "baseline_encoder_units": 512,
        "summary_units": 64,
        "update_gate": True,
        "initializers": "dl4mt",
        "learning_rate": 3e-4,
        "baseline_learning_rate": 1e-4,
        "schedule": "constant",
        "batch_size": 64,
        "accumulate": 2,
        "baseline_clip_norm": 1.0,
        "updates": 350_000,
        "eval_every": 5_000,
        "num_beams": 15,
    }
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        from tfcopy import training
        from tfcopy.experiments import learning_curves, reporting, run_folder
        from tfcopy.experiments.pairs import planning, translation_steps

    folder = os.path.join(config.log_dir, config.run or config.preset)
    check(config)
    run_folder.begin("wmt15_pag", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    data = prepare(config, os.path.join(folder, "data"))

    results, translators, answers = {}, {}, {}
    for number, system in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {system}")
        translator, trained = planning.train_system(
            config, system, data, strategy, folder, is_normalized(system)
        )
        clock = reporting.Stopwatch()
        answers[system] = translator.translate_all(
            source for source, _ in data.test
        )
        results[system] = {
            **trained,
            **translation_steps.score(config, answers[system], data),
            "seconds_translating": clock.seconds,
        }
        translators[system] = translator

    reporting.print_marked_examples(data.test, answers, range(3), "characters")
    print_comparison(results, PAPER.get(config.target_language, {}))
    learning_curves.print_lead(results)
    learning_curves.draw(results, folder, "nats a sentence")
    models = {name: x.model for name, x in translators.items()}
    planning.draw_plans(models, data, data.test[0], folder)
    best, path = planning.export(
        translators, config, results, "bleu", data.words
    )
    report = {
        "recipe": "wmt15_pag",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": PAPER.get(config.target_language, {}),
        "savedmodel": path,
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    reporting.print_next_steps(
        "wmt15_pag", folder, path, best, data.test[0][0], watch.seconds
    )
    return report


def is_normalized(system):
    """Whether a system's layers are normalised, as its name says."""
    return system.endswith("_ln")


def check(config):
    """Raises a ValueError that names a flag which makes no sense."""
    from tfcopy.experiments.pairs import translation_steps

    translation_steps.check(config, SYSTEMS)
    uses_tfds = config.tfds is not None or config.preset == "paper"
    if config.data_dir is not None and (config.train or not uses_tfds):
        raise ValueError("--data_dir needs --tfds or --preset paper.")


def prepare(config, folder):
    """The corpus as pieces, characters and ids; all are remembered."""
    from tfcopy.data.text.tokenization import Tokenizer
    from tfcopy.experiments.pairs import translation_steps

    if config.preset == "paper" and not (config.train or config.tfds):
        pair = f"{config.target_language}-{config.source_language}"
        config = dataclasses.replace(config, tfds=f"wmt15_translate/{pair}")
    corpus = translation_steps.load_corpus(config)
    characters = Tokenizer(mode="characters", language=config.target_language)
    return translation_steps.prepare(
        config,
        corpus,
        (source_tokenizer(config, corpus, folder), characters),
        folder,
        unmatched="unk",
    )


def source_tokenizer(config, corpus, folder):
    """Pieces of the model that is given, or learned once."""
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import translation_steps

    if config.sentencepiece_model is not None:
        return translation_steps.sentencepiece_tokenizer(
            config.sentencepiece_model
        )
    (tokenizer,) = reporting.make_once(
        [os.path.join(folder, "source.model")],
        [corpus.splits["train"].fingerprint, config.bpe_merges],
        lambda: [Pieces(corpus.train, config.bpe_merges)],
        translation_steps.sentencepiece_tokenizer,
    )
    return tokenizer


class Pieces:
    """Byte-pair encoding of the sources of pairs, learned when saved."""

    def __init__(self, pairs, merges):
        self.pairs = pairs
        self.merges = merges

    def __iter__(self):
        return (source for source, _ in self.pairs)

    def save(self, path):
        from tfcopy.data import train_sentencepiece
        from tfcopy.experiments.pairs import translation_steps

        print(f"Learning {self.merges:,} merges of the sources.")
        try:
            train_sentencepiece.train_bpe(self, self.merges, path)
        except ImportError as error:
            raise ValueError(
                "--bpe_merges needs SentencePiece: pip install "
                "'tfcopy[subwords]', or give a --sentencepiece_model."
            ) from error
        except ValueError as error:
            raise ValueError(f"--bpe_merges: {error}") from error
        return translation_steps.sentencepiece_tokenizer(path)


def print_comparison(results, paper):
    """A table of the systems, and what the paper reports."""
    from tfcopy.experiments import reporting

    columns = {
        "BLEU": "bleu",
        "chrF": "chrf",
        "dev ppl": "perplexity",
        "weights": "parameters",
        "updates": "updates",
        "seconds": "seconds_training",
        "chars/s": "target_tokens_per_second",
    }
    rows = dict(results)
    for system in results:
        if system in paper:
            rows[f"{system}, paper"] = paper[system]
    reporting.print_table(rows, columns)
    signature = next(iter(results.values()))["bleu_signature"]
    note = " The paper's is of newstest2015, multi-bleu." if paper else ""
    print(f"BLEU: {signature}.{note}")


# What `serving.export --set` may change.
SEARCH_FLAGS = ("num_beams", "length_penalty", "max_target_length")


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
    from tfcopy.experiments.pairs import planning, text_preprocessing

    data_folder = os.path.join(folder, "data")
    known = text_preprocessing.kept(
        data_folder, lambda: prepare(config, data_folder)
    )
    return planning.restore(
        config, system, folder, checkpoint, known, is_normalized(system)
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
