import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import helpers
from tfcopy.layers import PointerGeneratorHead, PointerSoftmaxHead, copying
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


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize(
    "make",
    [
        lambda: PointerGeneratorHead(V),
        lambda: PointerSoftmaxHead(
            V, switch_activation="tanh", temperature=2.0
        ),
    ],
    ids=["generator", "softmax"],
)
@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**32 - 1), lengths=st.tuples(*[st.integers(1, S)] * B)
)
def test_mass_is_one(make, scale, seed, lengths):
    mask = np.arange(S) < np.array(lengths)[:, None]
    distribution = run(make(), make_inputs(mask, seed, scale))
    generated, copied = helpers.probabilities(distribution)
    # Logits of 10,000 have a rounding error of 1e-3.
    helpers.assert_close(
        generated.sum(-1) + copied.sum(-1),
        np.ones((B, T)),
        0,
        1e-6 if scale == 1 else 1e-2,
    )


def test_log_space_loss():
    """Check 9: a logit of 40 and a word of the article."""
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
