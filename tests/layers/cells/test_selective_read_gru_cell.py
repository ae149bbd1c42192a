import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_attentional_gru_cell import (
    A,
    B,
    D,
    S,
    T,
    numpy_step,
    numpy_weights,
    with_random_weights,
)
from tests.layers.random_inputs import MASK, decoder_inputs
from tfcopy.layers import BahdanauAttention, Decoder, SelectiveReadGRUCell
from tfcopy.layers.copying import MASKED

# At the first step BOS; then a word that stands twice, and one that is not
# there; in the second sentence one that stands once, and EOS.
MATCHES = np.zeros((B, T, S), "float32")
MATCHES[0, 1, [0, 2]] = 1
MATCHES[1, 1, 1] = 1


@pytest.fixture
def inputs():
    return {**decoder_inputs(), "matches": MATCHES}


@pytest.fixture
def cell():
    return with_random_weights(SelectiveReadGRUCell(D, BahdanauAttention(A)))


def numpy_read(scores, matches, annotations):
    """Section 3.3: weights by the scores that the last word was said with."""
    weights = np.where(matches, np.exp(scores), 0)
    total = weights.sum(-1, keepdims=True)
    weights = np.divide(weights, total, np.zeros_like(weights), where=total > 0)
    return np.einsum("bs,bsc->bc", weights, annotations)


def numpy_steps(cell, inputs, copy_kernel=None):
    """Equations 8 and 9, and the update of the state.

    Args:
        cell: A built cell.
        inputs: Of a `Decoder`.
        copy_kernel: In place of the cell's own.
    """
    w, annotations = numpy_weights(cell), inputs["annotations"]
    if copy_kernel is None:
        copy_kernel = helpers.to_numpy(cell.copy_kernel)
    keys = np.tanh(annotations.astype(float) @ copy_kernel)
    state, scores, steps = inputs["initial_state"], np.zeros((B, S)), []
    for t in range(inputs["embeddings"].shape[1]):
        step = numpy_step(
            w,
            inputs["embeddings"][:, t],
            state,
            annotations,
            inputs["source_mask"],
            read=numpy_read(scores, inputs["matches"][:, t], annotations),
        )
        state = step["hidden"]
        scores = np.einsum("bd,bsd->bs", state, keys)
        steps.append({**step, "copy_scores": scores})
    return steps


def visible(scores):
    """Copy scores as the layer gives them: padding is out of the question."""
    return np.where(MASK, scores, MASKED)


def test_follows_the_equations(cell, inputs):
    memory = cell.prepare(inputs["annotations"], MASK)
    state = cell.initial_state(inputs["initial_state"], memory)
    for t, expected in enumerate(numpy_steps(cell, inputs)):
        words = cell.project(inputs["embeddings"][:, t], MATCHES[:, t])
        outputs, state = cell.step(words, state, memory)
        outputs["attention"] = ops.exp(outputs["attention"])
        expected["copy_scores"] = visible(expected["copy_scores"])
        helpers.assert_close(outputs, expected)
        for name in ("hidden", "copy_scores"):
            helpers.assert_close(state[name], expected[name])


def test_a_step_reads_where_its_own_last_word_stands(cell, inputs):
    """Not the word that it is about to say, nor the one before the last."""
    before = Decoder(cell)(**inputs)["hidden"]
    matches = MATCHES.copy()
    matches[0, 1] = [0, 1, 0, 0]
    after = Decoder(cell)(**{**inputs, "matches": matches})["hidden"]
    difference = np.abs(helpers.to_numpy(after - before)).max(-1)
    assert difference[0, 0] == 0 and difference[1].max() == 0
    assert difference[0, 1:].min() > 1e-3


def test_padding_is_never_read(cell, inputs):
    """Even where its copy ids name the word."""
    matches = np.where(MASK[:, None], MATCHES, 1).astype("float32")
    helpers.assert_close(
        Decoder(cell)(**{**inputs, "matches": matches}), Decoder(cell)(**inputs)
    )


def test_gradients_flow_through_what_is_read(cell, inputs):
    """No stop-gradient: the states move with the scores they are read by."""
    kernel = helpers.to_numpy(cell.copy_kernel).astype(float)
    direction = np.random.default_rng(9).normal(size=(B, T, D))

    def value(kernel):
        steps = numpy_steps(cell, inputs, kernel)
        states = np.stack([step["hidden"] for step in steps], axis=1)
        return np.sum(states * direction)

    step = 1e-5
    expected = np.zeros_like(kernel)
    for place in np.ndindex(kernel.shape):
        nudge = np.zeros_like(kernel)
        nudge[place] = step
        difference = value(kernel + nudge) - value(kernel - nudge)
        expected[place] = difference / (2 * step)
    _, _, (gradient,) = helpers.gradients(
        lambda _: ops.sum(
            Decoder(cell)(**inputs)["hidden"] * direction.astype("f")
        ),
        {},
        [cell.copy_kernel],
    )
    assert np.abs(expected).max() > 0.01
    helpers.assert_close(gradient, expected, rtol=1e-3, atol=1e-4)


def test_without_a_mask_all_words_are_real(cell, inputs):
    expected = {**inputs, "source_mask": np.ones((B, S), "bool")}
    memory = cell.prepare(inputs["annotations"])
    state = cell.initial_state(inputs["initial_state"], memory)
    words = cell.project(inputs["embeddings"][:, 0], MATCHES[:, 0])
    outputs, _ = cell.step(words, state, memory)
    scores = numpy_steps(cell, expected)[0]["copy_scores"]
    helpers.assert_close(outputs["copy_scores"], scores)
