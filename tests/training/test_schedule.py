"""Optimizers, learning rates, phases, and weights kept to be averaged."""

import math
import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.optimizers.schedules import (
    CosineDecay,
    ExponentialDecay,
    PolynomialDecay,
)

from tests.training import standin
from tests.training.running import (
    assert_close,
    assert_same_bits,
    check_resuming,
    weights_of,
)
from tests.training.test_tensorboard import read, values_of
from tfcopy import training
from tfcopy.training.schedule import Schedule

UPDATES = np.arange(1, 41)  # counted from 1


def update_repeatedly(optimizer, steps=30, dtype="float32"):
    """Returns the weights after some updates with the same gradients."""
    rng = np.random.default_rng(0)
    shapes = [(5, 3), (7,), ()]
    variables = [
        keras.Variable(rng.normal(size=shape), dtype=dtype) for shape in shapes
    ]
    optimizer.build(variables)

    @tf.function(autograph=False)
    def update(gradients):
        optimizer.apply(gradients, variables)

    for _ in range(steps):
        update([tf.constant(rng.normal(size=s), dtype) for s in shapes])
    return [variable.numpy() for variable in variables]


@pytest.mark.parametrize(
    "options",
    [
        {"learning_rate": ExponentialDecay(0.02, 5, 0.5)},
        {},
        {"beta_1": 0.8, "beta_2": 0.98, "epsilon": 1e-4},
        {"weight_decay": 0.01},
        {"amsgrad": True},
    ],
)
def test_adam_equals_that_of_keras(options):
    options = {"learning_rate": 0.01, **options}
    fused = update_repeatedly(training.Adam(**options))
    plain = update_repeatedly(keras.optimizers.Adam(**options))
    assert_close(fused, plain, atol=1e-6)


def test_adam_comes_back_from_its_config():
    optimizer = training.Adam(0.3, beta_1=0.7)
    copy = keras.optimizers.deserialize(keras.optimizers.serialize(optimizer))
    assert type(copy) is training.Adam
    assert copy.get_config() == optimizer.get_config()


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


@pytest.mark.parametrize("make", [training.WarmUp, training.InverseSquareRoot])
def test_no_updates_are_refused(make):
    with pytest.raises(ValueError, match="positive integer. Received: 0"):
        make(0.1, 0)


def make_trainer_learning_rates(**options):
    schedule = training.WarmUp(CosineDecay(0.05, 16), 5)
    return standin.make_trainer(optimizer=training.Adam(schedule), **options)


@pytest.mark.long
def test_a_resumed_run_goes_on_with_the_schedule(tmp_path):
    check_resuming(make_trainer_learning_rates, tmp_path, (3, 13))
    shown = values_of(read(tmp_path / "logs"), "train/learning_rate")
    schedule = training.WarmUp(CosineDecay(0.05, 16), 5)
    assert [step for step, _ in shown] == [5, 10, 15, 20]
    for step, rate in shown:
        assert rate == pytest.approx(float(schedule(step)), abs=1e-7)


START, STEPS = 20, 40


def make_trainer_phases(start=START, reset_optimizer=True, **options):
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


@pytest.mark.long
def test_before_its_start_a_phase_changes_nothing():
    trainer, flag = make_trainer_phases(steps=START - 1)
    trainer.fit()
    plain = standin.make_trainer(
        optimizer=keras.optimizers.Adagrad(0.05), steps=START - 1, eval_every=10
    )
    plain.fit()
    assert float(flag) == 0 and trainer.state.phase == 0
    assert_same_bits(weights_of(trainer)[1:], weights_of(plain))


def test_a_phase_begins_at_the_best_weights_with_a_new_optimizer():
    trainer, flag = make_trainer_phases()
    seen = []
    original = trainer.schedule.begin

    def begin(phase, state):
        before = trainer.evaluate(standin.dev_data)
        best_weights = trainer.saver.best_weights
        original(phase, state)
        seen.append((state.update, before))
        assert_same_bits(best_weights[1:], weights_of(trainer)[1:])
        sums = [v.numpy() for v in trainer.optimizer.variables][2:]
        assert all((x == np.float32(0.1)).all() for x in sums)

    trainer.schedule.begin = begin
    result = trainer.fit()
    ((update, before),) = seen
    assert update == START and before.penalty == 0
    assert float(flag) == 1 and result.updates == STEPS
    # The objective of the second phase, not the lower one of the first.
    assert result.best_update >= START and result.best_dev_penalty > 0


