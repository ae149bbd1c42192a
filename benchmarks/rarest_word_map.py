"""Where pointing helps on the rarest-word task, and where it does not.

    python -m benchmarks.rarest_word_map
    python -m benchmarks.rarest_word_map --q_values 0.001 0.005 --seeds 0 1 \\
        --train_sizes 5000 20000 --preset paper --updates 4000

Trains the systems of rarest_word_ps for each value of q, with endless
sequences, and for each size of a limited training set, with the q of `--q`;
pointer_softmax with each of `--pointers`.
Flags that are not listed here are those of the recipe, and hold for all.
`results.json` in the folder gets all scores, and `map.png` three panels: the
error on the rarest words against updates, against q, and against the size of
the training set. With several seeds a curve is the mean, in a band from the
lowest to the highest.

Repeating a command does what is missing only; more values may be added.
"""

import argparse
import dataclasses
import json
import os
import shutil
import sys
import typing

import keras
import numpy as np

from tfcopy import training
from tfcopy.checked_files import write_json
from tfcopy.experiments import command_line
from tfcopy.experiments.config import identity
from tfcopy.experiments.pairs import rarest_word_systems
from tfcopy.experiments.run import System, check_writable
from tfcopy.recipes import rarest_word_ps
from tfcopy.terminal import how_to_install

# Flags in which the runs of one map may differ, or that change no score.
FREE = ("preset", "q", "train_size", "seed", "systems", "run", "log_dir")
FREE += ("savedmodel_dir", "fresh", "pointer", "devices")


class Place(typing.NamedTuple):
    """What was trained on what: a point of the map."""

    system: str
    pointer: str | None
    q: float
    train_size: int | None
    seed: int

    @property
    def label(self):
        """The name of its curves."""
        return f"{self.system}, {self.pointer}" if self.pointer else self.system

    @property
    def name(self):
        label = self.label.replace(", ", "_")
        size = self.train_size or "endless"
        return f"{label}_q{self.q:g}_{size}_seed{self.seed}"


def main(arguments=None):
    options, others = parse(arguments)
    # What the demo chooses is what a map compares.
    rarest_word_ps.Config.presets = {**rarest_word_ps.PRESETS, "demo": {}}
    config = command_line.parse(rarest_word_ps.Config, others)
    try:
        check_writable(options.folder, "--folder")
        found = read(os.path.join(options.folder, "results.json"), config)
        return make_map(places(options, config), found, config, options.folder)
    except training.TrainingInterrupted as error:
        print(f"\n{error}", file=sys.stderr)
        return error.exit_code
    except (OSError, ValueError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1


def parse(arguments):
    """`(options, flags of the recipe)`."""
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--folder", default="tensorboard_logs/rarest_word_map")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument(
        "--q_values",
        type=float,
        nargs="*",
        default=[0.0005, 0.001, 0.002, 0.003, 0.005, 0.01],
    )
    parser.add_argument(
        "--train_sizes",
        type=int,
        nargs="*",
        default=[2_500, 5_000, 10_000, 20_000, 40_000],
    )
    parser.add_argument(
        "--pointers",
        nargs="+",
        choices=("dense", "attention"),
        default=["dense", "attention"],
    )
    return parser.parse_known_args(arguments)


def places(options, config):
    """The `Place`s to train at, each once."""
    conditions = [(config.q, config.train_size)]
    conditions += [(q, config.train_size) for q in options.q_values]
    conditions += [(config.q, size) for size in options.train_sizes]
    return [
        Place(system, pointer, q, size, seed)
        for seed in options.seeds
        for q, size in dict.fromkeys(conditions)
        for system in config.systems
        for pointer in ([None] if system == "softmax" else options.pointers)
    ]


def read(path, config):
    """Dict from `Place` to scores, of an earlier run.

    Raises:
        ValueError: The file is damaged, or of other sizes.
    """
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise ValueError(f"{path}: is not JSON ({error}).") from error
    for flag, here in settings(config).items():
        there = found["config"].get(flag)
        if there != here:
            raise ValueError(
                f"{path}: --{flag} is {there} there and {here} here. Choose "
                "another --folder."
            )
    return {
        Place(*(run[field] for field in Place._fields)): run["scores"]
        for run in found["runs"]
    }


def settings(config):
    """The flags that all runs of a map share."""
    values = dataclasses.asdict(config)
    return {flag: value for flag, value in values.items() if flag not in FREE}


