"""A penalty that is switched on half-way."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.training import standin
from tests.training.test_resume import assert_same_bits, stop_after
from tfcopy import training

START, STEPS = 20, 40


def make_trainer(start=START, reset_optimizer=True, **options):
    keras.utils.set_random_seed(3)
    model = standin.build_model()
    flag = model.add_weight(name="flag", shape=(), trainable=False)
    flag.assign(0.0)  # the first of the weights

    def penalty(batch, distribution):
        generated = -distribution.generate_offset
        return flag * tf.abs(generated) * 0.1

    phase = training.Phase(start, lambda: flag.assign(1.0), reset_optimizer)
    defaults = {"steps": STEPS, "eval_every": 10, "save_every": 3}
    trainer = standin.make_trainer(
        model=model,
        optimizer=keras.optimizers.Adagrad(0.05),
        penalty=penalty,
        phases=[phase],
        **defaults | options,
    )
    return trainer, flag


def make_annealed(**options):
    """Smaller steps after 2 of 3 epochs, two updates after a dev score."""
    optimizer = training.Adam(0.2)
    phase = training.anneal(2, optimizer, unit="epochs")
    defaults = {"steps": None, "epochs": 3, "eval_every": 3, "save_every": 3}
    return standin.make_trainer(
        optimizer=optimizer, phases=[phase], **defaults | options
    )


def rate_of(trainer):
    return float(np.array(trainer.optimizer.learning_rate))


def weights_of(trainer):
    return [v.numpy() for v in trainer.model.weights]


@pytest.mark.long
def test_before_its_start_a_phase_changes_nothing():
    trainer, flag = make_trainer(steps=START - 1)
    trainer.fit()
    plain = standin.make_trainer(
        optimizer=keras.optimizers.Adagrad(0.05),
        steps=START - 1,
        eval_every=10,
    )
    plain.fit()
    assert float(flag) == 0 and trainer.state.phase == 0
    for one, other in zip(weights_of(trainer)[1:], weights_of(plain)):
        np.testing.assert_array_equal(one, other)


def test_a_phase_begins_at_the_best_weights_with_a_new_optimizer():
    trainer, flag = make_trainer()
    seen = []
    original = trainer.schedule.begin

    def begin(phase, state):
        before = trainer.evaluate(standin.dev_data)
        best_weights = trainer.saver.best_weights
        original(phase, state)
        seen.append((state.update, before))
        for array, weight in zip(best_weights[1:], weights_of(trainer)[1:]):
            np.testing.assert_array_equal(array, weight)
        sums = [v.numpy() for v in trainer.optimizer.variables][2:]
        assert all((x == np.float32(0.1)).all() for x in sums)

    trainer.schedule.begin = begin
    result = trainer.fit()
    ((update, before),) = seen
    assert update == START and before.penalty == 0
    assert float(flag) == 1 and result.updates == STEPS
    # The objective of the second phase, not the lower one of the first.
    assert result.best_update >= START and result.best_dev_penalty > 0


def test_the_optimizer_is_kept_if_asked():
    trainer, _ = make_trainer(steps=START, reset_optimizer=False)
    trainer.fit()
    assert trainer.state.phase == 1
    sums = [v.numpy() for v in trainer.optimizer.variables][2:]
    assert any((x > 0.1001).any() for x in sums)


def test_what_a_phase_does_to_the_learning_rate_outlasts_a_reset():
    optimizer = keras.optimizers.Adagrad(0.05)
    phase = training.Phase(2, lambda: setattr(optimizer, "learning_rate", 0.5))
    trainer = standin.make_trainer(optimizer=optimizer, phases=[phase], steps=3)
    trainer.fit()
    assert rate_of(trainer) == 0.5


def test_the_loss_alone_makes_the_perplexity():
    trainer, flag = make_trainer()
    without = trainer.evaluate(standin.dev_data)
    flag.assign(1.0)
    scores = trainer.evaluate(standin.dev_data)
    assert scores.nll == pytest.approx(without.nll, rel=1e-6)
    assert scores.penalty > 0 == without.penalty


@pytest.mark.long
def test_the_penalty_moves_the_weights():
    def one_step(value):
        trainer, flag = make_trainer(steps=1, start=99)
        flag.assign(value)
        trainer.fit()
        return weights_of(trainer)[0]

    assert np.abs(one_step(1.0) - one_step(0.0)).max() > 0


def test_patience_begins_the_next_phase():
    options = {"eval_every": 2, "patience": 2, "start": 30, "clip_norm": 0.0}
    trainer, flag = make_trainer(**options)
    result = trainer.fit()
    assert float(flag) == 1
    # Weights that never move: 2, 4 and 6; then 6 anew, 8 and 10.
    assert result.stopped_early and result.updates == 10


@pytest.mark.long
def test_resuming_at_any_place_changes_nothing(tmp_path):
    undisturbed, _ = make_trainer(log_dir=tmp_path / "undisturbed")
    undisturbed.fit()
    for update in (9, START, START + 1, 33):
        trainer, _ = make_trainer(log_dir=tmp_path / "logs")
        stop_after(trainer, update)
        with pytest.raises(training.TrainingInterrupted):
            trainer.fit()
    trainer, flag = make_trainer(log_dir=tmp_path / "logs")
    trainer.fit()
    assert float(flag) == 1
    assert_same_bits(weights_of(trainer), weights_of(undisturbed))


def test_annealing_goes_on_from_the_best_weights_with_smaller_steps():
    trainer = make_annealed()
    seen = []
    original = trainer.schedule.begin

    def begin(phase, state):
        seen.append((state.update, state.best_update, state.best_nll))
        optimizer = [v.numpy() for v in trainer.optimizer.variables]
        original(phase, state)
        assert_same_bits(weights_of(trainer), trainer.saver.best_weights)
        after = [v.numpy() for v in trainer.optimizer.variables]
        # Iterations, learning rate, and what Adam knows of past gradients.
        assert after[0] == optimizer[0] == 14
        assert after[1] == pytest.approx(0.02) and rate_of(trainer) == after[1]
        assert_same_bits(after[2:], optimizer[2:])
        assert any(array.any() for array in after[2:])

    trainer.schedule.begin = begin
    result = trainer.fit()
    ((update, best_update, best_nll),) = seen
    assert update == 2 * standin.BATCHES and 0 < best_update < update
    assert result.updates == 3 * standin.BATCHES
    assert rate_of(trainer) == pytest.approx(0.02)
    # The weights it begins with are among those that the best come from.
    assert result.best_update >= update
    assert result.best_dev_nll <= best_nll + 1e-6


@pytest.mark.long
def test_resuming_an_annealed_run_changes_nothing(tmp_path):
    undisturbed = make_annealed(log_dir=tmp_path / "undisturbed")
    expected = undisturbed.fit()
    for update in (9, 14, 15, 18):
        trainer = make_annealed(log_dir=tmp_path / "logs")
        stop_after(trainer, update)
        with pytest.raises(training.TrainingInterrupted):
            trainer.fit()
    trainer = make_annealed(log_dir=tmp_path / "logs")
    result = trainer.fit()
    assert result.best_update == expected.best_update
    assert rate_of(trainer) == pytest.approx(0.02)
    assert_same_bits(weights_of(trainer), weights_of(undisturbed))


def test_phases_start_after_updates_or_epochs():
    with pytest.raises(ValueError, match="Received: unit='words'"):
        training.Phase(1, print, unit="words")
