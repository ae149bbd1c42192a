"""What tests do with trainers: compare their weights, and interrupt them."""

import os
import signal

import numpy as np
import pytest

from tfcopy import training
from tfcopy.training import checkpoint_arrays


def weights_of(trainer):
    return checkpoint_arrays.get_values(trainer.model)


def assert_same_bits(weights, expected):
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def assert_close(weights, expected, **tolerances):
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_allclose(one, other, **tolerances)


def interrupt(trainer, update, number=signal.SIGTERM):
    """Trains until a signal comes in an update; returns the exception."""
    stop_after(trainer, update, number)
    with pytest.raises(training.TrainingInterrupted) as stopped:
        trainer.fit()
    return stopped.value


def stop_after(trainer, update, number=signal.SIGTERM):
    original = trainer.step_for

    def step_for(spec):
        step = original(spec)
        apply = step.update

        def and_stop(*inputs):
            if trainer.state.update + 1 == update:
                os.kill(os.getpid(), number)
            return apply(*inputs)

        if not hasattr(step, "stops"):
            step.stops, step.update = True, and_stop
        return step

    trainer.step_for = step_for


def check_resuming(make, folder, updates):
    """Checks that interruptions in some updates change nothing.

    Args:
        make: Function of `log_dir` that makes a trainer.
        folder: For two runs; the interrupted one is in its folder `logs`.
        updates: In which of them it is interrupted.

    Returns:
        The trainer of the interrupted run.
    """
    undisturbed = make(log_dir=folder / "undisturbed")
    expected = undisturbed.fit()
    for update in updates:
        interrupt(make(log_dir=folder / "logs"), update)
    trainer = make(log_dir=folder / "logs")
    result = trainer.fit()
    assert result.best_update == expected.best_update
    assert result.best_dev_score == expected.best_dev_score
    assert_same_bits(weights_of(trainer), weights_of(undisturbed))
    return trainer
