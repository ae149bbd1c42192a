"""The rarest word of a sequence: a toy task of the pointer softmax paper
(Gulcehre et al., 2016, section 5.1).

Words are drawn independently, the first of the vocabulary most often; the
rarest of the sequence is to be named. Trains a GRU with one softmax over all
words (softmax), and one that points at the rarest words of all and generates
the others (pointer_softmax), counts the errors of both, and exports the
second.

    python -m tfcopy.recipes.rarest_word_ps                 a small one
    python -m tfcopy.recipes.rarest_word_ps --preset paper  the paper's

Repeating a command that was interrupted goes on where it stopped.
"""

import dataclasses
import os
import sys
from typing import Literal

from jsonargparse.typing import PositiveFloat, PositiveInt

from tfcopy.experiments import command_line
from tfcopy.quiet import quiet

# Percent of all targets.
PAPER = {"softmax": 48.2, "pointer_softmax": 17.4}
SYSTEMS = tuple(PAPER)


@dataclasses.dataclass(frozen=True)
class Config:
    """Words, models, training, and where the results go.

    Every field is a flag, and this is the only place of its default.

    Attributes:
        preset: Which sizes the other fields started from.
        num_words: Size of the vocabulary.
        num_pointed: So many of the rarest words are pointed at.
        length: Words of a sequence.
        q: By which share each word is rarer than the one before it; the
            paper does not tell, and its figures need 0.0022 or less.
        train_size: Sequences to train on; new ones without end if not given.
        num_validation: Sequences to validate.
        num_test: Sequences to test.
        data_seed: Of the sequences to validate and test, and of --train_size.
        systems: Which of softmax and pointer_softmax to train.
        embedding_dim: Size of the embeddings.
        units: Size of the GRU and of all hidden layers.
        pointer: dense, with an output for each position, as in the paper; or
            attention.
        activation: Of the hidden layers.
        temperature: Inverse temperature of the switch.
        switch_bias: Initial bias of the switch; above 0 it leans to the
            shortlist.
        optimizer: adam, or adadelta.
        learning_rate: Of the optimizer.
        schedule: constant, or linear for a learning rate that falls to zero
            at the last update.
        batch_size: Sequences of an update.
        clip_norm: Largest norm of the gradients of an update.
        updates: Updates of each system.
        eval_every: Updates between two scores on the validation set.
        precision: float32 or mixed_bfloat16.
        seed: Of weights, and of the endless sequences or their order.
        run: Name of the run; the preset's if not given.
        log_dir: Where logs, checkpoints and results go.
        savedmodel_dir: Where pointer_softmax (or the last system) is exported.
        fresh: Remove what an earlier run of this name left.
    """

    preset: str = "demo"
    num_words: PositiveInt = 600
    num_pointed: PositiveInt = 60
    length: PositiveInt = 7
    q: command_line.Share = 0.002
    train_size: PositiveInt | None = None
    num_validation: PositiveInt = 5_000
    num_test: PositiveInt = 20_000
    data_seed: command_line.Seed = 0
    systems: list[Literal["softmax", "pointer_softmax"]] = dataclasses.field(
        default_factory=lambda: ["softmax", "pointer_softmax"]
    )
    embedding_dim: PositiveInt = 256
    units: PositiveInt = 256
    pointer: Literal["dense", "attention"] = "dense"
    activation: Literal["relu", "tanh"] = "relu"
    temperature: PositiveFloat = 2.0
    switch_bias: float = 1.0
    optimizer: Literal["adam", "adadelta"] = "adam"
    learning_rate: PositiveFloat = 4e-3
    schedule: Literal["constant", "linear"] = "linear"
    batch_size: PositiveInt = 250
    clip_norm: PositiveFloat | None = 5.0
    updates: PositiveInt = 1_500
    eval_every: PositiveInt = 100
    precision: Literal["float32", "mixed_bfloat16"] = "float32"
    seed: command_line.Seed = 0
    run: str | None = None
    log_dir: str = "tensorboard_logs/rarest_word_ps"
    savedmodel_dir: str = "savedmodels/rarest_word_ps"
    fresh: bool = False


PRESETS = {
    "paper": {
        "embedding_dim": 1_000,
        "units": 1_000,
        "learning_rate": 8e-4,
        "clip_norm": None,
        "updates": 5_000,
        "eval_every": 250,
    }
}


