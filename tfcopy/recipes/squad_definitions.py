"""Questions answered with definitions (Bahdanau et al., 2017, section 4.1).

Trains coattention networks that find the answer to a question in a paragraph:
one that knows only its vocabulary (B), and others that look up words in a
dictionary, in fixed vectors, or by their spelling; scores them as SQuAD does,
draws where they attend, and exports the best one.

    python -m tfcopy.recipes.squad_definitions           invented words, minutes
    python -m tfcopy.recipes.squad_definitions --preset small \\
        --train_file xquad.en.json --wordnet /usr/share/wordnet
    python -m tfcopy.recipes.squad_definitions --preset paper \\
        --wordnet /usr/share/wordnet                     SQuAD 1.1

Repeating an interrupted command resumes it where it stopped.
"""

import sys
from typing import Literal

from tfcopy.experiments import command_line, config
from tfcopy.experiments.definitions import definition_flags
from tfcopy.experiments.definitions.definition_flags import WordSources
from tfcopy.flags import PositiveInt

# The systems of the paper's Table 1.
SYSTEMS = {
    "B": WordSources(),
    "D1": WordSources("definitions", combine="sum", stop_gradient=True),
    "D2": WordSources("definitions", combine="sum"),
    "D3": WordSources("definitions"),
    "D4": WordSources("definitions", "lstm"),
    "S": WordSources(spelling=True),
    "SL": WordSources("spellings", "lstm", spelling=True),
    "SD": WordSources("definitions", spelling=True),
    "G": WordSources(fixed=True),
}
# Exact match on SQuAD's public set, percent.
PAPER = {
    "B": 52.58,
    "D1": 56.27,
    "D2": 57.03,
    "D3": 58.90,
    "D4": 58.78,
    "S": 61.94,
    "SL": 62.40,
    "SD": 63.06,
    "G": 64.19,
}


_REAL = {
    "corpus": "files",
    "systems": ["B", "D3", "S", "SD"],
    "definition_vocabulary_size": None,
    "dropout": 0.2,
    "learning_rate": 1e-3,
    "schedule": "constant",
    "updates": None,
    "eval_every": None,
}
PRESETS = {
    "small": {
        **_REAL,
        "num_held_out": 100,
        "vocabulary_size": 2_000,
        "baseline_vocabulary_size": None,
        "embedding_dim": 64,
        "units": 64,
        "embedding_dropout": 0.3,
        "epochs": 20,
    },
    "paper": {
        **_REAL,
        "corpus": "squad",
        "systems": ["B", "D1", "D2", "D3", "D4", "S", "SL", "SD"],
        "vectors_dim": 300,
        "initializers": "uniform",
        "vocabulary_size": 3_000,
        "baseline_vocabulary_size": 10_000,
        "embedding_dim": 200,
        "units": 200,
        "anneal_epoch": 10,
        "epochs": 12,
    },
}


@config.configuration(
    "squad_definitions",
    presets=PRESETS,
    claims={"D3 finds more answers than B": "exact_match"},
    minutes={"demo": 6},
    baselines=["B"],
    vocabulary_size=250,
    baseline_vocabulary_size=3_000,
    definition_vocabulary_size=3_000,
    clip_norm=50.0,
    embedding_dim=48,
    units=48,
)
class Config(definition_flags.LabelledTextsConfig):
    """Questions, models, training, and where the results go.

    Attributes:
        train_file: Training questions, JSON in the format of SQuAD 1.1.
        systems: Systems to train, any of B (baseline), D1 (adds the mean of
            definitions, without gradient), D2 (with gradient), D3 (transforms
            it first), D4 (an LSTM reads definitions), S (spelling), SL (also
            that of lemmas), SD (spelling and definitions) and G (fixed
            vectors).
        max_answer_length: Maximum length of an answer, in words.
        anneal_epoch: After this epoch, continue from the best weights at a
            tenth of the learning rate.
        updates: Maximum number of updates for each system.
        epochs: Maximum number of epochs for each system.
        eval_every: Updates between evaluations on the validation set; once per
            epoch if not given.
    """

    systems: list[Literal[tuple(SYSTEMS)]] = config.systems(["B", "D3", "G"])
    max_answer_length: PositiveInt = config.search(30)
    anneal_epoch: PositiveInt | None = config.training(None, fixed=False)
    updates: PositiveInt | None = config.training.common(3_000, fixed=False)
    epochs: PositiveInt | None = config.training(None, fixed=False)
    eval_every: PositiveInt | None = config.training(750, fixed=False)


COLUMNS = {
    "EM": "exact_match",
    "F1": "f1",
    "EM, indep.": "independent_exact_match",
    **config.SIZE_AND_TIME,
}


def run(config):
    """Trains, compares, draws and exports; returns the results."""
    from tfcopy.experiments import reporting
    from tfcopy.experiments.definitions import (
        answering_systems,
        definition_data,
        definition_pictures,
        text_systems,
    )
    from tfcopy.experiments.run import Run

    check(config)
    run = Run(config)
    data, questions = answering_systems.prepare(config, SYSTEMS)
    test = questions["test"]

    systems, answers = {}, {}
    for name in run.each(data.identity):
        systems[name] = answering_systems.build(
            run, name, SYSTEMS[name], data, test
        )
        trainer, trained = answering_systems.train(
            systems[name], data, questions["validation"]
        )
        found = answers[name] = answering_systems.answer(
            text_systems.predict(trainer, systems[name], data.test),
            test,
            config.max_answer_length,
        )

        def score(rows):
            return answering_systems.score(
                [found[i] for i in rows], [test[i] for i in rows]
            )

        run.results[name] = {
            **trained,
            **score(range(len(test))),
            **definition_data.group_scores(config.corpus, data.test, score),
        }

    answering_systems.print_examples(test, answers)
    paper = {}
    if config.corpus == "squad":
        score = "independent_exact_match"
        paper = {x: {score: PAPER[x]} for x in run.results}
    reporting.print_table(run.results, COLUMNS, paper)
    print(
        "Official scores on the test set, in percent. EM, indep.: with start "
        "and end chosen\nindependently, as in the paper."
    )
    pair = definition_pictures.worse_and_better(
        run.results, SYSTEMS, "exact_match"
    )
    if pair:
        pair = {name: systems[name] for name in pair}
        definition_pictures.draw_reading(
            pair, test, answers, data.test, run.folder
        )
    return definition_pictures.finish(
        run, SYSTEMS, "exact_match", ("B", "G"), paper=PAPER
    )


def check(config):
    """Raises an error that names a flag which makes no sense."""
    if config.updates is None and config.epochs is None:
        raise ValueError("--updates or --epochs must be given.")
    is_constant = config.schedule == "constant" and config.warmup < 2
    if config.anneal_epoch is not None and not is_constant:
        raise ValueError(
            "--anneal_epoch needs --schedule constant, and no --warmup."
        )


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
