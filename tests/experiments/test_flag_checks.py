"""Flags that name files which are not there."""

import dataclasses
import importlib
import os

import pytest

from tests.experiments.test_config import FILES, RECIPES
from tfcopy.experiments import flag_checks

# What names the training corpus, and is read first of all.
CORPORA = """prepared train train_file tfds data_dir download bin_dir data
    catalogs""".split()


@pytest.mark.parametrize("name", RECIPES)
def test_a_file_that_is_not_there_is_told_at_once(name, tmp_path):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    late = {"init_from", "glossary", "shortlist", "output_dictionary"}
    late |= {*FILES.split()} - {*CORPORA}
    made = recipe.Config(log_dir=f"{tmp_path}/logs", run="demo")
    for field in dataclasses.fields(made):
        path = f"{tmp_path}/no such"
        if "list" in str(field.type):
            path = [str(tmp_path), path]
        if field.name in late:
            wrong = dataclasses.replace(made, **{field.name: path})
            with pytest.raises(OSError, match=f"^--{field.name}: .*no such"):
                flag_checks.check_named_files(wrong)
    assert not os.listdir(tmp_path)


def test_what_is_there_is_not_opened(tmp_path):
    """A pipe can be read only once, and a store has folders."""
    recipe = importlib.import_module("tfcopy.recipes.europarl_ps")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    made = recipe.Config(
        dictionary=str(pipe), init_from=str(tmp_path), shortlist="dictionary"
    )
    flag_checks.check_named_files(made)
