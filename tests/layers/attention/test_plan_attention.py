"""Planners follow their plans and the equations, with masks and batches."""

import numpy as np
import pytest
from keras import ops
from keras.random import SeedGenerator

from tests import helpers
from tests.layers.random_inputs import MASK, normal
from tfcopy.layers import BahdanauAttention, PlanAttention
from tfcopy.layers.attention import plan_attention

B, S, T, C, E, U, K = 2, 4, 7, 6, 3, 5, 3


VALUE, WORDS, QUERY = normal(B, S, C), normal(B, T, E), normal(B, T, U)


def make(**options):
    layer = PlanAttention(U, plan_steps=K, summary_units=4, **options)
    layer.build((None, None, U), (None, None, C), (None, None, E))
    for i, weight in enumerate(layer.trainable_weights):
        weight.assign(normal(*weight.shape, seed=i))
    return layer


def run(layer, switches=None, value=VALUE, mask=MASK, rows=slice(None)):
    """The states and weights of T steps, or of as many as there are switches.

    Args:
        layer: A `PlanAttention` of `switch="previous"`.
        switches: Where to re-plan, `(T,)` or `(T, B)`; the layer says where
            if not given.
        value, mask: Of the source.
        rows: Of the queries and words.
    """
    memory = layer.prepare(value, mask)
    state, steps = layer.initial_state(memory), []
    for t in range(T if switches is None else len(switches)):
        if switches is not None:
            plan = np.zeros(state["commitment"]["plan"].shape, "float32")
            plan[:] = np.reshape(switches[t], (-1, 1))
            state["commitment"]["plan"] = ops.convert_to_tensor(plan)
        product = ops.matmul(QUERY[rows, t], layer.query_matrix())
        query = layer.combine(product, layer.project(WORDS[rows, t]), memory)
        context, log_weights, state = layer.step(query, state, memory)
        steps.append((helpers.to_numpy(state), helpers.to_numpy(context)))
        steps[-1] += (helpers.to_numpy(ops.exp(log_weights)),)
    return steps


def uniform(mask):
    return mask / mask.sum(-1, keepdims=True)


def test_a_plan_moves_on_and_ends_uniform():
    steps = run(make(), [1, 0, 0, 0])
    for (before, *_), (after, *_) in zip(steps, steps[1:]):
        np.testing.assert_array_equal(
            after["alignment"][..., :-1], before["alignment"][..., 1:]
        )
        assert not after["alignment"][..., -1].any()
    np.testing.assert_allclose(steps[3][2], uniform(MASK), atol=1e-6)


def softmax(logits, mask):
    weights = np.exp(logits) * mask
    return weights / weights.sum(-1, keepdims=True)


def test_a_plan_is_what_comes():
    steps = run(make(), [1, 0, 0])
    plan = steps[0][0]["alignment"]
    for i, (*_, weights) in enumerate(steps):
        expected = softmax(plan[..., i], MASK)
        np.testing.assert_allclose(weights, expected, atol=1e-6)


def test_without_summary_and_gate_it_is_additive_attention():
    layer = make(use_gate=False, always_replan=True)
    layer.read_kernel.assign(0 * layer.read_kernel)
    layer.read_bias.assign(0 * layer.read_bias)
    plain = BahdanauAttention(U, use_bias=True, reads_words=True)
    plain.build((None, None, U), (None, None, C), (None, None, E))
    kernel, bias = layer.value_projection.weights
    plain.value_projection.kernel.assign(kernel)
    plain.value_projection.bias.assign(bias + layer.query_bias)
    plain.query_kernel.assign(layer.query_kernel)
    plain.input_kernel.assign(layer.input_kernel)
    plain.score_kernel.assign(layer.score_kernel[:, :1])
    plain.score_bias.assign(layer.score_bias[:1])
    helpers.assert_close(
        layer(QUERY, VALUE, MASK, WORDS), plain(QUERY, VALUE, MASK, WORDS)
    )


def test_a_repeater_repeats():
    steps = run(make(mode="repeat"), [1, 0, 0, 0, 0])
    for *_, weights in steps[1:]:
        np.testing.assert_array_equal(weights, steps[0][2])


def test_a_gate_that_keeps_all_never_leaves_the_first_plan():
    layer = make(always_replan=True)
    layer.gate_query_kernel.assign(0 * layer.gate_query_kernel)
    # The keys of all sources are positive, and so is what they say.
    layer.value_projection.bias.assign(np.full(U, 1e3))
    layer.gate_key_kernel.assign(np.full((U, K), 1.0))
    for state, _, weights in run(layer):
        np.testing.assert_array_equal(state["alignment"], 1.0)
        np.testing.assert_allclose(weights, uniform(MASK), atol=1e-6)


