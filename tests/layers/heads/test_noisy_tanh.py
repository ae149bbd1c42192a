import keras
import numpy as np
import pytest

from tests import helpers
from tfcopy.layers import NoisyTanh


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


def test_layer_contract():
    x = 4 * np.random.default_rng(0).normal(size=(2, 3, 5))
    helpers.check_layer(
        NoisyTanh(alpha=1.1, scale=0.3, seed=5),
        {"x": x},
        output_shapes=(2, 3, 5),
        mixed_dtypes="bfloat16",
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