def make_map(wanted, found, config, folder):
    """Trains what is missing, and draws; returns the exit status."""
    strategy = training.choose_strategy(config.devices)
    keras.config.set_dtype_policy(config.precision)
    for number, place in enumerate(wanted, 1):
        print(f"[{number}/{len(wanted)}] {place.name}")
        if place not in found:
            found[place] = train(place, config, folder, strategy)
        error = found[place]["targets"]["pointed"]["error_rate"]
        print(f"error on the rarest words: {error} %", flush=True)
        write(os.path.join(folder, "results.json"), config, found)
    draw(found, config, os.path.join(folder, "map.png"))
    return 0


def train(place, config, folder, strategy):
    """The scores at a place; goes on where an earlier run was interrupted."""
    config = dataclasses.replace(
        config,
        q=place.q,
        train_size=place.train_size,
        seed=place.seed,
        pointer=place.pointer or config.pointer,
    )
    data = rarest_word_systems.prepare(config)
    task = rarest_word_systems.task_of(place.system, data.task)
    keras.utils.set_random_seed(config.seed)
    with strategy.scope():
        model = rarest_word_systems.make_model(config, task)
    log_dir = os.path.join(folder, place.name)
    system = System(
        name=place.system,
        kind=place.system,
        folder=log_dir,
        is_chief=True,
        config=config,
        identity=identity(config),
        model=model,
        trained=model,
        served=rarest_word_systems.make_translator(model, data.task),
        warmup_texts=[],
        pairs=(),
        details={},
    )
    scores = rarest_word_systems.train_and_test(system, data)
    shutil.rmtree(log_dir)  # Checkpoints of a whole map would fill the disk.
    return scores


def write(path, config, found):
    """Writes `results.json`, whole or not at all."""
    runs = [
        {**place._asdict(), "scores": scores} for place, scores in found.items()
    ]
    write_json(path, {"config": settings(config), "runs": runs})


def draw(found, config, path):
    """Draws the three panels."""
    if rarest_word_systems.figures is None:
        print(f"No picture: it needs matplotlib ({how_to_install('figures')}).")
        return
    title = f"Error on the {config.num_pointed} rarest words"
    base = (config.q, config.train_size)
    label = "error on the test set, %"
    by_q = lines(found, lambda p: p.train_size == base[1] and [p.q])
    by_size = lines(
        found, lambda p: p.q == base[0] and p.train_size and [p.train_size]
    )
    endless = lines(
        found, lambda p: (p.q, p.train_size) == (base[0], None) and [0]
    )
    # `--q 0` has no place on a logarithmic axis.
    log_q = all(min(x) > 0 for x, *_ in by_q.values() if x)
    panel = rarest_word_systems.figures.Panel
    panels = [
        panel(
            learning_curves(found, *base),
            title,
            "updates",
            "error on the validation set, %",
        ),
        panel(by_q, title, "q", label, log_x=log_q),
        panel(
            by_size,
            f"{title} (dashed: endless)",
            "sequences to train on",
            label,
            log_x=True,
            levels={label: y[0] for label, (_, y, *_) in endless.items() if y},
        ),
    ]
    picture = rarest_word_systems.figures.panels_figure(panels)
    rarest_word_systems.figures.save_png(path, picture)
    print(f"Picture: {path}")


def lines(found, abscissas):
    """Dict from a label to `(x, mean, lowest, highest)` over the seeds.

    Args:
        found: Dict from `Place` to scores.
        abscissas: From a `Place` to the list of its x; false to leave it out.
    """
    points = {}
    for place, scores in found.items():
        error = scores["targets"]["pointed"]["error_rate"]
        of_label = points.setdefault(place.label, {})
        for x in abscissas(place) or ():
            if error is not None:
                of_label.setdefault(x, []).append(error)
    return {label: band(of_x) for label, of_x in points.items()}


def learning_curves(found, q, train_size):
    """As `lines`, against updates, at one condition."""
    points = {}
    for place, scores in found.items():
        of_label = points.setdefault(place.label, {})
        if (place.q, place.train_size) != (q, train_size):
            continue
        history = scores["history"]
        for update, error in zip(history["updates"], history["pointed"]):
            if error is not None:
                of_label.setdefault(update, []).append(error)
    return {label: band(of_x) for label, of_x in points.items()}


def band(of_x):
    """`(x, mean, lowest, highest)` of a dict from x to a list of y."""
    xs = sorted(of_x)
    columns = [[f(of_x[x]) for x in xs] for f in (np.mean, min, max)]
    return (xs, *columns)


if __name__ == "__main__":
    sys.exit(main())
