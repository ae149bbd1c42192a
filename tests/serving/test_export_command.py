"""What the command `python -m tfcopy.serving.export` refuses, and says.

That it exports what the recipes do is tested with each of them, in
`tests/recipes`.
"""

import dataclasses
import json
import os
import re
import subprocess
import sys

import pytest
import tensorflow as tf

from tests.recipes.exporting import config_of, export
from tfcopy.experiments import run_folder
from tfcopy.experiments.pairs import rarest_word_steps
from tfcopy.recipes import cnn_dailymail_pg, lm1b_definitions, rarest_word_ps
from tfcopy.training.checkpoints import Checkpoints

SMALL = rarest_word_ps.Config(
    num_words=12,
    num_pointed=3,
    length=4,
    q=0.1,
    num_validation=20,
    num_test=20,
    embedding_dim=4,
    units=4,
)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make_run(folder, recipe, config, systems=()):
    """The folder of a run; its systems have weights that cannot be read."""
    config = {"recipe": recipe, "config": dataclasses.asdict(config)}
    write(folder / "config.json", json.dumps(config))
    for system in systems:
        write(folder / system / "checkpoints" / "best.weights.h5", "damaged")
    return folder


@pytest.fixture
def run(tmp_path):
    """That of a recipe whose models are small, with weights never trained."""
    folder = tmp_path / "logs" / "own"
    config = dataclasses.replace(SMALL, savedmodel_dir=str(tmp_path / "saved"))
    make_run(folder, "rarest_word_ps", config)
    task = rarest_word_steps.prepare(config).task
    strategy = tf.distribute.get_strategy()
    model = rarest_word_steps.build_model(config, task, strategy)
    system = folder / "pointer_softmax"
    Checkpoints(system / "checkpoints").save_best(model)
    return folder


def assert_error(capsys, message, folder, *arguments):
    """One line, and no traceback."""
    capsys.readouterr()
    assert export(folder, *arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and re.match(f"export: .*{message}", lines[0]), lines


def test_help_does_not_wait_for_tensorflow():
    code = (
        "import runpy, sys; sys.modules['tensorflow'] = None;"
        "sys.argv[1:] = ['--help'];"
        "runpy.run_module('tfcopy.serving.export', run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "--checkpoint {best,last}" in done.stdout


def test_a_run_that_is_under_way(run, tmp_path, capsys):
    """It has best weights, but no checkpoint yet.

    Its folder was moved, and it is of another release.
    """
    text = (run / "config.json").read_text()
    other = text.replace('"temperature"', '"former"')
    write(run / "config.json", other)
    moved = run.rename(tmp_path / "moved")
    assert export(moved, "--list") == 0
    out = capsys.readouterr().out
    assert re.search(r"^pointer_softmax +\? ", out, re.MULTILINE)
    assert export(moved, "--version", 3) == 0
    out, err = capsys.readouterr()
    (line,) = err.strip().splitlines()
    assert "has no longer --former; has newly, and takes the default " in line
    assert line.endswith("of --temperature.")
    assert "pointer_softmax, the last that has a checkpoint" in out
    path = tmp_path / "saved" / "3"
    assert f"python -m tfcopy.serving.ask {os.path.dirname(path)}" in out
    told = config_of(path)
    assert told["recipe"] == "rarest_word_ps" and told["run"] == "moved"
    assert told["system"] == "pointer_softmax"
    write(moved / "config.json", text)
    assert_error(capsys, f"{path} exists already", moved, "--version", 3)
    message = "moved/pointer_softmax/checkpoints: no checkpoint yet"
    assert_error(capsys, message, moved, "--checkpoint", "last")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--system soft", "own: --system soft: there is no such system. "),
        ("--system softmax", "softmax: it has no checkpoint yet. Those with"),
        ("--set num_beams=2", "--set num_beams: it is no flag"),
        ("--set units=2", "--set units: it is fixed in training"),
    ],
)
def test_what_does_not_fit_the_run(run, capsys, arguments, message):
    assert_error(capsys, message, run, *arguments.split())


