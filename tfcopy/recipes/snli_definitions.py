"""Entailment with definitions (Bahdanau et al., 2017, section 4.2).

Trains an ESIM that tells whether a premise entails a hypothesis, contradicts
it, or does neither: one that knows only its vocabulary (baseline), and ones
that read what a dictionary, the spelling or fixed vectors say of other words;
compares their accuracies, also by how rare the words are, draws where nouns
lie that are embedded by their definitions alone, and exports the best one.

    python -m tfcopy.recipes.snli_definitions            invented words, minutes
    python -m tfcopy.recipes.snli_definitions --preset sick \\
        --train_file SICK_train.txt --test_file SICK_trial.txt \\
        --wordnet /usr/share/wordnet                     4,500 pairs
    python -m tfcopy.recipes.snli_definitions --preset paper \\
        --wordnet /usr/share/wordnet                     SNLI
    python -m tfcopy.recipes.snli_definitions --preset paper \\
        --corpus multi_nli --wordnet /usr/share/wordnet  MultiNLI

Repeating a command that was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
from typing import Literal

from jsonargparse.typing import PositiveFloat, PositiveInt

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet

# Test accuracy in percent: SNLI, and MultiNLI matched and mismatched.
PAPER = {
    "baseline": (82.84, 68.55, 68.57),
    "spelling": (82.89, 68.89, 69.76),
    "dict": (84.39, 71.45, 70.70),
    "glove": (86.39, 74.58, 73.92),
}


@dataclasses.dataclass(frozen=True)
class Config:
    """Pairs, models, training, and where the results go.

    Every field is a flag, and this is the only place of its default. Flags
    that start with `baseline_` are those of baseline and glove, where these
    differ.

    Attributes:
        preset: Which sizes the other fields started from.
        corpus: demo (invented words), files, or a dataset of TensorFlow
            Datasets, such as snli or multi_nli.
        train_file: Pairs to train on, as SNLI, MultiNLI and SICK are published,
            or another table.
        validation_file: The same to validate; pairs to train on are held out
            if not given.
        test_file: The same to test.
        num_held_out: How many pairs are held out for a split without a file;
            one in twenty if not given.
        parses: Whether to take the tokens of SNLI's binary parses.
        data_dir: Where TensorFlow Datasets keeps what it fetches.
        num_train: Pairs of the demo to train on.
        dictionary: File of `headword<TAB>definition` lines, plain or gzipped.
        wordnet: Or the folder of WordNet's database.
        vectors: File of word vectors, such as GloVe's, for glove.
        vectors_dim: Their size.
        systems: Which of baseline, spelling, dict and glove to train.
        combine: How dict and spelling combine what they read with the word's
            own embedding: bands (the paper's), transform, sum or replace.
        vocabulary_size: Words that have embeddings of their own; the four
            special ones count.
        baseline_vocabulary_size: The same of baseline.
        definition_vocabulary_size: Words of definitions that have embeddings.
        exclude_top_k: So many of the most frequent words are not looked up.
        num_characters: Characters that spellings are made of.
        max_definitions: Most definitions of an entry that are read.
        max_definition_length: Most words of one.
        depth: How deep the definitions of the words of definitions are read.
        phrases: Whether headwords of several words are looked for.
        max_length: Most words of a sentence that are read.
        embedding_dim: Size of the embeddings.
        baseline_embedding_dim: The same of baseline.
        units: Size of the LSTMs, each direction, and of the hidden layer.
        baseline_units: The same of baseline and glove.
        share_encoders: Whether the same LSTMs read premise and hypothesis, as
            in ESIM's own paper.
        dropout: Share of the hidden layer dropped.
        baseline_dropout: The same of baseline and glove.
        embedding_dropout: Share of the embeddings dropped before they are
            combined.
        initializers: keras (embeddings normal of deviation 1, all else as
            Keras does), glorot_uniform, or uniform (-0.05 to 0.05, as in the
            paper's code): of all weights.
        optimizer: adam, or adadelta.
        learning_rate: Of the optimizer.
        schedule: constant, or linear for a learning rate that falls to zero
            at the last update.
        batch_size: Pairs of an update.
        clip_norm: Largest norm of the gradients of an update.
        updates: Most updates of each system.
        eval_every: Updates between two scores on the validation set.
        patience: Scores in a row without a better one that end training.
        precision: float32 or mixed_bfloat16.
        seed: Of weights, order and dropout.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where the best system is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    corpus: str = "demo"
    train_file: str | None = None
    validation_file: str | None = None
    test_file: str | None = None
    num_held_out: PositiveInt | None = None
    parses: bool = False
    data_dir: str | None = None
    num_train: PositiveInt = 20_000
    dictionary: str | None = None
    wordnet: str | None = None
    vectors: str | None = None
    vectors_dim: PositiveInt = 48
    systems: list[Literal["baseline", "spelling", "dict", "glove"]] = (
        dataclasses.field(default_factory=lambda: ["baseline", "dict", "glove"])
    )
    combine: Literal["bands", "transform", "sum", "replace"] = "transform"
    vocabulary_size: PositiveInt = 3_000
    baseline_vocabulary_size: PositiveInt | None = None
    definition_vocabulary_size: PositiveInt | None = None
    exclude_top_k: command_line.Seed = 0
    num_characters: PositiveInt = 1_000
    max_definitions: PositiveInt = 20
    depth: command_line.Seed = 0
    phrases: bool = False
    max_definition_length: PositiveInt = 50
    max_length: PositiveInt = 400
    embedding_dim: PositiveInt = 48
    baseline_embedding_dim: PositiveInt | None = None
    units: PositiveInt = 48
    baseline_units: PositiveInt | None = None
    share_encoders: bool = True
    dropout: command_line.Share = 0.0
    baseline_dropout: command_line.Share | None = None
    embedding_dropout: command_line.Share = 0.0
    initializers: Literal["keras", "glorot_uniform", "uniform"] = "keras"
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 3e-3
    schedule: Literal["constant", "linear"] = "linear"
    batch_size: PositiveInt = 32
    clip_norm: PositiveFloat | None = None
    updates: PositiveInt = 2_500
    eval_every: PositiveInt = 500
    patience: PositiveInt | None = None
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/snli_definitions"
    savedmodel_dir: str = "savedmodels/snli_definitions"
    fresh: bool = False


PRESETS = {
    "sick": {
        "corpus": "files",
        "num_held_out": 500,
        "systems": ["baseline", "spelling", "dict"],
        "vocabulary_size": 304,
        "definition_vocabulary_size": 3_000,
        "exclude_top_k": 300,  # all known words
        "max_definitions": 5,
        "embedding_dim": 64,
        "units": 64,
        "dropout": 0.5,
        "embedding_dropout": 0.3,
        "learning_rate": 1e-3,
        "updates": 1_200,
        "eval_every": 150,
    },
    "paper": {
        "corpus": "snli",
        "vectors_dim": 300,
        "systems": ["baseline", "spelling", "dict"],
        "baseline_vocabulary_size": 5_000,
        "combine": "bands",
        "share_encoders": False,
        "definition_vocabulary_size": 11_000,
        "exclude_top_k": 1_000,
        "embedding_dim": 100,
        "baseline_embedding_dim": 300,
        "units": 100,
        "baseline_units": 300,
        "dropout": 0.7,
        "baseline_dropout": 0.5,
        "embedding_dropout": 0.5,
        "initializers": "glorot_uniform",
        "learning_rate": 4e-4,
        "schedule": "constant",
        "updates": 1_560_000,
        "eval_every": 7_812,
        "patience": 10,
    },
}


def run(config):
    """Trains, compares, draws and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        from tfcopy.experiments import reporting
        from tfcopy.experiments.definitions import (
            definition_demo,
            definition_pictures,
            definition_steps,
        )

    systems = systems_of(config)
    folder, strategy = definition_steps.begin(
        "snli_definitions", config, systems
    )
    corpus = load_corpus(config)
    demo = config.corpus == "demo"
    watch = reporting.Stopwatch()
    data = prepare(config, corpus)

    results, built, answers, right = {}, {}, {}, {}
    for number, name in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {name}")
        own = config_of(config, name)
        one = built[name] = build(own, name, data, strategy)
        trainer, results[name] = train(own, name, one, data, folder)
        test = one.batches.evaluation(data.test, config.batch_size)
        answers[name] = predict(trainer.predict(test))
        right[name] = is_right(answers[name], data.test)
        results[name] |= score(right[name])
        if demo:
            groups = definition_demo.groups(data.test)
            results[name]["groups"] = {
                group: score(right[name][groups == group])
                for group in definition_demo.GROUPS
            }

    print_examples(data, answers)
    print_comparison(config, results)
    rarity = definition_pictures.draw_rarity(
        right, data.test, data.vocabulary, folder
    )
    categories = None
    if "dict" in built:
        categories = definition_pictures.draw_categories(
            built["dict"].model,
            built["dict"].features,
            load_categories(config),
            folder,
        )
    return definition_steps.finish(
        "snli_definitions",
        config,
        folder,
        watch,
        results,
        ("accuracy", "baseline", "glove"),
        built,
        lambda name: servable(config, name, built[name], data),
        accuracy_by_mean_log_rank=rarity,
        categories=categories,
        paper=PAPER,
    )


def systems_of(config):
    """The systems of the paper's Table 2."""
    from tfcopy.experiments.definitions.definition_systems import System

    return {
        "baseline": System(),
        "spelling": System(spelling=True, combine=config.combine),
        "dict": System("definitions", combine=config.combine),
        "glove": System(fixed=True),
    }


def load_corpus(config):
    """The corpus that the flags ask for."""
    from tfcopy.data.corpora import nli
    from tfcopy.data.generated import demo_definitions

    if config.corpus == "demo":
        return demo_definitions.entailments(num_train=config.num_train)
    if config.corpus != "files":
        return nli.load_tfds(config.corpus, config.data_dir)
    if config.train_file is None:
        raise ValueError(
            "--train_file must be given. Received: --corpus files without it."
        )
    return nli.load(
        config.train_file,
        config.validation_file,
        config.test_file,
        parses=config.parses,
        num_held_out=config.num_held_out,
    )


def read_pairs(split, tokenizer, max_length):
    """Yields what `WordTexts.from_examples` takes."""
    from tfcopy.data import chunks

    def tokenize(examples):
        sides = [
            tokenizer.tokenize(chunks.to_tensor(side)).to_list()
            for side in list(zip(*examples))[:2]
        ]
        return [(*pair, x.label) for *pair, x in zip(*sides, examples)]

    parts = chunks.map_chunks(
        tokenize,
        split,
        total=split.num_examples,
        description="Cutting sentences into words",
    )
    for part in parts:
        for *sides, label in part:
            words = [[x.decode() for x in side[:max_length]] for side in sides]
            yield dict(zip(("premise", "hypothesis"), words)), {"label": label}


def prepare(config, corpus):
    """The pairs as words, and what the systems read: `Data`."""
    from tfcopy.experiments.definitions import definition_data

    tokenizer = definition_data.tokenizer_of(corpus)
    return definition_data.prepare(
        config,
        corpus,
        lambda split: read_pairs(split, tokenizer, config.max_length),
        systems_of(config),
        config.corpus == "demo",
    )


def config_of(config, name):
    """The config of one system: baseline and glove have flags of their own."""
    from tfcopy.experiments import reporting

    has_own = name in ("baseline", "glove")
    return reporting.baseline_config(config) if has_own else config


def build(config, name, data, strategy):
    """A system with its model: `definition_systems.Built`."""
    from tfcopy.experiments.definitions import definition_systems

    return definition_systems.build(
        config,
        systems_of(config)[name],
        data,
        strategy,
        build_model,
        exclude_top_k=config.exclude_top_k,
    )


def build_model(config, system, data, features):
    """A system's model."""
    from tfcopy.experiments.definitions import definition_systems
    from tfcopy.models import esim

    return esim(
        definition_systems.build_embedding(config, system, data, features),
        units=config.units,
        share_encoders=config.share_encoders,
        dropout=config.dropout,
        **definition_systems.lstm_options(config),
        seed=config.seed,
    )


def train(config, name, built, data, folder):
    """Trains a system, or goes on training it."""
    import tensorflow as tf

    from tfcopy import losses
    from tfcopy.data.corpora.nli import LABELS
    from tfcopy.experiments.definitions import (
        definition_samples,
        definition_steps,
    )

    def accuracy(batch, logits):
        labels = tf.argmax(logits, -1, output_type=tf.int32)
        right = tf.cast(labels == batch["label"], tf.float32)
        return {"accuracy": tf.reduce_mean(right)}

    return definition_steps.train(
        config,
        name,
        built,
        data,
        folder,
        losses.label,
        targets="label",
        metrics=accuracy,
        score="accuracy",
        on_eval=definition_samples.EntailmentSamples(
            built, data.validation, LABELS
        ),
    )


def predict(predictions):
    """Probabilities of the labels, `(examples, 3)`.

    Args:
        predictions: Iterable of a batch and the scores of its labels.
    """
    import numpy as np
    from keras import ops

    return np.concatenate(
        [
            ops.convert_to_numpy(ops.softmax(logits, axis=-1))
            for _, logits in predictions
        ]
    )


def score(right):
    """Percent of labels that are right, with a 95 % interval."""
    from tfcopy.evaluation import translations

    accuracy = 100 * float(right.mean())
    low, high = translations.interval(accuracy, len(right))
    return {
        "accuracy": round(accuracy, 2),
        "interval": [round(low, 2), round(high, 2)],
    }


def is_right(probabilities, test):
    """Which examples are labelled rightly, `(examples,)`."""
    return probabilities.argmax(-1) == test.labels["label"]


def load_categories(config):
    """Nouns to draw: the demo's, by kind, or those of three categories."""
    from tfcopy.data.definitions import nouns_by_category
    from tfcopy.data.generated import demo_definitions

    if config.corpus == "demo":
        return demo_definitions.nouns_by_kind()
    return nouns_by_category.NOUNS_BY_CATEGORY


def print_examples(data, answers, count=4):
    """Shows pairs, and what the systems say."""
    from tfcopy.data.corpora.nli import LABELS

    print("\nExamples from the test set:")
    width = max(map(len, [*answers, "hypothesis"])) + 2
    for i in range(min(count, len(data.test))):
        print()
        for name in data.test.texts:
            print(f"{name:{width}}{' '.join(data.test.tokens(name, i))}")
        for name, rows in answers.items():
            best = rows[i].argmax()
            told = f"{LABELS[best]} ({100 * rows[i][best]:.0f} %)"
            print(f"{name:{width}}{told}")
        print(f"{'truth':{width}}{LABELS[data.test.labels['label'][i]]}")


def print_comparison(config, results):
    """A table of the systems, beside the paper's for its corpora."""
    from tfcopy.experiments import reporting

    columns = {
        "accuracy": "accuracy",
        "weights": "parameters",
        "updates": "updates",
        "seconds": "seconds_training",
    }
    corpora = {"snli": 0, "multi_nli": 2}  # mismatched pairs are for testing
    paper = {}
    if config.corpus in corpora:
        paper = {
            f"{name}, paper": {"accuracy": PAPER[name][corpora[config.corpus]]}
            for name in results
        }
    reporting.print_table({**results, **paper}, columns)
    print("Percent of the test set.")


# What `serving.export --set` may change.
SEARCH_FLAGS = ("dictionary",)


def restore(config, system, folder, checkpoint):
    """A trained system as `run` exports it; the corpus is read again.

    Args:
        config: The recipe's config.
        system: Its name.
        folder: Of the run.
        checkpoint: As of `restored.load_weights`.

    Returns:
        `restored.Servable`.
    """
    import tensorflow as tf

    from tfcopy.experiments.definitions import definition_steps

    config = dataclasses.replace(config_of(config, system), systems=[system])
    data = prepare(config, load_corpus(config))
    built = build(config, system, data, tf.distribute.get_strategy())
    definition_steps.load_weights(
        built, data, os.path.join(folder, system), checkpoint
    )
    return servable(config, system, built, data)


def servable(config, name, built, data):
    """What is exported of a system."""
    from tfcopy.experiments.definitions import definition_steps
    from tfcopy.serving.servables.entailment_classifier import (
        EntailmentClassifier,
    )

    texts = [
        {name: " ".join(data.test.tokens(name, i)) for name in data.test.texts}
        for i in range(min(4, len(data.test)))
    ]
    return definition_steps.servable(
        EntailmentClassifier,
        name,
        built,
        data,
        texts,
        max_length=config.max_length,
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
