import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.heads.test_pointer_generator_head import (
    MASK,
    B,
    T,
    V,
    make_inputs,
)
from tfcopy.layers import NoisyTanh, PointerSoftmaxHead
from tfcopy.layers.copying import MASKED, copied_mass


def phi(x, training=False, **options):
    layer = NoisyTanh(**options)
    x = np.array([[x]], "float32")
    return helpers.to_numpy(layer(x, training=training))[0, 0]


def fixed_noise(monkeypatch, value):
    monkeypatch.setattr(
        keras.random,
        "normal",
        lambda shape, dtype, seed: keras.ops.full(shape, value, dtype),
    )


# Check 7 of the numeric checks.
@pytest.mark.parametrize(
    "x, options, expected",
    [
        (0.5, {}, 0.5),
        (1.0, {}, 1.0),
        (3.0, {}, 0.757849),
        (3.0, {"half_normal": False}, 0.70),
        (-3.0, {}, -0.757849),
        (-3.0, {"half_normal": False}, -0.70),
        (8.0, {}, 0.049372),
        (3.0, {"alpha": 0.9}, 1.142151),
        (-3.0, {"alpha": 0.9}, -1.142151),
    ],
)
def test_values_without_noise(x, options, expected):
    assert abs(phi(x, **options) - expected) < 2e-6


@pytest.mark.parametrize("half_normal", [False, True])
def test_values_with_noise(monkeypatch, half_normal):
    fixed_noise(monkeypatch, 1.0)
    assert abs(phi(3.0, True, half_normal=half_normal) - 0.772503) < 2e-6
    assert phi(0.5, True) == 0.5 and phi(1.0, True) == 1.0
    fixed_noise(monkeypatch, -1.0)
    expected = 0.772503 if half_normal else 0.627497
    assert abs(phi(3.0, True, half_normal=half_normal) - expected) < 2e-6


def test_noise_is_new_in_each_unit_and_call():
    layer = NoisyTanh(seed=1)
    x = np.full((4, 5), 3.0, "float32")
    first, second = (helpers.to_numpy(layer(x, training=True)) for _ in "12")
    assert len({*first.ravel(), *second.ravel()}) == 40
    helpers.assert_close(NoisyTanh(seed=1)(x, training=True), first)


def test_noise_has_the_mean_that_replaces_it():
    layer = NoisyTanh(seed=1)
    x = np.full((1, 100_000), 3.0, "float32")
    mean = helpers.to_numpy(layer(x, training=True)).mean()
    assert abs(mean - 0.757849) < 1e-3


def test_slope_is_one_inside_and_negative_outside():
    layer = NoisyTanh(half_normal=False)
    x = np.array([[-5.0, -0.9, 0.0, 0.9, 5.0]], "float32")
    layer(x)
    _, slope, _ = helpers.gradients(lambda x: keras.ops.sum(layer(x)), x)
    helpers.assert_close(slope, [[-0.15, 1.0, 1.0, 1.0, -0.15]])


def test_large_inputs_have_finite_gradients():
    layer = NoisyTanh()
    x = np.array([[-1e4, 1e4]], "float32")
    layer(x)
    value, d_x, (d_p,) = helpers.gradients(
        lambda x: keras.ops.sum(layer(x, training=True)), x, [layer.p]
    )
    for number in (value, d_x, d_p):
        assert np.isfinite(helpers.to_numpy(number)).all()


def numpy_dense(layer, x):
    return x @ helpers.to_numpy(layer.kernel) + helpers.to_numpy(layer.bias)


def test_follows_the_equations():
    head = PointerSoftmaxHead(V, switch_activation="tanh", temperature=2.0)
    inputs = make_inputs()
    generated, copied = helpers.probabilities(head(**helpers.arguments(inputs)))
    hidden = np.concatenate(
        [inputs["decoded_state"], inputs["decoded_context"]], -1
    )
    hidden = np.tanh(numpy_dense(head.hidden1, hidden))
    hidden = hidden + np.tanh(numpy_dense(head.hidden2, hidden))
    logit = 2 * numpy_dense(head.switch, hidden)
    switch = 1 / (1 + np.exp(-logit))
    logits = inputs["features"] @ helpers.to_numpy(head.kernel)
    shortlist = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    helpers.assert_close(generated, switch * shortlist)
    helpers.assert_close(
        copied, (1 - switch) * np.exp(inputs["decoded_attention"])
    )