@pytest.mark.parametrize("mode", ["plan", "repeat"])
def test_a_plan_of_one_step_is_made_at_each(mode):
    layer = PlanAttention(U, plan_steps=1, summary_units=4, mode=mode)
    layer.build((None, None, U), (None, None, C), (None, None, E))
    for state, *_ in run(layer):
        assert np.all(state["replan"] == 1)
        deviation = layer.outputs(state)["commitment_deviation"]
        helpers.assert_close(deviation, np.zeros((B, 1)))


@pytest.mark.parametrize("options", [{}, {"mode": "repeat"}])
def test_a_row_does_not_see_the_others(options):
    """Nor where one of them re-plans and the other does not."""
    layer = make(**options)
    switches = np.array([[1, 1], [0, 1], [1, 0], [0, 0], [0, 1]])
    both = run(layer, switches)
    for row in range(B):
        rows = slice(row, row + 1)
        alone = run(layer, switches[:, rows], VALUE[rows], MASK[rows], rows)
        for one, other in zip(alone, both):
            np.testing.assert_allclose(one[1][0], other[1][row], atol=1e-5)
            np.testing.assert_allclose(one[2][0], other[2][row], atol=1e-6)


def test_the_first_step_plans():
    layer = make()
    state = layer.initial_state(layer.prepare(VALUE, MASK))
    assert np.all(helpers.to_numpy(state["alignment"]) == 1)
    assert np.all(helpers.to_numpy(state["commitment"]["plan"]) == 1)
    assert np.all(run(layer)[0][0]["replan"] == 1)
    names = {weight.path.split("/")[-1] for weight in layer.trainable_weights}
    assert not names & {"alignment", "commitment", "plan"}


def test_noise_is_for_training_alone():
    quiet, loud = make(), make(sample_at_test=True, seed=1)
    for layer, training, noisy in (
        (quiet, False, False),
        (quiet, True, True),
        (loud, False, True),
    ):
        words = helpers.to_numpy(layer.project(WORDS, training))
        assert words.shape == (B, T, layer.query_units)
        assert np.isfinite(words).all()
        assert words[..., -K:].any() == noisy
    one, other = (make(sample_at_test=True, seed=1) for _ in range(2))
    draws = [(one.project(WORDS), other.project(WORDS)) for _ in range(2)]
    for pair in draws:
        helpers.assert_close(*pair)
    assert helpers.to_numpy(draws[0][0] - draws[1][0])[..., -K:].all()


@pytest.mark.long
def test_gradients_of_a_planner_that_always_plans():
    """Of all weights, against differences; the commitment then has none."""
    layer = make(always_replan=True)

    def value():
        context, _ = layer(QUERY, VALUE, MASK, WORDS)
        return helpers.weighted_sum(context)

    idle = [
        weight
        for weight in layer.trainable_weights
        if "commitment" in weight.path or "temperature" in weight.path
    ]
    names = {id(weight) for weight in idle}
    weights = [w for w in layer.trainable_weights if id(w) not in names]
    assert len(idle) == 4 and len(weights) == 13
    _, _, derivatives = helpers.gradients(
        lambda _: value(), {}, [*weights, *idle]
    )
    for gradient in derivatives[len(weights) :]:
        assert gradient is None or not helpers.to_numpy(gradient).any()
    for weight, gradient in zip(weights, derivatives):
        start = helpers.to_numpy(weight)
        direction = normal(*weight.shape, seed=5)
        values = []
        for sign in (1, -1):
            weight.assign(start + sign * 1e-3 * direction)
            values.append(float(value()))
        weight.assign(start)
        expected = (values[0] - values[1]) / 2e-3
        actual = float(np.sum(helpers.to_numpy(gradient) * direction))
        assert actual == pytest.approx(expected, rel=0.02, abs=5e-3)


def test_a_fixed_temperature_is_no_weight():
    layer = make(inverse_temperature=1.6)
    assert not any("temperature" in weight.path for weight in layer.weights)
    assert run(layer)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mode": "plot"}, "`mode` must be one of"),
        ({"switch": "next"}, "`switch` must be one of"),
        ({"plan_steps": 0}, "`plan_steps` must be a positive"),
    ],
)
def test_what_makes_no_sense_is_refused(options, message):
    with pytest.raises(ValueError, match=message):
        PlanAttention(U, **options)


