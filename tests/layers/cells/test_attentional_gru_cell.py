import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_gates import numpy_gru_reset_before
from tests.layers.random_inputs import MASK, normal, randomized
from tfcopy.layers import (
    AttentionalGRUCell,
    BahdanauAttention,
    ConditionalGRUCell,
    Decoder,
)

T, B, S, E, C, D, A = 3, 2, 4, 3, 6, 5, 7


def with_random_weights(cell):
    cell.build((None, None, E), (None, None, C))
    return randomized(cell, 0.5)


@pytest.fixture
def cell():
    return with_random_weights(AttentionalGRUCell(D, BahdanauAttention(A)))


def numpy_weights(cell):
    """The weights by name, in float64."""
    attention = cell.attention
    weights = {
        "query": attention.query_kernel,
        "value": attention.value_projection.kernel,
        "score": attention.score_kernel,
        "kernel": cell.kernel,
        "recurrent": cell.recurrent_kernel,
        "bias": cell.bias,
    }
    return {k: helpers.to_numpy(x).astype(float) for k, x in weights.items()}


def numpy_step(w, word, state, annotations, mask, read=None):
    """Sections 2 and 3: attention of the last state, then the GRU.

    Args:
        w: From `numpy_weights`.
        word: `(B, E)`.
        state: `(B, D)`.
        annotations: `(B, S, C)`.
        mask: `(B, S)`.
        read: What the GRU reads behind the context, `(B, C)`.
    """
    hidden = (state @ w["query"])[:, None] + annotations @ w["value"]
    weights = np.where(mask, np.exp((np.tanh(hidden) @ w["score"])[..., 0]), 0)
    weights /= weights.sum(axis=-1, keepdims=True)
    context = np.einsum("bs,bsc->bc", weights, annotations)
    read = context[:, :0] if read is None else read
    x = np.concatenate([word, context, read], axis=-1)
    x = x @ w["kernel"] + w["bias"]
    return {
        "hidden": numpy_gru_reset_before(x, state, w["recurrent"]),
        "context": context,
        "attention": weights,
    }


def numpy_steps(cell, inputs):
    w, state, steps = numpy_weights(cell), inputs["initial_state"], []
    for word in inputs["embeddings"].swapaxes(0, 1):
        step = numpy_step(w, word, state, inputs["annotations"], MASK)
        state = step["hidden"]
        steps.append(step)
    return steps


def test_follows_the_equations(cell, inputs):
    memory = cell.prepare(inputs["annotations"], MASK)
    state = cell.initial_state(inputs["initial_state"], memory)
    for t, expected in enumerate(numpy_steps(cell, inputs)):
        words = cell.project(inputs["embeddings"][:, t])
        outputs, state = cell.step(words, state, memory)
        outputs["attention"] = ops.exp(outputs["attention"])
        helpers.assert_close(outputs, expected)
        helpers.assert_close(state["hidden"], expected["hidden"])


def test_what_the_source_holds_does_not_matter(cell, inputs):
    other = {**inputs, "matches": np.ones((B, T, S), "float32")}
    helpers.assert_close(Decoder(cell)(**other), Decoder(cell)(**inputs))


@pytest.mark.parametrize("kind", [AttentionalGRUCell, ConditionalGRUCell])
def test_projects_all_steps_at_once(kind):
    cell = with_random_weights(kind(D, BahdanauAttention(A)))
    words = normal(3, B, E)
    projected = cell.project(words)["words"]
    assert projected.shape == (3, B, 3 * D)
    helpers.assert_close(projected[1], cell.project(words[1])["words"])


def test_each_gate_has_its_own_kernels():
    cell = AttentionalGRUCell(D, BahdanauAttention(A))
    cell.build((None, None, E), (None, None, C))
    blocks = np.split(helpers.to_numpy(cell.recurrent_kernel), 3, axis=-1)
    for block in blocks:
        helpers.assert_close(block @ block.T, np.eye(D))
    inputs = np.split(helpers.to_numpy(cell.kernel), 3, axis=-1)
    for kernels in (blocks, inputs):
        assert len({kernel.tobytes() for kernel in kernels}) == 3
    # Glorot's limit of one gate's matrix, which reads all inputs.
    limit = np.sqrt(6 / (E + C + D))
    assert 0.8 * limit < np.abs(inputs[0]).max() < limit
