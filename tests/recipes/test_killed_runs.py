"""Runs that are killed as they write a file end as undisturbed ones."""

import functools
import importlib
import os
import shutil

import numpy as np
import pytest

from tests.recipes import starting
from tests.recipes.test_devices import RECIPES, Runs
from tfcopy.training.checkpoints import Checkpoints

pytestmark = pytest.mark.filterwarnings("ignore:.* pairs for")


def outcome(folder):
    """All that a run ends with: its scores, and its weights as arrays."""
    arrays = {}
    for path in sorted(folder.rglob("checkpoints")):
        checkpoints = Checkpoints(path)
        for name in (*checkpoints.paths()[:1], checkpoints.best_path):
            with np.load(name) as archive:
                place = os.path.relpath(name, folder)
                arrays |= {f"{place}/{x}": archive[x] for x in archive}
    for name in [x for x in arrays if x.endswith("info")]:  # has seconds
        del arrays[name]
    return starting.figures(folder), arrays


def check_kills(name, folder, monkeypatch, from_base, is_short=False):
    """Resumes a run from the files that a kill at each of its writes leaves.

    Args:
        name: Name of the recipe.
        folder: Gets all runs.
        monkeypatch: The fixture.
        from_base: Whether the run has --init_from.
        is_short: Whether kills come before the first checkpoint alone, with
            some weights written.
    """
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    flags = [*Runs(name, folder).flags, "--save_every=3"]
    start = functools.partial(starting.start, recipe, flags)
    if from_base:
        assert start(folder / "base", "--seed=1") == 0
        flags.append(f"--init_from={folder}/base/logs/demo")
    run, left = folder / "run", []
    run.mkdir()

    def copying(write):
        def copy_and_write(source, target):
            left.append(shutil.copytree(run, folder / f"left{len(left)}"))
            write(source, target)

        return copy_and_write

    with monkeypatch.context() as patch:
        for write in ("replace", "rename"):
            patch.setattr(os, write, copying(getattr(os, write)))
        assert start(run) == 0
    figures, arrays = outcome(run)
    some = [
        x
        for x in left
        if any(x.rglob("best.npz")) and not any(x.rglob("checkpoint-*.npz"))
    ]
    assert some
    for place in some if is_short else left:
        shutil.rmtree(run)
        os.rename(place, run)
        assert start(run) == 0
        found, others = outcome(run)
        assert found == figures and others.keys() == arrays.keys()
        for array in arrays:
            np.testing.assert_array_equal(others[array], arrays[array])


@pytest.mark.long
def test_a_run_from_a_base_is_killed(tmp_path, monkeypatch):
    check_kills("europarl_ps", tmp_path, monkeypatch, True, is_short=True)


@pytest.mark.slow
@pytest.mark.parametrize("from_base", [False, True])
@pytest.mark.parametrize("name", RECIPES)
def test_any_recipe_is_killed(tmp_path, monkeypatch, name, from_base):
    check_kills(name, tmp_path, monkeypatch, from_base)