def test_words_are_needed_where_they_are_read():
    with pytest.raises(ValueError, match="call the attention with `inputs`"):
        PlanAttention(U).build((None, None, U), (None, None, C))
    layer = PlanAttention(U, reads_words=False)
    assert layer(QUERY, VALUE, MASK)[1].shape == (B, T, S)


LOGITS = np.array([0.3, -0.5, 1.0, 0.0], "float32")


def draws(logits, steps, **options):
    """0 and 1 for each of the steps of so many planners side by side.

    Args:
        logits: `(B, k)`, the same at each step.
        steps: How many.
    """
    batch, plan_steps = logits.shape
    state = plan_attention.initial_commitment(batch, plan_steps)
    kappa = np.full((batch, 1), 1.154, "float32")
    seed, actual = SeedGenerator(1), []
    for _ in range(steps):
        noise = plan_attention.gumbel(logits.shape, seed)
        replan, state = plan_attention.commit(
            state, logits, kappa, noise, **options
        )
        actual.append(ops.convert_to_numpy(replan)[:, 0])
    return np.stack(actual, axis=1)


def forced(wanted, steps, switch):
    """Switches of one planner that draws the wanted distances in turn."""
    state = plan_attention.initial_commitment(1, 4)
    kappa, wanted, actual = np.ones((1, 1), "float32"), list(wanted), []
    for _ in range(steps):
        renews = ops.convert_to_numpy(state["plan"])[0, 0] == 1
        choice = wanted.pop(0) if renews and wanted else 0
        noise = np.where(np.arange(4) == choice, 1e3, 0.0).astype("float32")
        replan, state = plan_attention.commit(
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
    switches = draws(np.broadcast_to(LOGITS, (6_000, 4)), 20, resample=resample)
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


@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_the_temperature_does_not_change_what_is_drawn(scale):
    logits = np.broadcast_to(LOGITS, (50_000, 4))
    noise = plan_attention.gumbel(logits.shape, SeedGenerator(3))
    drawn = plan_attention.straight_through(
        ops.softmax(scale * (logits + noise), axis=-1)
    )
    expected = np.exp(LOGITS) / np.exp(LOGITS).sum()
    actual = ops.convert_to_numpy(ops.mean(drawn, axis=0))
    np.testing.assert_allclose(actual, expected, atol=0.01)


def test_the_inverse_temperature():
    start = plan_attention.inverse_temperature(
        ops.convert_to_tensor(plan_attention.TEMPERATURE_BIAS)
    )
    helpers.assert_close(start, 1.153978)
    low = plan_attention.inverse_temperature(ops.convert_to_tensor(-100.0))
    assert float(low) >= 1.001 - 1e-6


def test_straight_through_is_one_hot_with_the_gradient_of_what_it_is_drawn_of():
    probabilities = np.random.default_rng(0).dirichlet(np.ones(7), 500)
    probabilities = probabilities.astype("float32")
    weights = np.random.default_rng(1).normal(size=(500, 7)).astype("float32")

    def total(inputs):
        return ops.sum(weights * plan_attention.straight_through(inputs["p"]))

    drawn = ops.convert_to_numpy(plan_attention.straight_through(probabilities))
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
        return ops.sum(weights * plan_attention.mix(inputs["g"], new, old))

    switch = np.array([[1.0], [0.0]], "float32")
    _, gradients, _ = helpers.gradients(total, {"g": switch}, [])
    expected = np.sum(weights * (new - old), axis=(1, 2))
    np.testing.assert_allclose(gradients["g"][:, 0], expected, rtol=1e-5)


def test_deviation():
    uniform = np.full((1, 10), 0.1, "float32")
    helpers.assert_close(plan_attention.deviation(uniform), [[0.0]])
    certain = np.eye(10, dtype="float32")[:1]
    helpers.assert_close(plan_attention.deviation(certain), [[0.9]])


def test_noise_is_finite_and_gumbel():
    noise = plan_attention.gumbel((200_000,), SeedGenerator(0))
    noise = ops.convert_to_numpy(noise)
    assert np.isfinite(noise).all()
    assert noise.mean() == pytest.approx(0.5772, abs=0.01)
    assert noise.var() == pytest.approx(np.pi**2 / 6, abs=0.03)


def test_the_mean_distance_of_a_uniform_plan():
    switches = draws(np.zeros((4_000, 10), "float32"), 40)
    early = [np.diff(np.flatnonzero(row))[:3] for row in switches]
    assert np.mean(np.concatenate(early)) == pytest.approx(5.5, abs=0.1)
