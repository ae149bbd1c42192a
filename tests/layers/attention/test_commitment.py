"""When a planner plans anew: switches, draws, gradients, distances."""

import numpy as np
import pytest
from keras import ops
from keras.random import SeedGenerator

from tests import helpers
from tfcopy.layers.attention import commitment

LOGITS = np.array([0.3, -0.5, 1.0, 0.0], "float32")


def draws(logits, steps, **options):
    """0 and 1 for each of the steps of so many planners side by side.

    Args:
        logits: `(B, k)`, the same at each step.
        steps: How many.
    """
    batch, plan_steps = logits.shape
    state = commitment.initial_commitment(batch, plan_steps)
    kappa = np.full((batch, 1), 1.154, "float32")
    seed, actual = SeedGenerator(1), []
    for _ in range(steps):
        noise = commitment.gumbel(logits.shape, seed)
        replan, state = commitment.commit(
            state, logits, kappa, noise, **options
        )
        actual.append(ops.convert_to_numpy(replan)[:, 0])
    return np.stack(actual, axis=1)


def forced(wanted, steps, switch):
    """Switches of one planner that draws the wanted distances in turn."""
    state = commitment.initial_commitment(1, 4)
    kappa, wanted, actual = np.ones((1, 1), "float32"), list(wanted), []
    for _ in range(steps):
        renews = ops.convert_to_numpy(state["plan"])[0, 0] == 1
        choice = wanted.pop(0) if renews and wanted else 0
        noise = np.where(np.arange(4) == choice, 1e3, 0.0).astype("float32")
        replan, state = commitment.commit(
            state, np.zeros((1, 4), "float32"), kappa, noise[None], switch
        )
        plan = ops.convert_to_numpy(state["plan"])[0]
        assert sorted(plan) == [0, 0, 0, 1], plan
        actual.append(float(ops.convert_to_numpy(replan)[0, 0]))
    return actual


def test_switches_of_forced_draws():
    assert forced([2, 0], 5, "previous") == [1, 0, 0, 1, 1]
    assert forced([2, 0], 4, "current") == [0, 0, 1, 1]


@pytest.mark.parametrize("resample", [False, True])
def test_distances_follow_the_plan_s_law(resample):
    logits = np.broadcast_to(LOGITS, (6_000, 4))
    switches = draws(logits, 20, resample=resample)
    assert np.all(switches[:, 0] == 1)
    distances = [
        distance
        for row in switches
        for distance in np.diff(np.flatnonzero(row))
    ]
    # The last ones are cut off by the end: count those that began early.
    early = [np.diff(np.flatnonzero(row))[:3] for row in switches]
    early = np.concatenate(early)
    expected = np.exp(LOGITS) / np.exp(LOGITS).sum()
    actual = [np.mean(early == i + 1) for i in range(4)]
    np.testing.assert_allclose(actual, expected, atol=0.015)
    if not resample:
        assert max(distances) <= 4


def test_the_mean_distance_of_a_uniform_plan():
    switches = draws(np.zeros((4_000, 10), "float32"), 40)
    early = [np.diff(np.flatnonzero(row))[:3] for row in switches]
    assert np.mean(np.concatenate(early)) == pytest.approx(5.5, abs=0.1)


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_temperature_does_not_change_what_is_drawn(scale):
    logits = np.broadcast_to(LOGITS, (50_000, 4))
    noise = commitment.gumbel(logits.shape, SeedGenerator(3))
    drawn = commitment.straight_through(
        ops.softmax(scale * (logits + noise), axis=-1)
    )
    expected = np.exp(LOGITS) / np.exp(LOGITS).sum()
    actual = ops.convert_to_numpy(ops.mean(drawn, axis=0))
    np.testing.assert_allclose(actual, expected, atol=0.01)


def test_the_inverse_temperature():
    start = commitment.inverse_temperature(
        ops.convert_to_tensor(commitment.TEMPERATURE_BIAS)
    )
    helpers.assert_close(start, 1.153978)
    low = commitment.inverse_temperature(ops.convert_to_tensor(-100.0))
    assert float(low) >= 1.001 - 1e-6


def test_straight_through_is_one_hot_with_the_gradient_of_what_it_is_drawn_of():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(7), 500)
    probabilities = probabilities.astype("float32")
    weights = np.random.default_rng(1).normal(size=(500, 7)).astype("float32")

    def total(inputs):
        return ops.sum(weights * commitment.straight_through(inputs["p"]))

    drawn = ops.convert_to_numpy(commitment.straight_through(probabilities))
    assert set(drawn.flatten()) == {0.0, 1.0}
    assert np.all(drawn.sum(axis=1) == 1)
    np.testing.assert_array_equal(
        drawn.argmax(axis=1), probabilities.argmax(axis=1)
    )
    _, gradients, _ = helpers.gradients(total, {"p": probabilities}, [])
    np.testing.assert_array_equal(gradients["p"], weights)


def test_the_gradient_of_a_switch_is_the_difference_of_what_it_mixes():
    rng = np.random.default_rng(0)
    new, old, weights = rng.normal(size=(3, 2, 4, 3)).astype("float32")

    def total(inputs):
        return ops.sum(weights * commitment.mix(inputs["g"], new, old))

    switch = np.array([[1.0], [0.0]], "float32")
    _, gradients, _ = helpers.gradients(total, {"g": switch}, [])
    expected = np.sum(weights * (new - old), axis=(1, 2))
    np.testing.assert_allclose(gradients["g"][:, 0], expected, rtol=1e-5)


def test_deviation():
    uniform = np.full((1, 10), 0.1, "float32")
    helpers.assert_close(commitment.deviation(uniform), [[0.0]])
    certain = np.eye(10, dtype="float32")[:1]
    helpers.assert_close(commitment.deviation(certain), [[0.9]])


def test_noise_is_finite_and_gumbel():
    noise = commitment.gumbel((200_000,), SeedGenerator(0))
    noise = ops.convert_to_numpy(noise)
    assert np.isfinite(noise).all()
    assert noise.mean() == pytest.approx(0.5772, abs=0.01)
    assert noise.var() == pytest.approx(np.pi**2 / 6, abs=0.03)
