"""Whole commands whose corpus, logs and exports are under URLs."""

import functools
import os
import re
import signal

import pytest

import tfcopy
from tests.recipes import exporting, starting
from tests.recipes.test_europarl_ps import TINY
from tfcopy import atomic_files, filesystem
from tfcopy.experiments.pairs.pair_training import SamplePictures
from tfcopy.recipes import europarl_ps
from tfcopy.serving import evaluate

start = functools.partial(starting.start, europarl_ps, TINY)
STORE = f"ram://stored-elsewhere-{os.getpid()}"


def write_corpus(folder):
    """Two files, one of them gzipped, of the same lines everywhere."""
    filesystem.makedirs(folder)
    paths = []
    for the in ("the", "le"):
        path = f"{folder}/a.{the}"
        text = "".join(f"{the} name{i} is {i % 7} .\n" for i in range(60))
        data = text.encode()
        atomic_files.write_atomically(path, lambda file: file.write(data))
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def finished():
    """A run that was begun anew and interrupted, all of it in the store."""
    train = write_corpus(f"{STORE}/corpus")
    picture = SamplePictures.__call__

    def interrupted(*arguments, **options):
        os.kill(os.getpid(), signal.SIGTERM)
        return picture(*arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SamplePictures, "__call__", interrupted)
        for flags in (["--units", "9"], ["--fresh"]):
            status = start(STORE, "--train", *train, *flags)
            assert status == 128 + signal.SIGTERM
    assert start(STORE, "--train", *train) == 0
    return starting.results(STORE)


@pytest.mark.long
def test_it_ends_as_a_run_in_local_folders(finished, tmp_path):
    train = write_corpus(str(tmp_path / "corpus"))
    assert start(tmp_path, "--train", *train) == 0
    assert starting.figures(tmp_path) == starting.figures(STORE)
    written = [
        sorted(
            os.path.join(filesystem.relpath(folder, root), name)
            for folder, _, names in filesystem.walk(root)
            for name in names
            if name != ".lock" and not re.search("tfevents|checkpoint-", name)
        )
        for root in (f"{tmp_path}/logs", f"{STORE}/logs")
    ]
    assert written[0] == written[1]
    events = filesystem.glob(f"{STORE}/logs/demo/pointer_softmax/*tfevents*")
    assert len(events) == 3 and all(map(filesystem.size, events))


@pytest.mark.long
def test_it_answers_from_there(finished, tmp_path, capsys):
    assert finished["savedmodel"] == f"{STORE}/served/1"
    with tfcopy.load(f"{STORE}/served") as model:
        (answer,) = model.translate(["the name3 is 3 ."])
        assert isinstance(answer.text, str)
    run = f"{STORE}/logs/demo"
    exporting.rebuilt(run, "--to", f"{STORE}/again", "--checkpoint", "last")
    assert f"{STORE}/again/1" in capsys.readouterr().out
    files = [
        *("--source", f"{STORE}/corpus/a.the"),
        *("--reference", f"{STORE}/corpus/a.le"),
    ]
    assert evaluate.main([f"{STORE}/served", *files]) == 0
    assert "BLEU" in capsys.readouterr().out


@pytest.mark.long
def test_a_finished_run_there_is_not_trained_again(finished, capsys):
    before = starting.figures(STORE)
    train = [f"{STORE}/corpus/a.{x}" for x in ("the", "le")]
    assert start(STORE, "--train", *train) == 0
    assert f"--model_base_path={STORE}/served\n" in capsys.readouterr().out
    assert starting.figures(STORE) == before
    assert start(STORE, "--train", *train, "--units", "9") == 2
    assert "--units" in capsys.readouterr().err


def test_what_is_not_there_is_named(capsys):
    train = [f"{STORE}/none.en", f"{STORE}/none.fr"]
    assert start(STORE, "--train", *train) == 2
    assert f"--train: cannot read {STORE}/none.en" in capsys.readouterr().err
    with pytest.raises(Exception, match="no such folder"):
        tfcopy.load(f"{STORE}/none")
    assert start("nowhere://x") == 2
    error = capsys.readouterr().err
    assert "--log_dir" in error and "no scheme nowhere://" in error
