import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import BahdanauAttention
from tfcopy.layers.attention.pointing_attention import masked_log_softmax
from tfcopy.layers.copying import MASKED


@pytest.mark.parametrize(
    "use_bias, use_score_bias",
    [(False, None), (True, None), (True, False), (False, True)],
)
def test_follows_the_equation_of_the_paper(inputs, use_bias, use_score_bias):
    layer = BahdanauAttention(
        units=7, use_bias=use_bias, use_score_bias=use_score_bias
    )
    layer.build((2, 3, 5), (2, 4, 6))
    b = c = 0.0
    if use_bias:
        b = np.arange(7.0)
        layer.value_projection.bias.assign(b)
    if use_bias if use_score_bias is None else use_score_bias:
        c = 3.0
        layer.score_bias.assign([c])
    else:
        assert not hasattr(layer, "score_bias")
    w, u, v = (
        ops.convert_to_numpy(x)
        for x in (
            layer.query_kernel,
            layer.value_projection.kernel,
            layer.score_kernel,
        )
    )
    query, keys = inputs["query"] @ w, inputs["value"] @ u + b
    scores = (np.tanh(query[:, :, None] + keys[:, None]) @ v + c)[..., 0]
    weights = np.exp(scores) / np.exp(scores).sum(axis=-1, keepdims=True)
    helpers.assert_close(layer(**inputs), (weights @ inputs["value"], weights))


def test_a_sentence_without_words_gets_zeros(inputs):
    context, attention_weights = BahdanauAttention(units=7)(
        **inputs, value_mask=np.array([[True] * 4, [False] * 4])
    )
    assert not ops.convert_to_numpy(context[1]).any()
    assert not ops.convert_to_numpy(attention_weights[1]).any()


def test_weights_of_known_scores():
    # Check 8 of the numeric checks: the pad has the highest score.
    bias = np.array([[0.0, 0.0, MASKED]], "float32")
    scores = np.array([[1.0, 2.0, 9.0]], "float32")
    expected = [[0.268941, 0.731059, 0.0]]
    helpers.assert_close(ops.exp(masked_log_softmax(scores, bias)), expected)


@pytest.mark.parametrize("scale", [1e4, 1e8])
def test_saturated_scores_are_finite(scale):
    scores = scale * np.array([[1.0, -1.0, 0.5], [-1.0, -1.0, 1.0]], "float32")
    bias = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, MASKED]], "float32")
    log_weights, gradient, _ = helpers.gradients(
        lambda x: helpers.weighted_sum(ops.exp(masked_log_softmax(x, bias))),
        scores,
    )
    weights = ops.exp(masked_log_softmax(scores, bias))
    helpers.assert_close(weights, [[1.0, 0.0, 0.0], [0.5, 0.5, 0.0]])
    assert np.isfinite(ops.convert_to_numpy(gradient)).all()
    assert np.isfinite(ops.convert_to_numpy(log_weights))


def test_units_must_be_positive():
    with pytest.raises(ValueError, match="positive integer. Received: units=0"):
        BahdanauAttention(units=0)
