import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers.tensors import log_softmax_at, mean_log_softmax

IDS = np.array([[0, 4, 2], [2, 2, 0]], "int32")


def make_inputs(scale=1.0):
    logits = scale * np.random.default_rng(0).normal(size=(2, 3, 5))
    upstream = np.random.default_rng(1).normal(size=(2, 3))
    return {"logits": logits.astype("f"), "upstream": upstream.astype("f")}


def value_and_gradient(inputs):
    value, (gradient, _), _ = helpers.gradients(
        lambda x: ops.sum(x[1] * log_softmax_at(x[0], IDS)),
        (inputs["logits"], inputs["upstream"]),
    )
    return value, gradient


def expected_value_and_gradient(logits, upstream):
    highest = logits.max(-1, keepdims=True)
    softmax = np.exp(logits - highest)
    total = softmax.sum(-1, keepdims=True)
    log_probs = logits - highest - np.log(total)
    picked = np.take_along_axis(log_probs, IDS[..., None], -1)[..., 0]
    gradient = (np.eye(5)[IDS] - softmax / total) * upstream[..., None]
    return (upstream * picked).sum(), gradient


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_value_and_gradient(scale):
    inputs = make_inputs(scale)
    helpers.assert_close(
        value_and_gradient(inputs), expected_value_and_gradient(**inputs)
    )


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_the_mean_over_all_words_and_some_of_them(scale):
    logits, upstream = make_inputs(scale).values()
    ids = np.stack([IDS, IDS, 3 + 0 * IDS], -1)  # one of them twice
    of_some = np.random.default_rng(2).normal(size=ids.shape).astype("f")

    def cost(x):
        mean, some = mean_log_softmax(x[0], ids)
        return ops.sum(x[1] * mean) + ops.sum(of_some * some)

    value, (gradient, _), _ = helpers.gradients(cost, (logits, upstream))
    log_probs = logits - logits.max(-1, keepdims=True)
    log_probs -= np.log(np.exp(log_probs).sum(-1, keepdims=True))
    some = np.take_along_axis(log_probs, ids, -1)
    weights = (
        upstream[..., None] / 5
        + (np.eye(5)[ids].swapaxes(-1, -2) @ of_some[..., None])[..., 0]
    )
    helpers.assert_close(
        value, (upstream * log_probs.mean(-1)).sum() + (of_some * some).sum()
    )
    total = weights.sum(-1, keepdims=True)
    helpers.assert_close(gradient, weights - np.exp(log_probs) * total)


def test_in_bfloat16_the_sum_is_in_float32():
    inputs = make_inputs()
    logits = ops.cast(inputs["logits"], "bfloat16")
    log_probs = log_softmax_at(logits, IDS)
    assert keras.backend.standardize_dtype(log_probs.dtype) == "float32"
    exact = {**inputs, "logits": helpers.to_numpy(logits)}
    value, gradient = value_and_gradient({**inputs, "logits": logits})
    expected, expected_gradient = expected_value_and_gradient(**exact)
    helpers.assert_close(value, np.float32(expected))
    assert keras.backend.standardize_dtype(gradient.dtype) == "bfloat16"
    helpers.assert_close(gradient, expected_gradient, rtol=0.02, atol=1e-3)


def test_in_graphs():
    inputs = make_inputs()
    expected = value_and_gradient(inputs)
    axes = {"logits": (0, 1), "upstream": (0, 1)}
    for options in ({"dynamic_axes": axes}, {"jit_compile": True}):
        graph = helpers.compiled(value_and_gradient, inputs, **options)
        helpers.assert_close(graph(inputs), expected)
