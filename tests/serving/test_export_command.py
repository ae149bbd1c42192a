"""The command `python -m tfcopy.serving.export`, and its errors.

That it exports what the recipes do is tested with each of them, in
`tests/recipes`.
"""

import json
import os
import re
import shutil

import pytest

from tests.recipes.exporting import config_of, export
from tests.serving.servables.translators import random_translator
from tfcopy.serving import run_folder
from tfcopy.serving.servables import storage
from tfcopy.training.checkpoints import Checkpoints


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def make_run(folder, *systems):
    """The folder of a run; its systems have weights that cannot be read."""
    config = {
        "systems": ["softmax", "pointer_softmax"],
        "savedmodel_dir": str(folder.parent / "saved"),
    }
    content = {"recipe": "europarl_ps", "config": config}
    write(folder / "config.json", json.dumps(content))
    for system in systems:
        write(folder / system / "servable.json", "{}")
        write(folder / system / "checkpoints" / "best.npz", "damaged")
    return folder


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """The folder of a system that was stored and has best weights."""
    folder = tmp_path_factory.mktemp("trained") / "pointer_softmax"
    translator = random_translator()
    storage.save(
        translator,
        folder,
        warmup_texts=["the session"],
        details={"system": "pointer_softmax"},
    )
    checkpoints = Checkpoints(folder / "checkpoints")
    checkpoints.save_best(translator.model.get_weights(), {})
    return folder


@pytest.fixture
def run(trained, tmp_path):
    folder = make_run(tmp_path / "logs" / "own")
    shutil.copytree(trained.parent, folder, dirs_exist_ok=True)
    return folder


def assert_error(capsys, message, folder, *arguments):
    """One line, and no traceback."""
    capsys.readouterr()
    assert export(folder, *arguments) == 2
    lines = capsys.readouterr().err.strip().splitlines()
    assert len(lines) == 1 and re.match(f"export: .*{message}", lines[0]), lines


@pytest.mark.parametrize(
    "average, row",
    [
        (None, "300 +loss 1.5 +200 "),
        (
            {"updates": [100, 300], "nll": 1.25, "score": None},
            "300 +loss 1.25 +mean of 100, 300 ",
        ),
    ],
)
def test_the_list_tells_what_would_be_exported(run, capsys, average, row):
    state = {"update": 300, "best_update": 200, "best_nll": 1.5}
    state |= {"average": average} if average else {}
    info = {"state": state, "identity": {}}
    Checkpoints(run / "pointer_softmax" / "checkpoints").save(300, info, {})
    assert export(run, "--list") == 0
    out = capsys.readouterr().out
    assert re.search(f"^pointer_softmax +{row}", out, re.MULTILINE), out


