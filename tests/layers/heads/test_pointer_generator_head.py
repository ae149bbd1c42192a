import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests import helpers
from tfcopy.layers import PointerGeneratorHead, copying
from tfcopy.layers.copying import MASKED

B, T, S, V, F, D, E, C = 2, 3, 4, 9, 5, 6, 2, 7
MASK = np.array([[True] * 4, [True, True, False, False]])


def make_inputs(mask=MASK, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    scores = scale * rng.normal(size=(B, T, S))
    scores = np.where(mask[:, None], scores, -np.inf)
    scores = scores - scores.max(-1, keepdims=True)
    attention = scores - np.log(np.exp(scores).sum(-1, keepdims=True))
    inputs = {
        "features": scale * rng.normal(size=(B, T, F)),
        "decoded_state": scale * rng.normal(size=(B, T, D)),
        "decoded_inputs": scale * rng.normal(size=(B, T, E)),
        "decoded_context": scale * rng.normal(size=(B, T, C)),
        "decoded_attention": np.maximum(attention, MASKED),
        "annotations": rng.normal(size=(B, S, C)),
    }
    inputs = {name: x.astype("float32") for name, x in inputs.items()}
    return {**inputs, "source_mask": mask}


def run(head, inputs):
    return head(**helpers.arguments(inputs))


def test_follows_the_equations():
    head, inputs = PointerGeneratorHead(V, switch_bias=0.5), make_inputs()
    distribution = run(head, inputs)
    generated, copied = helpers.probabilities(distribution)
    read = [inputs[f"decoded_{x}"] for x in ("context", "state", "inputs")]
    logit = np.concatenate(read, -1) @ helpers.to_numpy(head.switch.kernel)
    p_gen = 1 / (1 + np.exp(-logit - 0.5))
    words = np.exp(inputs["features"] @ helpers.to_numpy(head.kernel))
    words /= words.sum(-1, keepdims=True)
    attention = np.exp(inputs["decoded_attention"])
    helpers.assert_close(generated, p_gen * words)
    helpers.assert_close(copied, (1 - p_gen) * attention)
    helpers.assert_close(np.exp(distribution.attention), attention)


def test_number_of_weights_of_the_paper():
    """Check 1: the pointer costs 1,153 parameters."""
    head = PointerGeneratorHead(10)
    shapes = {"context": 512, "state": 512, "inputs": 128}
    head.build(
        (None, None, 256), {k: (None, None, n) for k, n in shapes.items()}
    )
    assert head.switch.count_params() == 1153


@pytest.mark.parametrize("scale", [1.0, 1e4])
@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1), lengths=st.tuples(*[st.integers(1, S)] * B)
)
def test_mass_is_one(scale, seed, lengths):
    mask = np.arange(S) < np.array(lengths)[:, None]
    distribution = run(PointerGeneratorHead(V), make_inputs(mask, seed, scale))
    generated, copied = helpers.probabilities(distribution)
    # Logits of 10,000 have a rounding error of 1e-3.
    helpers.assert_close(
        generated.sum(-1) + copied.sum(-1),
        np.ones((B, T)),
        0,
        1e-6 if scale == 1 else 1e-2,
    )


@pytest.mark.parametrize("bias", [40.0, -40.0, 1e4, -1e4])
def test_saturated_switch_gives_finite_costs_and_gradients(bias):
    head = PointerGeneratorHead(V, switch_bias=bias)
    inputs = make_inputs(scale=10.0)
    mask = inputs.pop("source_mask")
    source = np.array([[4, V + 1, 4, V + 3], [5, V + 1, -1, -1]], "int32")
    words = np.array([[V + 1, 4, 7], [V + 1, 1, 0]], "int32")

    def cost(x):
        distribution = head(**helpers.arguments({**x, "source_mask": mask}))
        return -ops.sum(
            copying.marginal_log_likelihood(distribution, words, source)
        )

    cost(inputs)
    numbers = helpers.gradients(cost, inputs, head.trainable_weights)
    for number in keras.tree.flatten(numbers):
        assert number is None or np.isfinite(helpers.to_numpy(number)).all()


def test_log_space_loss():
    """Check 9: p_gen 0.6; then a logit of 40 and a word of the article."""
    split = helpers.distribution_of([[[0.09, 0.51]]], [[[0.16, 0.24]]])
    # The softmax gives the word 0.15, attention 0.4.
    ids = np.array([[0]], "int32"), np.array([[0, 5]], "int32")
    nll = -copying.marginal_log_likelihood(split, *ids)
    helpers.assert_close(nll, [[-np.log(0.25)]])
    head = PointerGeneratorHead(2, switch_bias=40.0, switch_initializer="zeros")
    x = np.ones((1, 1, 3), "float32")
    attention = np.log([[[0.4, 0.6]]]).astype("float32")
    distribution = head(
        x,
        {"state": x, "inputs": x, "context": x, "attention": attention},
        np.ones((1, 2, 3), "float32"),
        np.ones((1, 2), "bool"),
    )
    ids = np.array([[2]], "int32"), np.array([[2, 3]], "int32")
    nll = -copying.marginal_log_likelihood(distribution, *ids)
    helpers.assert_close(nll, [[40.916291]])


def test_final_distribution():
    """Check 2, in copy ids: V + the word's first position."""
    generated = np.array([0.10, 0.20, 0.30, 0.25, 0.15])
    attention = np.array([0.1, 0.2, 0.3, 0.4])
    split = helpers.distribution_of([[0.6 * generated]], [[0.4 * attention]])
    source = np.array([[4, 6, 4, 8]], "int32")
    merged = np.exp(helpers.to_numpy(copying.merge(split, source)))[0, 0]
    helpers.assert_close(
        merged[[0, 1, 2, 3, 4, 6, 8]],
        [0.06, 0.12, 0.18, 0.15, 0.25, 0.08, 0.16],
    )
    helpers.assert_close(merged.sum(), 1.0)
    words = np.array([[4, 6, 8]], "int32")
    split = split._replace(
        generate_logits=ops.repeat(split.generate_logits, 3, 1),
        log_generate=ops.repeat(split.log_generate, 3, 1),
        copy_log_probs=ops.repeat(split.copy_log_probs, 3, 1),
    )
    nll = -copying.marginal_log_likelihood(split, words, source)
    helpers.assert_close(nll, [[1.386294, 2.525729, 1.832581]])
