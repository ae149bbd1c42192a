"""A run that is killed again and again ends as if nothing had happened."""

import os
import random
import signal
import sys
import time

import numpy as np
import pytest

from tests.training import standin
from tests.training.running import assert_same_bits, interrupt, weights_of
from tests.training.training_process import TrainingProcess

STEPS = 40
OPTIONS = {"steps": STEPS, "eval_every": 10, "save_every": 3}


def start(folder, **options):
    options = OPTIONS | {
        "log_dir": str(folder / "logs"),
        "output": str(folder / "weights"),
        "progress_seconds": 0,
        "verbose": True,
        **options,
    }
    return TrainingProcess(folder / "log.txt", **options)


def run_for(folder, updates, number, **options):
    """Runs until some updates were made, then sends a signal."""
    process = start(folder, delay=0.02, **options)
    process.wait_for_updates(updates)
    time.sleep(random.random() * 0.05)
    process.send(number)
    return process.finish(), process.text


def read_weights(folder):
    with np.load(folder / "weights") as archive:
        return [archive[name] for name in archive.files]


def weights_after(folder, **options):
    """Weights of a run that nobody disturbs."""
    options = OPTIONS | {"log_dir": folder / "logs"} | options
    trainer = standin.make_trainer(**options)
    trainer.fit()
    return weights_of(trainer)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return weights_after(tmp_path_factory.mktemp("undisturbed"))


def assert_resumes(folder, undisturbed, **options):
    process = start(folder, **options)
    assert process.finish() == 0, process.text
    assert "Resuming from" in process.text
    assert_same_bits(read_weights(folder), undisturbed)


def kill_and_resume(folder, kills, expected, **options):
    for _ in range(kills):
        updates = random.randint(3, 6)
        code, text = run_for(folder, updates, signal.SIGKILL, **options)
        assert code == -signal.SIGKILL, text
    assert_resumes(folder, expected, **options)


@pytest.mark.long
def test_kills_at_any_time_change_nothing(tmp_path, undisturbed):
    kill_and_resume(tmp_path, 2, undisturbed)


@pytest.mark.slow
def test_many_kills_change_nothing(tmp_path):
    """In a run so long that it never ends before the last kill."""
    expected = weights_after(tmp_path / "undisturbed", steps=300)
    kill_and_resume(tmp_path, 10, expected, steps=300)


@pytest.mark.long
def test_kills_while_files_are_written_change_nothing(tmp_path, undisturbed):
    # A checkpoint, the folder it is in, and the best weights.
    for number in (5, 4, 1):
        process = start(tmp_path, kill_at_sync=number)
        assert process.finish() == -signal.SIGKILL, process.text
    names = os.listdir(tmp_path / "logs" / "checkpoints")
    assert any(name.startswith(".writing-") for name in names)
    assert_resumes(tmp_path, undisturbed)
    names = os.listdir(tmp_path / "logs" / "checkpoints")
    assert len(names) == 3 and "best.npz" in names


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM],
)
def test_signal_saves_and_says_how_to_go_on(tmp_path, number):
    code, text = run_for(tmp_path, 5, number)
    assert code == 128 + number, text
    assert "Repeat the command to resume." in text


def assert_models_without_keras_hub(options):
    assert "tfcopy.models" in sys.modules
    assert "keras_hub" not in sys.modules


def test_models_are_imported_without_keras_hub(tmp_path):
    """Here, as the process that others are forked from has imported them."""
    process = TrainingProcess(
        tmp_path / "log.txt", main=assert_models_without_keras_hub
    )
    assert process.finish() == 0, process.text


def test_stops_in_process_and_resumes(tmp_path, undisturbed):
    """Interrupted between an update and its dev score, at every place."""
    options = OPTIONS | {"log_dir": tmp_path / "logs"}
    for update in (1, 10, 17, 40):
        number = signal.SIGHUP if update == 17 else signal.SIGTERM
        trainer = standin.make_trainer(**options)
        assert interrupt(trainer, update, number).exit_code == 128 + number
        assert trainer.state.update == update
    trainer = standin.make_trainer(**options)
    result = trainer.fit()
    assert result.updates == STEPS
    # The score of no update is there twice.
    assert [update for update, _ in result.dev_history] == [10, 20, 30, 40]
    assert_same_bits(weights_of(trainer), undisturbed)
