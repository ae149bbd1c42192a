"""A run that is killed again and again ends as if nothing had happened."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from tests.training import standin

STEPS = 40
OPTIONS = {"steps": STEPS, "eval_every": 10, "save_every": 3}


def start(folder):
    options = OPTIONS | {
        "log_dir": str(folder / "logs"),
        "output": str(folder / "weights"),
        "delay": 0.05,
        "progress_seconds": 0,
        "verbose": True,
    }
    return subprocess.Popen(
        [sys.executable, "-m", "tests.training.standin", json.dumps(options)],
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_for(folder, updates, number):
    """Runs until some updates were made, then sends a signal."""
    process, count, lines = start(folder), 0, []
    for line in process.stdout:
        lines.append(line)
        count += line.startswith("update ") and "dev" not in line
        if count == updates:
            time.sleep(random.random() * 0.05)
            process.send_signal(number)
            break
    rest, _ = process.communicate(timeout=100)
    return process.returncode, "".join(lines) + rest


def read_weights(folder):
    with np.load(folder / "weights") as archive:
        return [archive[name] for name in archive.files]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    trainer = standin.make_trainer(log_dir=folder / "logs", **OPTIONS)
    trainer.fit()
    return [variable.numpy() for variable in trainer.model.weights]


def assert_same_bits(weights, expected):
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def kill_and_resume(folder, kills):
    for _ in range(kills):
        code, text = run_for(folder, random.randint(1, 4), signal.SIGKILL)
        assert code == -signal.SIGKILL, text
    code, text = run_for(folder, -1, None)
    assert code == 0, text
    assert "Resuming from" in text
    return read_weights(folder)


@pytest.mark.slow
def test_two_kills_change_nothing(tmp_path, undisturbed):
    assert_same_bits(kill_and_resume(tmp_path, 2), undisturbed)


@pytest.mark.slow
def test_ten_kills_change_nothing(tmp_path, undisturbed):
    assert_same_bits(kill_and_resume(tmp_path, 10), undisturbed)


@pytest.mark.parametrize(
    "number",
    [pytest.param(signal.SIGINT, marks=pytest.mark.slow), signal.SIGTERM],
)
def test_signal_saves_and_says_how_to_go_on(tmp_path, number):
    code, text = run_for(tmp_path, 5, number)
    assert code == 128 + number, text
    assert "Repeat the command to go on." in text


def test_stops_in_process_and_resumes(tmp_path, undisturbed):
    """Interrupted between an update and its dev score, at every place."""
    options = OPTIONS | {"log_dir": tmp_path / "logs"}
    for update in (1, 10, 17, 40):
        trainer = standin.make_trainer(**options)
        stop_after(trainer, update)
        with pytest.raises(standin.training.TrainingInterrupted) as stopped:
            trainer.fit()
        assert stopped.value.exit_code == 143
        assert trainer.state.update == update
    trainer = standin.make_trainer(**options)
    result = trainer.fit()
    assert result.updates == STEPS
    weights = [variable.numpy() for variable in trainer.model.weights]
    assert_same_bits(weights, undisturbed)


def stop_after(trainer, update):
    original = trainer.step_for

    def step_for(spec):
        step = original(spec)
        apply = step.update

        def and_stop(*inputs):
            if trainer.state.update + 1 == update:
                os.kill(os.getpid(), signal.SIGTERM)
            return apply(*inputs)

        if not hasattr(step, "stops"):
            step.stops, step.update = True, and_stop
        return step

    trainer.step_for = step_for
