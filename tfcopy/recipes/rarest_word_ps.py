"""Naming the rarest word of a sequence, a toy task of pointer softmax.

The task is from Gulcehre et al., 2016, section 5.1. Words are drawn
independently, the vocabulary's first ones most often; the target is the rarest
word of the sequence. Trains a GRU with one softmax over all words (softmax),
and one that points at the vocabulary's rarest words and generates the others
(pointer_softmax), compares their error rates, and exports the better one.

    python -m tfcopy.recipes.rarest_word_ps                 a small task
    python -m tfcopy.recipes.rarest_word_ps --preset paper  as in the paper

Repeating an interrupted command resumes it where it stopped.
"""

import sys

from tfcopy.experiments import command_line, config
from tfcopy.experiments.pairs import model_flags

# Percent of all targets.
PAPER = {"softmax": 48.2, "pointer_softmax": 17.4}
PRESETS = {
    "demo": {
        "train_size": 5_000,
        "pointer": "attention",
        "schedule": "constant",
        "updates": 400,
    },
    "paper": {
        "embedding_dim": 1_000,
        "units": 1_000,
        "learning_rate": 8e-4,
        "clip_norm": None,
        "updates": 5_000,
        "eval_every": 250,
    },
}


@config.configuration(
    "rarest_word_ps",
    presets=PRESETS,
    claims={
        "pointer_softmax makes fewer errors on the rarest words than "
        "softmax": "-targets.pointed.error_rate"
    },
    minutes={"demo": 1},
)
class Config(model_flags.RarestWordConfig):
    """Words, models, training, and where the results go."""


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    from tfcopy.experiments import reporting
    from tfcopy.experiments.pairs import rarest_word_systems
    from tfcopy.experiments.run import Run

    data = rarest_word_systems.prepare(config)
    run = Run(config)
    print_task(config, data)

    answers = {}
    texts = [text for text, _ in data.examples]
    for name in run.each({}):  # The flags identify the data.
        task = rarest_word_systems.task_of(name, data.task)
        system = run.build(
            name,
            lambda: rarest_word_systems.make_model(config, task),
            lambda model: rarest_word_systems.make_translator(
                model, data.task, config.litert
            ),
            texts,
            pairs=data.examples,
        )
        run.results[name] = rarest_word_systems.train_and_test(system, data)
        answers[name] = system.served.translate_all(texts)

    reporting.print_marked_examples(data.examples, answers, unit="words")
    print_comparison(config, run.results)
    rarest_word_systems.draw(run.results, PAPER, config.num_pointed, run.folder)
    errors = {x: run.results[x]["dev_error_rate"] for x in run.systems}
    return run.finish(
        reporting.best("error_rate", errors, lowest=True),
        paper={name: {"error_rate": rate} for name, rate in PAPER.items()},
        expected=data.expectations,
    )


def print_task(config, data):
    """Prints how often the rare words occur."""
    facts = data.expectations
    print(
        f"q = {config.q:g}: {facts['pointed_words']:.1%} of the words and "
        f"{facts['pointed_targets']:.1%} of the targets are among the "
        f"{config.num_pointed} rarest of {config.num_words} words; the rarest "
        f"is the target {facts['rarest_targets']:,.1f} times in {data.reads}"
    )


def print_comparison(config, results):
    """Prints a table of the systems beside the paper's."""
    print(
        f"\nErrors on {config.num_test:,} sequences, in percent (the paper "
        "does not state its q):\n"
    )
    kinds = ("all targets", f"{config.num_pointed} rarest", "others")
    print(f"{'':18}" + "".join(f"{kind:>22}" for kind in kinds))
    for system, scores in results.items():
        targets = scores["targets"]
        rows = (scores, targets["pointed"], targets["unpointed"])
        print(f"{system:18}" + "".join(f"{_cell(row):>22}" for row in rows))
        print(f"{'  paper':18}{f'{PAPER[system]:.1f}':>22}")


def _cell(score):
    """Formats an error with its 95 % interval, if anything was counted."""
    if score["error_rate"] is None:
        return "-"
    low, high = score["interval"]
    return f"{score['error_rate']:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    sys.exit(command_line.main(Config, run))