def test_separate_pointer_follows_the_equation():
    head = PointerSoftmaxHead(V, switch_units=8, pointer="separate")
    inputs = make_inputs()
    copied = np.exp(
        helpers.to_numpy(head(**helpers.arguments(inputs)).copy_log_probs)
    )
    query = numpy_dense(head.pointer_query, inputs["decoded_state"])
    value = inputs["annotations"] @ helpers.to_numpy(head.pointer_value.kernel)
    hidden = np.tanh(query[:, :, None] + value[:, None])
    scores = np.exp(hidden @ helpers.to_numpy(head.pointer_score))[..., 0]
    scores = scores * MASK[:, None]
    expected = scores / scores.sum(-1, keepdims=True)
    helpers.assert_close(copied / copied.sum(-1, keepdims=True), expected)
    assert not copied[1, :, 2:].any()


def zero_switch(switch_bias, temperature=1.0):
    return PointerSoftmaxHead(
        V,
        kernel_initializer="zeros",
        switch_bias=switch_bias,
        temperature=temperature,
    )(**helpers.arguments(make_inputs()))


@pytest.mark.parametrize(
    "switch_bias, temperature, generated",
    [(1.0, 1.0, 0.731059), (-1.0, 1.0, 0.268941), (1.0, 2.0, 0.880797)],
)
def test_switch_of_a_new_head(switch_bias, temperature, generated):
    """Check 6 of the numeric checks, on the sign of the bias too."""
    mass = copied_mass(zero_switch(switch_bias, temperature))
    helpers.assert_close(mass, np.full((B, T), 1 - generated))


def test_switch_leans_to_the_shortlist_by_default():
    head = PointerSoftmaxHead(V, kernel_initializer="zeros")
    mass = copied_mass(head(**helpers.arguments(make_inputs())))
    helpers.assert_close(mass, np.full((B, T), 0.268941))


def test_logs_stay_in_float32_in_mixed_precision():
    """In bfloat16 the log of a switch of 0.999 would be zero."""
    distribution = PointerSoftmaxHead(
        V, switch_bias=7.0, kernel_initializer="zeros", dtype="mixed_bfloat16"
    )(**helpers.arguments(make_inputs()))
    for x in (distribution.generate_offset, distribution.copy_log_probs):
        assert keras.backend.standardize_dtype(x.dtype) == "float32"
    offset = -np.log1p(np.exp(-7.0)) - np.log(V)
    helpers.assert_close(
        distribution.generate_offset, np.full((B, T), offset), 0, 1e-6
    )


@pytest.mark.parametrize("bias", [200.0, -200.0])
def test_the_log_of_a_sure_switch_is_finite(bias):
    """The sigmoid itself would be 0 or 1 in float32."""
    distribution = zero_switch(bias)
    uniform = zero_switch(0.0)
    logs = (
        (distribution.generate_offset, uniform.generate_offset, min(bias, 0)),
        (distribution.copy_log_probs, uniform.copy_log_probs, min(-bias, 0)),
    )
    for actual, even, change in logs:
        even = helpers.to_numpy(even)
        possible = even > MASKED / 2
        expected = even[possible] + np.log(2) + change
        helpers.assert_close(helpers.to_numpy(actual)[possible], expected)


def test_noise_in_training_only():
    head = PointerSoftmaxHead(V, seed=1)
    inputs = make_inputs(scale=10.0)
    without = head(**helpers.arguments(inputs))
    helpers.assert_close(head(**helpers.arguments(inputs)), without)
    first, second = (
        head(**helpers.arguments(inputs), training=True) for _ in "12"
    )
    for x, y in ((first, without), (first, second)):
        difference = ops.abs(x.generate_offset - y.generate_offset)
        assert helpers.to_numpy(difference).max() > 1e-4
    layers = [x for x in head.activations if isinstance(x, NoisyTanh)]
    assert [x.seed for x in layers] == [2, 3]


def test_candidates_take_the_mass_of_the_shortlist():
    head = PointerSoftmaxHead(V)
    ids = np.array([3, 8, 1], "int32")
    full = head(**helpers.arguments(make_inputs()))
    some = head(**helpers.arguments(make_inputs()), candidate_ids=ids)
    helpers.assert_close(some.copy_log_probs, full.copy_log_probs)
    generated, copied = helpers.probabilities(some)
    total = generated.sum(-1) + copied.sum(-1)
    helpers.assert_close(total, np.ones((B, T)), 0, 1e-6)


def test_pointer_is_checked():
    with pytest.raises(ValueError, match="Received: pointer='both'"):
        PointerSoftmaxHead(V, pointer="both")
