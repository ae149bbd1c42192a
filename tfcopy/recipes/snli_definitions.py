"""Entailment with definitions (Bahdanau et al., 2017, section 4.2).

Trains ESIM models that predict whether a premise entails a hypothesis,
contradicts it, or does neither: one that knows only its vocabulary (baseline),
and others that look up other words in a dictionary, in fixed vectors, or by
their spelling; compares their accuracies, also by word rarity, plots nouns that
are embedded by their definitions alone, and exports the best one.

    python -m tfcopy.recipes.snli_definitions            invented words, minutes
    python -m tfcopy.recipes.snli_definitions --preset sick \\
        --train_file SICK_train.txt --test_file SICK_trial.txt \\
        --wordnet /usr/share/wordnet                     4,500 pairs
    python -m tfcopy.recipes.snli_definitions --preset paper \\
        --wordnet /usr/share/wordnet                     SNLI
    python -m tfcopy.recipes.snli_definitions --preset paper \\
        --corpus multi_nli --wordnet /usr/share/wordnet  MultiNLI

Repeating an interrupted command resumes it where it stopped.
"""

import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.definitions import definition_flags
from tfcopy.flags import PositiveInt

# The systems of the paper's Table 2; --combine is added to them.
SYSTEMS = {
    "baseline": definition_flags.WordSources(),
    "spelling": definition_flags.WordSources(spelling=True),
    "dict": definition_flags.WordSources("definitions"),
    "glove": definition_flags.WordSources(fixed=True),
}
# Test accuracy in percent: SNLI, and MultiNLI matched and mismatched.
PAPER = {
    "baseline": (82.84, 68.55, 68.57),
    "spelling": (82.89, 68.89, 69.76),
    "dict": (84.39, 71.45, 70.70),
    "glove": (86.39, 74.58, 73.92),
}


PRESETS = {
    "sick": {
        "corpus": "files",
        "num_held_out": 500,
        "systems": ["baseline", "spelling", "dict"],
        "vocabulary_size": 304,
        "baseline_vocabulary_size": None,
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
        "vocabulary_size": 3_000,
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
        "baseline_updates": 2_340_000,
        "eval_every": 7_812,
        "patience": 10,
    },
}


@config.configuration(
    "snli_definitions",
    presets=PRESETS,
    claims={"dict labels more pairs rightly than baseline": "accuracy"},
    minutes={"demo": 4},
    baselines=["baseline", "glove"],
    vocabulary_size=250,
    baseline_vocabulary_size=3_000,
    definition_vocabulary_size=3_000,
    max_definition_length=50,
    embedding_dim=48,
    units=48,
    clip_norm=None,
    updates=2_500,
    eval_every=500,
)
class Config(definition_flags.LabelledTextsConfig):
    """Pairs, models, training, and where the results go.

    Attributes:
        train_file: Training pairs, in the format of SNLI, MultiNLI or SICK, or
            another table.
        max_length: Sentences are truncated to this many words.
        systems: Systems to train, any of baseline, spelling, dict (definitions)
            and glove (fixed vectors).
        combine: Combination of definitions or spelling with the word's own
            embedding: bands (the paper's), transform, sum or replace.
        share_encoders: Share the LSTMs between premise and hypothesis, as in
            ESIM's own paper.
        baseline_embedding_dim: The baseline's --embedding_dim, if it differs.
        baseline_units: The --units of baseline and glove, if they differ.
        baseline_updates: The --updates of baseline and glove, if they differ.
        baseline_dropout: The --dropout of baseline and glove, if it differs.
    """

    max_length: PositiveInt = config.data(400)
    systems: list[Literal[tuple(SYSTEMS)]] = config.systems(
        ["baseline", "dict", "glove"]
    )
    combine: Literal["bands", "transform", "sum", "replace"] = config.model(
        "transform"
    )
    share_encoders: bool = config.model(True)
    baseline_embedding_dim: PositiveInt | None = config.model(None)
    baseline_units: PositiveInt | None = config.model(None)
    baseline_updates: PositiveInt | None = config.training(None)
    baseline_dropout: config.Share | None = config.model(None)


COLUMNS = {"accuracy": "accuracy", **config.SIZE_AND_TIME}


def run(config):
    """Trains, compares, draws and exports; returns the results."""
    from tfcopy.data.definitions import wordnet
    from tfcopy.data.generated import demo_definitions
    from tfcopy.experiments import reporting
    from tfcopy.experiments.definitions import (
        definition_data,
        definition_pictures,
        entailment_systems,
        text_systems,
    )
    from tfcopy.experiments.run import Run

    run = Run(config)
    data = entailment_systems.prepare(config, SYSTEMS)

    systems, answers, right = {}, {}, {}
    for name in run.each(data.identity):
        system = entailment_systems.build(run, name, SYSTEMS[name], data)
        systems[name] = system
        trainer, trained = entailment_systems.train(system, data)
        answers[name] = entailment_systems.probabilities(
            text_systems.predict(trainer, system, data.test)
        )
        is_right = entailment_systems.is_right(answers[name], data.test)
        right[name] = is_right
        run.results[name] = {
            **trained,
            **entailment_systems.score(is_right),
            **definition_data.group_scores(
                config.corpus,
                data.test,
                lambda rows: entailment_systems.score(is_right[rows]),
            ),
        }

    entailment_systems.print_examples(data.test, answers)
    paper = {}
    columns = {"snli": 0, "multi_nli": 2}  # mismatched pairs are for testing
    if config.corpus in columns:
        column = columns[config.corpus]
        paper = {x: {"accuracy": PAPER[x][column]} for x in run.results}
    reporting.print_table(run.results, COLUMNS, paper)
    print("Percent of the test set.")
    rarity = definition_pictures.draw_rarity(
        right, data.test, data.vocabulary, run.folder
    )
    categories = None
    if "dict" in systems:
        nouns = wordnet.NOUNS_BY_CATEGORY
        if config.corpus == "demo":
            nouns = demo_definitions.nouns_by_kind()
        categories = definition_pictures.draw_categories(
            systems["dict"], nouns, run.folder
        )
    return definition_pictures.finish(
        run,
        SYSTEMS,
        "accuracy",
        ("baseline", "glove"),
        accuracy_by_mean_log_rank=rarity,
        categories=categories,
        paper=PAPER,
    )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