def run(config):
    """Trains, compares, shows and exports; returns the results."""
    # Here, so that --help and a wrong flag answer at once.
    with quiet():
        from tfcopy import training
        from tfcopy.experiments import reporting, restoring, run_folder
        from tfcopy.experiments.pairs import rarest_word_steps

    folder = os.path.join(config.log_dir, config.run or config.preset)
    reporting.check_systems(config, SYSTEMS)
    data = rarest_word_steps.prepare(config)
    run_folder.begin("rarest_word_ps", config, folder)
    strategy = training.choose_strategy()
    training.set_precision(config.precision)
    watch = reporting.Stopwatch()
    print_task(config, data)

    results, translators, answers = {}, {}, {}
    for number, system in enumerate(config.systems, 1):
        print(f"\n[{number}/{len(config.systems)}] {system}")
        model, results[system] = rarest_word_steps.train_and_test(
            config, system, data, os.path.join(folder, system), strategy
        )
        translators[system] = rarest_word_steps.build_translator(
            model, data.task
        )
        answers[system] = translators[system].translate_all(
            text for text, _ in data.examples
        )

    reporting.print_marked_examples(data.examples, answers, unit="words")
    print_comparison(config, results)
    rarest_word_steps.draw(results, PAPER, config.num_pointed, folder)
    chosen = "pointer_softmax"
    if chosen not in results:
        chosen = config.systems[-1]
    path = restoring.export(
        servable(chosen, translators[chosen], data),
        config.savedmodel_dir,
        error_rate=results[chosen]["error_rate"],
    )
    report = {
        "recipe": "rarest_word_ps",
        "preset": config.preset,
        "seed": config.seed,
        "seconds": watch.seconds,
        "config": dataclasses.asdict(config),
        "systems": results,
        "paper": {name: {"error_rate": rate} for name, rate in PAPER.items()},
        "savedmodel": path,
        "expected": data.expected,
    }
    reporting.write_results(os.path.join(folder, "results.json"), report)
    reporting.print_next_steps(
        "rarest_word_ps",
        folder,
        path,
        chosen,
        data.examples[0][0],
        watch.seconds,
    )
    return report


# What `serving.export --set` may change: nothing, there is no search.
SEARCH_FLAGS = ()


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
    from tfcopy.experiments.pairs import rarest_word_steps

    data = rarest_word_steps.prepare(config)
    task = rarest_word_steps.task_of(system, data.task)
    model = rarest_word_steps.build_model(
        config, task, tf.distribute.get_strategy()
    )
    restoring.load_weights(model, os.path.join(folder, system), checkpoint, {})
    translator = rarest_word_steps.build_translator(model, data.task)
    return servable(system, translator, data)


def servable(system, translator, data):
    """What is exported of a system."""
    from tfcopy.experiments.restoring import Servable

    texts = [text for text, _ in data.examples]
    return Servable(translator, texts, {"system": system})


def print_task(config, data):
    """How often what is rare occurs."""
    facts = data.expected
    print(
        f"q = {config.q:g}: {facts['pointed_words']:.1%} of the words and "
        f"{facts['pointed_targets']:.1%} of the targets are among the "
        f"{config.num_pointed} rarest of {config.num_words} words; the rarest "
        f"is the target {facts['rarest_targets']:,.1f} times in {data.reads}"
    )


def print_comparison(config, results):
    """A table of the systems beside the paper's."""
    print(
        f"\nErrors on {config.num_test:,} sequences, in percent (the paper "
        "does not tell its q):\n"
    )
    kinds = ("all targets", f"{config.num_pointed} rarest", "others")
    print(f"{'':18}" + "".join(f"{kind:>22}" for kind in kinds))
    for system, scores in results.items():
        targets = scores["targets"]
        rows = (scores, targets["pointed"], targets["unpointed"])
        print(f"{system:18}" + "".join(f"{_cell(row):>22}" for row in rows))
        print(f"{'  paper':18}{f'{PAPER[system]:.1f}':>22}")


def _cell(score):
    """An error with its 95 % interval, if there was anything to count."""
    if score["error_rate"] is None:
        return "-"
    low, high = score["interval"]
    return f"{score['error_rate']:.1f} [{low:.1f}, {high:.1f}]"


if __name__ == "__main__":
    sys.exit(command_line.main(Config, PRESETS, run, __doc__))
