import numpy as np
import pytest

from tests import helpers
from tests.layers.random_inputs import MASK, randomized
from tfcopy.layers import MultiHeadAttention, MultiHeadCoverageAttention
from tfcopy.layers.copying import MASKED


def built(layer):
    """With weights that are all other than zero."""
    layer.build((2, 3, 5), (2, 4, 6))
    return randomized(layer)


def expected_weights(layer, inputs, kernel=(0.0, 0.0)):
    """The mean of two heads of three units, one query after the other."""
    w, b, u = (
        helpers.to_numpy(x)
        for x in (
            layer.query_kernel,
            layer.query_bias,
            layer.value_projection.kernel,
        )
    )
    coverage, found = np.zeros((2, 4)), []
    for query in inputs["query"].swapaxes(0, 1):
        heads = []
        for h in range(2):
            some = slice(3 * h, 3 * h + 3)
            keys = inputs["value"] @ u[:, some]
            scores = (keys @ (query @ w + b)[:, some, None])[..., 0]
            scores = scores / 3**0.5 + kernel[h] * coverage
            weights = np.where(MASK, np.exp(scores), 0)
            heads.append(weights / weights.sum(-1, keepdims=True))
        found.append(np.mean(heads, axis=0))
        coverage = coverage + found[-1]
    return np.stack(found, axis=1)


def test_follows_the_equation(inputs):
    layer = built(MultiHeadAttention(6, num_heads=2))
    expected = expected_weights(layer, inputs)
    helpers.assert_close(
        layer(**inputs, value_mask=MASK), (expected @ inputs["value"], expected)
    )


def test_coverage_has_a_weight_for_each_head(inputs):
    layer = built(MultiHeadCoverageAttention(6, num_heads=2))
    layer.coverage_kernel.assign([-2.0, 0.5])
    expected = expected_weights(layer, inputs, (-2.0, 0.5))
    helpers.assert_close(
        layer(**inputs, value_mask=MASK), (expected @ inputs["value"], expected)
    )


def test_coverage_is_off_until_it_is_enabled(inputs):
    layer = built(MultiHeadCoverageAttention(6, num_heads=2, enabled=False))
    _, before = layer(**inputs, value_mask=MASK)
    helpers.assert_close(before, expected_weights(layer, inputs))
    layer.enable()
    _, after = layer(**inputs, value_mask=MASK)
    kernel = helpers.to_numpy(layer.coverage_kernel)
    helpers.assert_close(after, expected_weights(layer, inputs, kernel))


def test_a_source_without_words_gets_zeros(inputs):
    layer = built(MultiHeadAttention(6, num_heads=2))
    memory = layer.prepare(inputs["value"], np.zeros((2, 4), "bool"))
    context, log_weights, _ = layer.step(np.ones((2, 6), "float32"), (), memory)
    helpers.assert_close(context, np.zeros((2, 6)), 0, 0)
    assert (helpers.to_numpy(log_weights) < MASKED / 2).all()


def test_heads_must_divide_the_units():
    with pytest.raises(ValueError, match="units=5, num_heads=2"):
        MultiHeadAttention(5, num_heads=2)
