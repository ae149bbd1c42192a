"""Recipes on two devices, and as two workers, end as on one device."""

import importlib
import re
import sys
import time

import numpy as np
import pytest
import tensorflow as tf

from tests.recipes import (
    starting,
    test_cnn_dailymail_pg,
    test_copy_rules_copynet,
    test_definition_recipes,
    test_dialogue_copynet,
    test_eulerian_pag,
    test_europarl_ps,
    test_gigaword_ps,
    test_lcsts_copynet,
    test_rarest_word_ps,
    test_wmt15_pag,
)
from tests.recipes.conftest import SAMPLES
from tests.training import training_process
from tfcopy.experiments import command_line

# `test_distribution` has other trainings on two devices, and as two workers.
pytestmark = pytest.mark.slow

# Masks and noise are drawn for each replica; Adam divides by gradients that are
# nothing but rounding. Without these all is equal. (A planner draws noise
# whenever it is trained.)
QUIET = "--dropout 0 --noise 0 --optimizer adagrad --litert none"
RECIPES = {
    # Nine pairs a batch, five of which go to the first device.
    "europarl_ps": [*test_europarl_ps.TINY, "--batch_tokens", "63"],
    "cnn_dailymail_pg": [
        *test_cnn_dailymail_pg.TINY,
        *"--systems [pointer_generator] --coverage_updates 2".split(),
    ],
    "copy_rules_copynet": test_copy_rules_copynet.TINY,
    "dialogue_copynet": test_dialogue_copynet.TINY,
    "eulerian_pag": [*test_eulerian_pag.TINY, *"--systems [baseline]".split()],
    "gigaword_ps": [
        *test_gigaword_ps.TINY,
        # All words of the vocabulary: others are drawn for each replica.
        *"--systems [pointer_softmax_lvt] --candidates 1000".split(),
    ],
    "lcsts_copynet": test_lcsts_copynet.TINY,
    "rarest_word_ps": [
        *test_rarest_word_ps.TINY,
        *"--updates 4 --eval_every 2".split(),
    ],
    "wmt15_pag": [*test_wmt15_pag.TINY, *"--systems [baseline_ln]".split()],
    "lm1b_definitions": [
        *test_definition_recipes.TINY,
        *test_definition_recipes.RECIPES["lm"][1],
    ],
    "snli_definitions": [
        *test_definition_recipes.TINY,
        *test_definition_recipes.RECIPES["nli"][1],
    ],
    "squad_definitions": [
        *test_definition_recipes.TINY,
        *test_definition_recipes.RECIPES["qa"][1],
    ],
}
# Recipes whose tests need a corpus of one's own.
PAIRS = ("europarl_ps", "cnn_dailymail_pg", "gigaword_ps", "wmt15_pag")


def main(options):
    """Runs a recipe in a process of its own; exits with its status.

    Args:
        options: Dict of `recipe`, `arguments`, and whether there are
            `pictures` of samples.
    """
    if not options["pictures"]:
        for kind in SAMPLES:
            kind.__call__ = lambda *_: None
    recipe = importlib.import_module(f"tfcopy.recipes.{options['recipe']}")
    sys.exit(command_line.main(recipe.Config, recipe.run, options["arguments"]))


