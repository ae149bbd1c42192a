import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_gates import numpy_gru
from tests.layers.random_inputs import MASK, normal, randomized
from tfcopy.layers import BahdanauAttention, ConditionalGRUCell

B, S, E, C, D, A = 2, 4, 3, 6, 5, 7


@pytest.fixture
def cell():
    cell = ConditionalGRUCell(D, BahdanauAttention(A, use_bias=True))
    cell.build((None, None, E), (None, None, C))
    return randomized(cell)


def run_step(cell, words, hidden, annotations, mask):
    memory = cell.prepare(annotations, mask)
    state = cell.initial_state(hidden, memory)
    return cell.step(cell.project(words), state, memory)


def test_follows_the_equations(cell):
    words, hidden = normal(B, E), normal(B, D, seed=1)
    annotations = normal(B, S, C, seed=2)
    outputs, state = run_step(cell, words, hidden, annotations, MASK)
    w = {
        name: ops.convert_to_numpy(getattr(cell, name))
        for name in (
            *("input_kernel", "input_bias", "state_kernel"),
            *("query_kernel", "query_bias", "context_kernel"),
        )
    }
    query = numpy_gru(
        words @ w["input_kernel"] + w["input_bias"],
        hidden @ w["state_kernel"],
        hidden,
    )
    context, weights = cell.attention(
        query[:, None].astype("float32"), annotations, MASK
    )
    context, weights = (
        ops.convert_to_numpy(x)[:, 0] for x in (context, weights)
    )
    # The bias of the candidate is multiplied by the reset gate.
    expected = numpy_gru(
        context @ w["context_kernel"],
        query @ w["query_kernel"] + w["query_bias"],
        query,
    )
    helpers.assert_close(outputs["hidden"], expected)
    helpers.assert_close(state["hidden"], expected)
    helpers.assert_close(outputs["context"], context)
    helpers.assert_close(ops.exp(outputs["attention"]), weights)


def test_scalar_step():
    """Check 2 of the numeric checks: all gates are at 0, so at one half."""
    attention = BahdanauAttention(1, use_bias=True)
    cell = ConditionalGRUCell(1, attention)
    cell.build((None, 1), (None, None, 1))
    cell.input_kernel.assign([[0, 0, 0.25]])
    cell.input_bias.assign([0, 0, 0])
    cell.state_kernel.assign([[0, 0, 1]])
    cell.query_kernel.assign([[0, 0, 1]])
    cell.query_bias.assign([0, 0, 0.1])
    cell.context_kernel.assign([[0, 0, 1]])
    attention.value_projection.kernel.assign([[1]])
    attention.query_kernel.assign([[1]])
    attention.score_kernel.assign([[1]])
    one = np.ones((1, 1), "float32")
    outputs, _ = run_step(
        cell, one, 0.5 * one, np.array([[[1], [-1]]], "float32"), None
    )
    helpers.assert_close(outputs["context"], [[0.597516]])
    helpers.assert_close(ops.exp(outputs["attention"]), [[0.798758, 0.201242]])
    helpers.assert_close(outputs["hidden"], [[0.595743]])
