"""Schedules against their equations, in a run that is resumed."""

import keras
import numpy as np
import pytest
from keras.optimizers.schedules import CosineDecay, PolynomialDecay

from tests.training import standin
from tests.training.test_resume import assert_same_bits, stop_after
from tests.training.test_tensorboard import read, values_of
from tfcopy import training

UPDATES = np.arange(1, 41)  # counted from 1


def rates(schedule):
    """The rates of updates 1 to 40."""
    return [float(schedule(step)) for step in UPDATES - 1]


def test_inverse_square_root_follows_the_equation_of_the_paper():
    d_model, warmup = 512, 10
    expected = d_model**-0.5 * np.minimum(UPDATES**-0.5, UPDATES * warmup**-1.5)
    peak = (d_model * warmup) ** -0.5
    schedule = training.InverseSquareRoot(peak, warmup)
    found = rates(training.WarmUp(schedule, warmup))
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    assert np.argmax(found) + 1 == warmup


@pytest.mark.parametrize("updates", [1, 8])
def test_after_warm_up_a_schedule_begins_at_its_start(updates):
    last, rest = 40, 41 - updates
    done = np.clip((UPDATES - updates) / rest, 0, 1)
    rise = np.minimum(UPDATES / updates, 1)
    for schedule, expected in (
        (0.3, 0.3 * rise),
        (PolynomialDecay(0.3, rest, 0.0), 0.3 * rise * (1 - done)),
        (CosineDecay(0.3, rest), 0.15 * rise * (1 + np.cos(np.pi * done))),
    ):
        warm = training.WarmUp(schedule, updates)
        np.testing.assert_allclose(rates(warm), expected, atol=1e-7)
        if schedule != 0.3:
            assert float(warm(last)) == pytest.approx(0, abs=1e-7)


@pytest.mark.parametrize(
    "inner", [0.3, PolynomialDecay(0.3, 5), training.InverseSquareRoot(0.3, 4)]
)
def test_schedules_are_saved_with_their_optimizer(inner):
    optimizer = training.Adam(training.WarmUp(inner, 4))
    config = keras.saving.serialize_keras_object(optimizer)
    copy = keras.saving.deserialize_keras_object(config)
    for step in (0, 3, 9):
        for one in (optimizer, copy):
            one.iterations.assign(step)
        assert float(copy.learning_rate) == float(optimizer.learning_rate)


@pytest.mark.parametrize(
    "make",
    [training.WarmUp, training.InverseSquareRoot],
)
def test_no_updates_are_refused(make):
    with pytest.raises(ValueError, match="positive integer. Received: 0"):
        make(0.1, 0)


def make_trainer(**options):
    schedule = training.WarmUp(CosineDecay(0.05, 16), 5)
    return standin.make_trainer(optimizer=training.Adam(schedule), **options)


@pytest.mark.long
def test_a_resumed_run_goes_on_with_the_schedule(tmp_path):
    undisturbed = make_trainer()
    undisturbed.fit()
    for update in (3, 13):
        trainer = make_trainer(log_dir=tmp_path)
        stop_after(trainer, update)
        with pytest.raises(training.TrainingInterrupted):
            trainer.fit()
    trainer = make_trainer(log_dir=tmp_path)
    trainer.fit()
    assert_same_bits(
        [v.numpy() for v in trainer.model.weights],
        [v.numpy() for v in undisturbed.model.weights],
    )
    shown = values_of(read(tmp_path), "train/learning_rate")
    schedule = training.WarmUp(CosineDecay(0.05, 16), 5)
    assert [step for step, _ in shown] == [5, 10, 15, 20]
    for step, rate in shown:
        assert rate == pytest.approx(float(schedule(step)), abs=1e-7)