class Runs:
    """Starts a recipe, always with the same flags and corpus.

    Args:
        name: Name of the recipe.
        folder: Gets the corpus and a folder for each run.
    """

    def __init__(self, name, folder):
        self.folder = folder
        self._name = name
        self.flags = [*RECIPES[name], *self._quiet()]
        if name in PAIRS:
            self.flags += ["--train", f"[{self._corpus()}]"]

    def _quiet(self):
        recipe = importlib.import_module(f"tfcopy.recipes.{self._name}")
        flags = recipe.Config.__dataclass_fields__
        for flag, value in re.findall(r"--(\w+) (\S+)", QUIET):
            if flag in flags:
                yield from (f"--{flag}", value)

    def _corpus(self):
        paths = [str(self.folder / f"corpus.{side}") for side in "ab"]
        words = "the Łódź , sea red house by a one b".split()
        rng = np.random.default_rng(0)
        rows = [f"{' '.join(rng.choice(words, 4))} Name{i}" for i in range(64)]
        for path in paths:
            with open(path, "w", encoding="utf-8") as file:
                file.writelines(f"{row} .\n" for row in rows)
        return ", ".join(paths)

    def start(self, to, *more, environment=None, log=None, pictures=True):
        """Starts a process whose results go to a folder of this name."""
        to = self.folder / to
        to.mkdir(exist_ok=True)
        folders = f"--log_dir={to}/logs", f"--savedmodel_dir={to}/served"
        folders += ("--run=demo",)
        return training_process.TrainingProcess(
            self.folder / (log or f"{to.name}.txt"),
            environment,
            main=main,
            recipe=self._name,
            arguments=[*self.flags, *folders, "--save_every=5", *more],
            pictures=pictures,
        )

    def workers(self, to, *more):
        """Starts two workers on this machine."""
        return [
            self.start(
                to, *more, environment=environment, log=f"{to}-{index}.txt"
            )
            for index, environment in enumerate(
                training_process.environments_of_workers()
            )
        ]


def finish(*processes):
    """The processes end well."""
    for process in processes:
        assert process.finish() == 0, process.text


def weights(folder):
    """All weights of what was exported, in order."""
    path = starting.results(folder)["savedmodel"]
    stored = tf.train.load_checkpoint(f"{path}/variables/variables")
    names = sorted(stored.get_variable_to_shape_map())
    values = [stored.get_tensor(name) for name in names if "resources" in name]
    return [x for x in values if x.dtype == np.float32]


def files(folder):
    """Names of all files, without numbers such as times and checksums."""
    return {
        re.sub(r"\d+", "N", str(path.relative_to(folder)))
        for path in folder.rglob("*")
        if path.is_file() and "events.out" not in path.name
    }


def assert_alike(runs, one, other):
    one, other = runs.folder / one, runs.folder / other
    for expected, found in zip(weights(one), weights(other), strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-5)
    assert files(one) == files(other)


@pytest.fixture(scope="module", params=RECIPES)
def alone(request, tmp_path_factory):
    """`Runs` with one on one device, in the folder `one`."""
    runs = Runs(request.param, tmp_path_factory.mktemp(request.param))
    finish(runs.start("one", pictures=False))
    return runs


def test_two_devices_end_as_one(alone):
    finish(alone.start("two", "--devices", "cpu:2"))
    assert_alike(alone, "one", "two")


def test_two_workers_end_as_one_device(alone):
    finish(*alone.workers("workers"))
    assert_alike(alone, "one", "workers")


def wait_for_checkpoint(runs, to, workers, after=0):
    """The number of updates of a checkpoint that is newer."""
    folder = runs.folder / to
    while any(worker.is_alive() for worker in workers):
        paths = folder.rglob("checkpoints/checkpoint-*.npz")
        numbers = [int(re.findall(r"\d+", x.name)[0]) for x in paths]
        if max(numbers, default=0) > after:
            return max(numbers)
        time.sleep(0.1)
    pytest.fail(f"No checkpoint in {folder}: {workers[0].text}")


@pytest.mark.parametrize("lost", [0, 1])
def test_lost_workers_are_named_and_all_resume(tmp_path, lost):
    """One worker is killed, then both; the third start ends the run."""
    runs = Runs("europarl_ps", tmp_path)
    more = ["--updates", "60", "--eval_every", "20"]
    finish(runs.start("one", *more))
    workers = runs.workers("workers", *more)
    reached = wait_for_checkpoint(runs, "workers", workers)
    workers[lost].kill()
    survivor = workers[1 - lost]
    assert survivor.finish() == 1
    told = f": Worker {lost} has ended or cannot be reached. The last good"
    assert told in survivor.text and "Traceback" not in survivor.text
    workers = runs.workers("workers", *more)
    wait_for_checkpoint(runs, "workers", workers, reached)
    for worker in workers:
        worker.kill()
    finish(*runs.workers("workers", *more))
    assert_alike(runs, "one", "workers")