@pytest.mark.parametrize(
    "arguments", ["--set num_beams", "--version 0", "--checkpoint first"]
)
def test_what_never_fits(tmp_path, capsys, arguments):
    assert export(tmp_path, *arguments.split()) == 2
    assert arguments.split()[-1] in capsys.readouterr().err


def test_damaged_weights(run, capsys):
    path = run / "pointer_softmax" / "checkpoints" / "best.weights.h5"
    path.write_bytes(path.read_bytes()[:-100])
    assert_error(capsys, f"{path} is damaged", run)


def test_weights_of_other_sizes(run, capsys):
    with open(run / "config.json") as file:
        content = json.load(file)
    content["config"]["units"] = 5
    write(run / "config.json", json.dumps(content))
    assert_error(capsys, "best.weights.h5 is .*of another model", run)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("num_beams=0", "--set num_beams must be a whole number from 1 on"),
        ("min_summary_length=99", "--min_summary_length must be below"),
        ("bleu_tokenize=zh", "bleu_tokenize: .*set: num_beams, min_summary"),
    ],
)
def test_wrong_flags_of_search(tmp_path, capsys, settings, message):
    config = cnn_dailymail_pg.Config()
    run = make_run(tmp_path, "cnn_dailymail_pg", config, ["pointer_generator"])
    assert_error(capsys, message, run, "--set", settings)


def test_a_corpus_that_is_gone(tmp_path, capsys):
    config = lm1b_definitions.Config(corpus="files", data="gone.txt")
    run = make_run(tmp_path / "a", "lm1b_definitions", config, ["baseline"])
    assert_error(capsys, "gone.txt", run)
    files = ["gone.src", "gone.tgt"]
    config = cnn_dailymail_pg.Config(train=files)
    system = "pointer_generator"
    run = make_run(tmp_path / "b", "cnn_dailymail_pg", config, [system])
    message = "b/data has no words.json, so that the corpus is needed: gone.src"
    assert_error(capsys, message, run)


@pytest.mark.parametrize("recipe", ["common", "planning", "../x", "os", None])
def test_a_recipe_that_is_none(tmp_path, capsys, recipe):
    run = make_run(tmp_path, recipe, SMALL, ["pointer_softmax"])
    message = f"tfcopy has no recipe named {recipe!r}"
    assert_error(capsys, re.escape(message), run, "--system", "x")


def test_what_is_no_run(tmp_path, capsys):
    run = make_run(tmp_path / "logs" / "demo", "rarest_word_ps", SMALL)
    assert_error(capsys, f"{run}: no checkpoint yet", run)
    assert_error(capsys, f"There are runs in it: {run}", run.parent)
    assert_error(capsys, "not the folder of a run, .*config.json", tmp_path)
    assert_error(capsys, "none: no such folder", tmp_path / "none")
    for text in ("{", "[]", '{"recipe": "europarl_ps"}'):
        write(run / "config.json", text)
        assert_error(capsys, "config.json: cannot be read", run)


def test_finished_runs_of_earlier_releases(run, tmp_path, capsys):
    with open(run / "config.json") as file:
        content = json.load(file)
    os.remove(run / "config.json")
    content["systems"] = {
        "softmax": {"error_rate": 9.0},
        "pointer_softmax": {"error_rate": 2.0},
    }
    write(run / "softmax" / "checkpoints" / "checkpoint-000000001.npz", "x")
    write(run / "results.json", json.dumps(content))
    found = run_folder.RunFolder(run)
    assert found.systems() == ["softmax", "pointer_softmax"]
    assert found.choose() == ("pointer_softmax", "of the best error_rate")
    # What the run exported lies below its working directory.
    content["savedmodel"] = "saved/1"
    write(run / "results.json", json.dumps(content))
    told = tmp_path / "saved" / "1" / "assets.extra" / "tfcopy.json"
    write(told, json.dumps({"system": "softmax"}))
    found = run_folder.RunFolder(run)
    assert found.choose() == ("softmax", "which the run has exported")
    assert export(run, "--list") == 0
    out = capsys.readouterr().out
    assert re.search(r"^softmax +damaged", out, re.MULTILINE)
