import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import helpers
from tfcopy.layers import CopyNetHead, copying
from tfcopy.layers.copying import MASKED
from tfcopy.tokens import NO_COPY, UNK

B, T, S, V, F, D, C = 2, 3, 5, 9, 4, 4, 6
MASK = np.array([[True] * S, [True, True, False, False, False]])


def normal(*shape, seed=0, scale=1.0):
    rng = np.random.default_rng(seed)
    return (scale * rng.normal(size=shape)).astype("float32")


def make_inputs(mask=MASK, seed=0, scale=1.0, own_scores=True):
    """With or without the scores of a cell that has made them itself."""
    inputs = {
        "features": normal(B, T, F, seed=seed, scale=scale),
        "decoded_hidden": normal(B, T, D, seed=seed + 1, scale=scale),
        "decoded_attention": normal(B, T, S, seed=seed + 2),
        "annotations": normal(B, S, C, seed=seed + 3),
        "source_mask": mask,
    }
    if not own_scores:
        scores = normal(B, T, S, seed=seed + 4, scale=scale)
        scores = np.where(mask[:, None], scores, np.float32(MASKED))
        inputs["decoded_copy_scores"] = scores
    return inputs


def run(head, inputs):
    return head(**helpers.arguments(inputs))


def test_scores_of_a_cell_leave_no_weights_to_make_them():
    head = CopyNetHead(V)
    run(head, make_inputs(own_scores=False))
    assert {w.name for w in head.weights} == {"kernel", "bias"}


@pytest.mark.parametrize("own_scores", [True, False])
def test_follows_the_equations(own_scores):
    head, inputs = CopyNetHead(V), make_inputs(own_scores=own_scores)
    run(head, inputs)
    for i, weight in enumerate(head.weights):
        weight.assign(normal(*weight.shape, seed=i))
    generate = inputs["features"] @ helpers.to_numpy(head.kernel)
    generate = np.exp(generate + helpers.to_numpy(head.bias))
    if own_scores:
        keys = inputs["annotations"] @ helpers.to_numpy(head.copy_kernel)
        hidden = inputs["decoded_hidden"]
        scores = np.einsum("btd,bsd->bts", hidden, np.tanh(keys))
    else:
        scores = inputs["decoded_copy_scores"]
    copy = np.where(MASK[:, None], np.exp(scores), 0)
    total = generate.sum(-1, keepdims=True) + copy.sum(-1, keepdims=True)
    distribution = run(head, inputs)
    expected = generate / total, copy / total
    helpers.assert_close(helpers.probabilities(distribution), expected)
    helpers.assert_close(distribution.attention, inputs["decoded_attention"])


@st.composite
def source_words(draw):
    """Copy ids of words that repeat, are unknown, lost, or padding."""
    mask = np.zeros((B, S), "bool")
    copy_ids = np.full((B, S), NO_COPY, "int32")
    word = st.sampled_from([NO_COPY, UNK, 4, 5, V, V + 1])
    for b in range(B):
        words = draw(st.lists(word, max_size=S))
        copy_ids[b, : len(words)] = words
        mask[b, : len(words)] = True
    return mask, copy_ids


few = settings(max_examples=10)


@pytest.mark.parametrize("scale", [1.0, 1e4])
@pytest.mark.parametrize("own_scores", [True, False])
@few
@given(seed=st.integers(0, 2**31), source=source_words())
def test_mass_is_one(own_scores, scale, seed, source):
    mask, copy_ids = source
    inputs = make_inputs(mask, seed, scale, own_scores)
    distribution = run(CopyNetHead(V), inputs)
    generated, copied = helpers.probabilities(distribution)
    # Scores of 10,000 have a rounding error of 1e-3.
    atol = 1e-6 if scale == 1 else 1e-2
    total = generated.sum(-1) + copied.sum(-1)
    helpers.assert_close(total, np.ones((B, T)), 0, atol)
    assert not np.where(mask[:, None], 0, copied).any()
    merged = np.exp(helpers.to_numpy(copying.merge(distribution, copy_ids)))
    lost = np.where(copy_ids[:, None] < 0, copied, 0).sum(-1)
    helpers.assert_close(merged.sum(-1), 1 - lost, 0, atol)
