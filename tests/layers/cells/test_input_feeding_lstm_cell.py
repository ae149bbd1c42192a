import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_gates import numpy_lstm
from tests.layers.random_inputs import MASK, decoder_inputs, randomized
from tfcopy import layers

T, B, S, E, C, D, A, X = 3, 2, 4, 3, 6, 5, 7, 8


def attention():
    return layers.CoverageAttention(A, use_bias=True, use_score_bias=False)


def make_cell(**options):
    cell = layers.InputFeedingLSTMCell(D, attention(), X, **options)
    cell.build((None, None, E), (None, None, C))
    return randomized(cell, 0.5)


@pytest.fixture
def cell():
    return make_cell()


@pytest.fixture
def inputs():
    return decoder_inputs(2 * D)


def start(cell, inputs):
    memory = cell.prepare(inputs["annotations"], inputs["source_mask"])
    return cell.initial_state(inputs["initial_state"], memory), memory


def run_steps(cell, inputs, state, memory):
    """Lists of the steps' outputs, and of the states after them."""
    outputs, states = [], []
    for t in range(T):
        words = cell.project(inputs["embeddings"][:, t])
        output, state = cell.step(words, state, memory)
        outputs.append(output)
        states.append(state)
    return outputs, states


def numpy_attention(cell, query, annotations, coverage):
    attention = cell.attention
    w, u, b, v, w_c = (
        ops.convert_to_numpy(x)
        for x in (
            attention.query_kernel,
            attention.value_projection.kernel,
            attention.value_projection.bias,
            attention.score_kernel,
            attention.coverage_kernel,
        )
    )
    hidden = (query @ w)[:, None] + annotations @ u + b
    scores = np.tanh(hidden + coverage[..., None] * w_c) @ v
    weights = np.where(MASK, np.exp(scores[..., 0]), 0)
    weights /= weights.sum(axis=-1, keepdims=True)
    return np.einsum("bs,bsc->bc", weights, annotations), weights


def numpy_steps(cell, inputs):
    """Section 2 of the paper, and the authors' merged input."""
    w_x, b_x, kernel, recurrent_kernel, bias = (
        ops.convert_to_numpy(x)
        for x in (
            cell.input_kernel,
            cell.input_bias,
            cell.kernel,
            cell.recurrent_kernel,
            cell.bias,
        )
    )
    c, s = np.split(inputs["initial_state"], 2, axis=-1)
    context, coverage, steps = np.zeros((B, C)), np.zeros((B, S)), []
    for word in inputs["embeddings"].swapaxes(0, 1):
        x = np.concatenate([word, context], axis=-1) @ w_x + b_x
        s, c = numpy_lstm(x @ kernel + s @ recurrent_kernel + bias, c)
        context, weights = numpy_attention(
            cell,
            np.concatenate([c, s], axis=-1),
            inputs["annotations"],
            coverage,
        )
        coverage = coverage + weights
        steps.append(
            {
                "hidden": s,
                "cell": c,
                "inputs": x,
                "context": context,
                "attention": weights,
            }
        )
    return steps


def test_follows_the_equations(cell, inputs):
    outputs, states = run_steps(cell, inputs, *start(cell, inputs))
    for output, state, expected in zip(
        outputs, states, numpy_steps(cell, inputs), strict=True
    ):
        output["attention"] = ops.exp(output["attention"])
        helpers.assert_close(output, expected)
        for name in ("hidden", "cell", "context"):
            helpers.assert_close(state[name], expected[name])


def test_a_decoder_gives_the_whole_state_and_the_merged_input(cell, inputs):
    decoded = layers.Decoder(cell)(**inputs)
    for t, step in enumerate(numpy_steps(cell, inputs)):
        helpers.assert_close(decoded["inputs"][:, t], step["inputs"])
        both = np.concatenate([step["cell"], step["hidden"]], axis=-1)
        helpers.assert_close(decoded["state"][:, t], both)


def totals(states):
    """Sums of the coverage that each step's attention read."""
    return [ops.sum(state["attention"], axis=-1) for state in states]


def test_a_search_starts_as_training_does(cell, inputs):
    state, memory = start(cell, inputs)
    assert cell.search_state(state, memory) is state
    _, states = run_steps(cell, inputs, state, memory)
    # Check 12 of the numeric checks, steps from 1: t - 1.
    for t, total in enumerate(totals([state, *states])):
        helpers.assert_close(total, np.full(B, float(t)))


def test_the_authors_search_attends_once_before(inputs):
    cell = make_cell(decode_initial_attention=True)
    first, memory = start(cell, inputs)
    state = cell.search_state(first, memory)
    context, weights = numpy_attention(
        cell, inputs["initial_state"], inputs["annotations"], np.zeros((B, S))
    )
    helpers.assert_close(state["context"], context)
    helpers.assert_close(state["attention"], weights)
    helpers.assert_close(state["hidden"], first["hidden"])
    helpers.assert_close(state["cell"], first["cell"])
    _, states = run_steps(cell, inputs, state, memory)
    # Check 12: t.
    for t, total in enumerate(totals([state, *states])):
        helpers.assert_close(total, np.full(B, t + 1.0))


def test_initial_values():
    uniform = keras.initializers.RandomUniform(-0.02, 0.02)
    cell = layers.InputFeedingLSTMCell(
        D,
        attention(),
        kernel_initializer=uniform,
        recurrent_initializer=uniform,
        input_initializer="ones",
    )
    cell.build((None, None, E), (None, None, C))
    for kernel in (cell.kernel, cell.recurrent_kernel):
        kernel = ops.convert_to_numpy(kernel)
        assert 0.015 < np.abs(kernel).max() < 0.02
        gates = np.split(kernel, 4, axis=-1)
        assert len({gate.tobytes() for gate in gates}) == 4
    helpers.assert_close(cell.bias, np.repeat([0.0, 1.0, 0.0, 0.0], D))
    helpers.assert_close(cell.input_kernel, np.ones((E + C, E)))


@pytest.mark.parametrize(
    "cell",
    [
        layers.AttentionalGRUCell,
        layers.ConditionalGRUCell,
        layers.InputFeedingLSTMCell,
    ],
)
def test_units_must_be_positive(cell):
    with pytest.raises(ValueError, match="Received: units=-1"):
        cell(-1, attention())
