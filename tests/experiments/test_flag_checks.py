"""Flags that name files which are not there, or several corpora."""

import dataclasses
import importlib
import os

import pytest

from tests.experiments.test_config import FILES, RECIPES
from tfcopy.experiments import config, flag_checks
from tfcopy.recipes import europarl_ps

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


def test_a_folder_is_new_only_if_the_corpus_is_downloaded(tmp_path):
    place = str(tmp_path / "no such")
    made = europarl_ps.Config(data_dir=place, download=True)
    flag_checks.check_named_files(made)
    made = dataclasses.replace(made, download=False)
    with pytest.raises(OSError, match="^--data_dir: cannot read .*no such"):
        flag_checks.check_named_files(made)


def test_what_is_there_is_not_opened(tmp_path):
    """A pipe can be read only once, and a store has folders."""
    recipe = importlib.import_module("tfcopy.recipes.europarl_ps")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    made = recipe.Config(
        dictionary=str(pipe), init_from=str(tmp_path), shortlist="dictionary"
    )
    flag_checks.check_named_files(made)


@config.configuration("my_recipe")
class OwnConfig(europarl_ps.Config):
    """A recipe with a corpus of its own."""

    talks: str | None = config.corpus_file("Talks to read.", "folder")


@pytest.mark.parametrize(
    ("flags", "refused"),
    [
        ({}, None),
        ({"talks": "a"}, None),
        ({"tfds": "a", "data_dir": "b"}, None),
        ({"data_dir": "b", "download": True}, None),
        ({"talks": "a", "train": ["b", "c"]}, "--train, --talks."),
        ({"talks": "a", "data_dir": "b"}, "--talks, --data_dir."),
        ({"talks": "a", "tfds": "b"}, "--talks, --tfds."),
        ({"prepared": "a", "catalogs": "b"}, "--prepared, --catalogs."),
        ({"tfds": "a", "download": True, "train": ["b"]}, "--train, --tfds, "),
    ],
)
def test_one_flag_alone_names_the_corpus(flags, refused):
    made = OwnConfig(**flags)
    if refused is None:
        flag_checks.check_corpus(made)
        return
    with pytest.raises(ValueError, match="^Only one of --train,") as error:
        flag_checks.check_corpus(made)
    assert "--talks, --tfds, --data_dir and --download can" in str(error.value)
    assert f"Received: {refused}" in str(error.value)