@pytest.mark.long
def test_a_run_that_is_under_way(run, tmp_path, capsys):
    """It has best weights but no checkpoint yet, and its folder was moved."""
    moved = run.rename(tmp_path / "moved")
    assert export(moved, "--list") == 0
    out = capsys.readouterr().out
    assert re.search(r"^pointer_softmax +\? ", out, re.MULTILINE)
    settings = ["--set", "num_beams=2", "max_target_length=6"]
    assert export(moved, "--version", 3, *settings) == 0
    out, err = capsys.readouterr()
    assert not err.strip()
    assert "pointer_softmax, the last that has a checkpoint" in out
    path = tmp_path / "logs" / "saved" / "3"
    assert f"python -m tfcopy.serving.ask {os.path.dirname(path)}" in out
    told = config_of(path)
    assert told["recipe"] == "europarl_ps" and told["run"] == "moved"
    assert told["system"] == "pointer_softmax"
    assert told["checkpoint"] == "best"
    assert told["examples"] == [{"text": "the session"}]
    assert told["search"]["num_beams"] == 2
    assert told["search"]["max_length"] == 6
    message = "moved/pointer_softmax/checkpoints: no checkpoint yet"
    assert_error(capsys, message, moved, "--checkpoint", "last")
    os.mkdir(tmp_path / "logs" / "saved" / "4")
    message = f"{path.parent / '4'} exists already"
    assert_error(capsys, message, moved, "--version", 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--system soft", "own: --system soft: there is no such system. "),
        ("--system softmax", "softmax: it has no checkpoint, or no serv"),
        ("--set units=2", "--set units: fixed in training, or .*num_beam"),
        ("--set num_beams=0", "--set `num_beams` must be from 1"),
        (
            "--set max_length=x",
            "--set max_length must be a non-negative integer",
        ),
        ("--set max_length=100000000", "--set `max_length` must be from 1 to"),
        ("--set num_beams=1 num_beams=2", "--set num_beams is given twice."),
        ("--set num_beams=1_0", "--set num_beams must be a non-neg"),
        (
            "--set max_length=5 max_target_length=6",
            "--set max_target_length is max_length, which is given, too.",
        ),
        (
            "--set litert=int8 sample=true",
            "LiteRT has no program of a search that samples",
        ),
        ("--set litert=int4", "--set litert must be float32 or int8 or none"),
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


def test_what_is_damaged(run, capsys):
    system = run / "pointer_softmax"
    path = system / "checkpoints" / "best.npz"
    path.write_bytes(path.read_bytes()[:-100])
    assert_error(capsys, f"{path} is damaged", run)
    path = system / "servable.json"
    path.write_text(path.read_text()[:-100])
    assert_error(capsys, f"{path} is damaged", run)


def test_what_is_no_run(tmp_path, capsys):
    run = make_run(tmp_path / "logs" / "demo")
    assert_error(capsys, f"{run}: no checkpoint yet", run)
    assert_error(capsys, f"There are runs in it: {run}", run.parent)
    assert_error(capsys, "not a run's folder: .*config.json", tmp_path)
    assert_error(capsys, "none: no such folder", tmp_path / "none")
    for text, reason in (
        ("{", ""),
        ("[]", ""),
        ('{"recipe": "europarl_ps"}', "or not a run's .* no config"),
        ('{"recipe": 1, "config": {}}', '."recipe" must be text'),
        ('{"recipe": "a", "config": []}', '."config" must be an object'),
        ('{"recipe": "a", "config": {"systems": 1}}', '."config.systems" must'),
    ):
        write(run / "config.json", text)
        assert_error(capsys, f"config.json is damaged.*{reason}", run)
    make_run(run)
    scores = {"metric": "bleu", "scores": {"softmax": "much"}}
    for key, value, place in (
        ("exported", [], "exported"),
        ("exported_by", scores, "exported_by.scores.softmax"),
        ("systems", {"nmt": {"right": "all"}}, "systems.nmt.right"),
    ):
        results = {"recipe": "europarl_ps", "config": {}, key: value}
        write(run / "results.json", json.dumps(results))
        assert_error(capsys, f'results.json is damaged ."{place}" must be', run)


def test_a_system_whose_description_is_lost_is_not_exported(run, capsys):
    os.remove(run / "pointer_softmax" / "servable.json")
    assert_error(capsys, "no checkpoint yet", run)
    message = "it has no checkpoint, or no servable.json. Systems that can be "
    assert_error(capsys, message, run, "--system", "pointer_softmax")


def test_the_system_that_is_chosen(tmp_path):
    folder = make_run(tmp_path / "run", "softmax", "pointer_softmax")

    def choose(**results):
        content = {"recipe": "europarl_ps", "config": {}, **results}
        write(folder / "results.json", json.dumps(content))
        return run_folder.RunFolder(folder).choose()

    last = "pointer_softmax"
    assert choose() == (last, "the last that has a checkpoint")
    # What the test set says does not count.
    systems = {"softmax": {"bleu": 9.0}, "pointer_softmax": {"bleu": 2.0}}
    assert choose(systems=systems)[0] == last
    found = choose(systems=systems, exported="softmax")
    assert found == ("softmax", "which the run exported")
    metrics = (("bleu", "softmax"), ("error_rate", last), (None, "softmax"))
    for metric, best in metrics:
        scores = {"softmax": 3.0, last: 2.0, "gone": 9.0}
        by = {"metric": metric, "scores": scores}
        found = choose(systems=systems, exported="gone", exported_by=by)
        reason = f"which has the best {metric or 'score'} on the validation set"
        assert found == (best, reason)


@pytest.mark.long
def test_several_runs_make_an_ensemble(run, tmp_path, capsys, monkeypatch):
    found = {}
    monkeypatch.setattr(
        "tfcopy.serving.saved_model.export",
        lambda served, *_, **more: found.update(more, served=served) or "1",
    )
    monkeypatch.setattr(
        "tfcopy.serving.export.read_config", lambda _: {"engines": ""}
    )
    other = tmp_path / "other"
    shutil.copytree(run, other)
    assert export(run, other, "--set", "sample=true", "top_p=0.9") == 0
    assert f"{run} and {other}, best weights: " in capsys.readouterr().out
    served = found["served"]
    assert len(served.model.models) == 2
    assert served.options.sample and served.options.top_p == 0.9
    assert found["details"]["ensemble"] == [str(run), str(other)]
    assert served.translate_all(["the session"], progress=False)[0].text
    (tmp_path / "link").symlink_to(run)
    for again in (run, f"{run}/", tmp_path / "link"):
        assert export(run, other, again) == 2
        assert "A run is given twice" in capsys.readouterr().err
    path = other / "pointer_softmax" / "servable.json"
    content = json.loads((run / "pointer_softmax/servable.json").read_text())
    content["arguments"]["append_eos"] = False
    del content["sha256"]
    path.write_text(json.dumps(content))
    assert export(run, other) == 2
    message = f"{other}/pointer_softmax has an end of sources other than"
    assert message in capsys.readouterr().err


def test_systems_of_several_parts_are_found_by_their_last_name(tmp_path):
    names = ["words/copynet", "words/rnn", "characters/rnn"]
    folder = run_folder.RunFolder(make_run(tmp_path / "run", *names))
    assert sorted(folder.systems()) == sorted(names)
    assert folder.find("copynet") == "words/copynet"
    assert folder.find("words/rnn") == "words/rnn"
    with pytest.raises(
        run_folder.RunError, match="several end in this name.*words/rnn"
    ):
        folder.find("rnn")