@pytest.mark.long
def test_the_optimizer_is_kept_if_asked():
    trainer, _ = make_trainer_phases(steps=START, reset_optimizer=False)
    trainer.fit()
    assert trainer.state.phase == 1
    sums = [v.numpy() for v in trainer.optimizer.variables][2:]
    assert any((x > 0.1001).any() for x in sums)


@pytest.mark.long
def test_what_a_phase_does_to_the_learning_rate_outlasts_a_reset():
    optimizer = keras.optimizers.Adagrad(0.05)
    phase = training.Phase(2, lambda: setattr(optimizer, "learning_rate", 0.5))
    trainer = standin.make_trainer(optimizer=optimizer, phases=[phase], steps=3)
    trainer.fit()
    assert rate_of(trainer) == 0.5


def test_the_loss_alone_makes_the_perplexity():
    trainer, flag = make_trainer_phases()
    without = trainer.evaluate(standin.dev_data)
    flag.assign(1.0)
    scores = trainer.evaluate(standin.dev_data)
    assert scores.nll == pytest.approx(without.nll, rel=1e-6)
    assert scores.penalty > 0 == without.penalty


@pytest.mark.long
def test_the_penalty_moves_the_weights():
    def one_step(value):
        trainer, flag = make_trainer_phases(steps=1, start=99)
        flag.assign(value)
        trainer.fit()
        return weights_of(trainer)[0]

    assert np.abs(one_step(1.0) - one_step(0.0)).max() > 0


@pytest.mark.long
def test_patience_begins_the_next_phase():
    options = {"eval_every": 2, "patience": 2, "start": 30, "clip_norm": 0.0}
    trainer, flag = make_trainer_phases(**options)
    result = trainer.fit()
    assert float(flag) == 1
    # Weights that never move: 2, 4 and 6; then 6 anew, 8 and 10.
    assert result.stopped_early and result.updates == 10


@pytest.mark.long
def test_resuming_at_any_place_changes_nothing(tmp_path):
    trainer = check_resuming(
        lambda **options: make_trainer_phases(**options)[0],
        tmp_path / "phases",
        (9, START, START + 1, 33),
    )
    assert weights_of(trainer)[0] == 1  # the flag
    trainer = check_resuming(
        make_annealed, tmp_path / "annealed", (9, 14, 15, 18)
    )
    assert rate_of(trainer) == pytest.approx(0.02)


@pytest.mark.long
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


def test_phases_start_after_updates_or_epochs():
    with pytest.raises(ValueError, match="Received: unit='words'"):
        training.Phase(1, print, unit="words")


def kept_after(costs, **options):
    """The updates that are kept after dev scores of these costs."""
    names = ("score", "plateau", "patience", "lower_is_better")
    options = types.SimpleNamespace(**dict.fromkeys(names), **options)
    optimizer = types.SimpleNamespace(variables=())
    schedule = Schedule(options, (), optimizer, True)
    state = types.SimpleNamespace(dev_history=[], kept=[], bad_evaluations=0)
    state.best_nll = state.best_penalty = math.inf
    for state.update, cost in enumerate(costs, start=1):
        scores = types.SimpleNamespace(nll=cost, penalty=0.0, metrics={})
        schedule.count_scores(scores, state)
    return [update for update, _ in state.kept]


@pytest.mark.parametrize(
    ("average", "kept"), [("last", [4, 5]), ("best", [2, 4]), (None, [])]
)
def test_as_many_are_kept_as_are_averaged(average, kept):
    costs = [3.0, 1.0, 2.0, 1.0, math.nan]
    assert kept_after(costs, average=average, average_of=2) == kept
    assert kept_after(costs[:1], average=average, average_of=2) == (
        [1] if average else []
    )
