import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.random_inputs import MASK
from tfcopy.layers import BahdanauAttention, CoverageAttention

FEATURES = ("vector", "scalar")


def built(layer, coverage_kernel=None):
    layer.build((2, 3, 5), (2, 4, 6))
    shape = layer.coverage_kernel.shape
    if coverage_kernel is None:
        coverage_kernel = np.random.default_rng(1).normal(size=shape)
    layer.coverage_kernel.assign(np.broadcast_to(coverage_kernel, shape))
    return layer


def run_steps(layer, inputs):
    """For each step, the coverage it saw and the weights it gave."""
    memory = layer.prepare(inputs["value"], MASK)
    state = layer.initial_state(memory)
    coverages, weights = [], []
    for t in range(inputs["query"].shape[1]):
        query = ops.matmul(inputs["query"][:, t], layer.query_kernel)
        coverages.append(state)
        _, log_weights, state = layer.step(query, state, memory)
        weights.append(ops.exp(log_weights))
    return ops.stack(coverages, 1), ops.stack(weights, 1)


@pytest.mark.parametrize("feature", FEATURES)
def test_follows_the_equations(inputs, feature):
    layer = CoverageAttention(7, True, use_score_bias=False, feature=feature)
    built(layer).value_projection.bias.assign(np.arange(7.0))
    w, u, b, v, w_c = (
        ops.convert_to_numpy(x)
        for x in (
            layer.query_kernel,
            layer.value_projection.kernel,
            layer.value_projection.bias,
            layer.score_kernel,
            layer.coverage_kernel,
        )
    )
    coverage, expected = np.zeros((2, 4)), []
    for query in inputs["query"].swapaxes(0, 1):
        hidden = (query @ w)[:, None] + inputs["value"] @ u + b
        if feature == "vector":
            scores = (np.tanh(hidden + coverage[..., None] * w_c) @ v)[..., 0]
        else:
            scores = (np.tanh(hidden) @ v)[..., 0] + w_c * coverage
        weights = np.where(MASK, np.exp(scores), 0)
        weights /= weights.sum(axis=-1, keepdims=True)
        coverage = coverage + weights
        expected.append(weights)
    expected = np.stack(expected, axis=1)
    helpers.assert_close(
        layer(**inputs, value_mask=MASK), (expected @ inputs["value"], expected)
    )


def scalar_case(feature="vector"):
    """Check 3 of the numeric checks; the state's term is 0.5."""
    layer = CoverageAttention(1, feature=feature)
    layer.build((1, None, 1), (1, 2, 1))
    layer.query_kernel.assign([[0.5]])
    layer.value_projection.kernel.assign([[1.0]])
    layer.score_kernel.assign([[2.0]])
    layer.coverage_kernel.assign([-1.0])
    return layer, np.array([[[0.5], [-0.5]]], "float32")


def test_known_weights():
    layer, value = scalar_case()
    _, weights = layer(np.ones((1, 2, 1), "float32"), value)
    expected = [[[0.821007, 0.178993], [0.670052, 0.329948]]]
    helpers.assert_close(weights, expected, atol=2e-6)
    first, second = ops.convert_to_numpy(weights)[0]
    helpers.assert_close(np.minimum(first, second).sum(), 0.849045)


def test_coverage_is_what_earlier_steps_gave(inputs):
    coverage, weights = run_steps(built(CoverageAttention(7)), inputs)
    expected = np.cumsum(ops.convert_to_numpy(weights), axis=1)
    helpers.assert_close(coverage[:, 0], np.zeros((2, 4)), 0, 0)
    helpers.assert_close(coverage[:, 1:], expected[:, :-1])
    # Check 12 of the numeric checks.
    totals = np.broadcast_to(np.arange(3.0), (2, 3))
    helpers.assert_close(ops.sum(coverage, axis=-1), totals)


def like(layer, **options):
    """Additive attention with the same weights."""
    plain = BahdanauAttention(layer.units, **options)
    plain.build((2, 3, 5), (2, 4, 6))
    ours = {w.path.split("/", 1)[1]: w for w in layer.weights}
    for weight in plain.weights:
        weight.assign(ours[weight.path.split("/", 1)[1]])
    return plain


@pytest.mark.parametrize("kernel, enabled", [(None, False), (0.0, True)])
@pytest.mark.parametrize("feature", FEATURES)
def test_equals_additive_attention_while_off_and_at_first(
    inputs, kernel, enabled, feature
):
    layer = CoverageAttention(7, enabled=enabled, feature=feature)
    built(layer, kernel)
    expected = like(layer)(**inputs, value_mask=MASK)
    helpers.assert_close(layer(**inputs, value_mask=MASK), tuple(expected))


def kernel_gradient(layer, inputs):
    """Of the coverage kernel, in training."""
    _, _, (gradient,) = helpers.gradients(
        lambda inputs: helpers.weighted_sum(layer(**inputs, training=True)),
        inputs,
        [layer.coverage_kernel],
    )
    return ops.convert_to_numpy(gradient)


@pytest.mark.parametrize("feature", FEATURES)
def test_off_it_has_no_gradient_until_it_is_enabled(inputs, feature):
    layer = built(CoverageAttention(7, enabled=False, feature=feature))
    off = ops.convert_to_numpy(layer(**inputs)[1])
    assert not kernel_gradient(layer, inputs).any()
    layer.enable()
    assert kernel_gradient(layer, inputs).all()
    on = ops.convert_to_numpy(layer(**inputs)[1])
    helpers.assert_close(on[:, 0], off[:, 0])
    assert np.abs(on - off)[:, 1:].max() > 0.01
    assert layer.get_config()["enabled"]


def test_can_be_enabled_before_it_is_built(inputs):
    layer = CoverageAttention(7, enabled=False)
    layer.enable()
    assert kernel_gradient(built(layer), inputs).any()


def test_the_switch_is_a_variable_but_no_weight(inputs):
    layer = built(CoverageAttention(7, enabled=False))
    assert layer.count_params() == like(layer).count_params() + 7
    assert [x.name for x in layer.non_trainable_variables] == ["enabled"]
    assert not layer.non_trainable_weights
    layer.enable()
    other = built(CoverageAttention(7, enabled=False))
    for variable, value in zip(other.variables, layer.variables):
        variable.assign(value)
    helpers.assert_close(other(**inputs), tuple(layer(**inputs)))


def test_the_feature_must_be_one_of_these():
    with pytest.raises(ValueError, match="`feature`.*feature='matrix'"):
        CoverageAttention(7, feature="matrix")
