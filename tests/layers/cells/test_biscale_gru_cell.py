"""The biscale decoder against known values and against plain NumPy."""

import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.attention.plan_values import F
from tfcopy.layers import BahdanauAttention, BiscaleGRUCell

D = C = E = 2
# U_cc U_wc W_xc W_pc X_cc X_wc X_x X_p U_ww W_cw W_pw X_ww X_cw X_pw.
NAMES = "Ucc Uwc Wxc Wpc Xcc Xwc Xx Xp Uww Wcw Wpw Xww Xcw Xpw".split()
M = {name: F(50 + i, 2, 2) for i, name in enumerate(NAMES)}
BIASES = dict(zip(("bc", "bxc", "bw", "bxw"), (F(70 + i, 2) for i in range(4))))
GOLDEN = [
    {
        "first": [-0.997145, -0.956571],
        "first_gate": [0.253067, 0.605214],
        "second": [-0.501532, 0.429676],
        "second_gate": [0.226548, 0.253209],
    },
    {
        "first": [-0.975755, -0.998109],
        "first_gate": [0.067501, 0.110400],
        "second": [-0.484236, 0.350584],
        "second_gate": [0.339029, 0.829092],
    },
]


@pytest.fixture
def cell():
    cell = BiscaleGRUCell(D, BahdanauAttention(1))
    cell.build((None, None, E), (None, None, C))
    kernels = {
        "fast_kernel": ("Ucc", "Xcc"),
        "slow_to_fast_kernel": ("Uwc", "Xwc"),
        "slow_kernel": ("Uww", "Xww"),
        "fast_to_slow_kernel": ("Wcw", "Xcw"),
        "input_kernel": ("Wxc", "Xx"),
        "context_kernel": ("Wpc", "Xp", "Wpw", "Xpw"),
    }
    for name, blocks in kernels.items():
        kernel = np.concatenate([M[block] for block in blocks], axis=1)
        getattr(cell, name).assign(kernel)
    cell.fast_bias.assign(np.concatenate([BIASES["bc"], BIASES["bxc"]]))
    cell.slow_bias.assign(np.concatenate([BIASES["bw"], BIASES["bxw"]]))
    return cell


def run(cell, steps=2):
    """States of steps whose contexts are given, one source step each."""
    state, actual = None, []
    for i in range(steps):
        memory = cell.prepare(F(84 + i, 2)[None, None], np.array([[True]]))
        if state is None:
            first = np.concatenate([F(80, 2), F(81, 2)])[None]
            state = cell.initial_state(first, memory)
        words = cell.project(F(82 + i, 2)[None])
        outputs, state = cell.step(words, state, memory)
        actual.append((outputs, state))
    return actual


def test_golden_values(cell):
    for (outputs, state), expected in zip(run(cell), GOLDEN):
        for name, value in expected.items():
            helpers.assert_close(state[name], [value])
        both = expected["first"] + expected["second"]
        helpers.assert_close(outputs["hidden"], [both])


def test_a_closed_gate_keeps_the_slow_layer(cell):
    """And the fast one is a plain recurrence of itself."""
    cell.fast_bias.assign(np.concatenate([[-1e3, -1e3], BIASES["bxc"]]))
    actual = run(cell)
    second = F(81, 2)
    for i, (_, state) in enumerate(actual):
        helpers.assert_close(state["first_gate"], [[0, 0]])
        helpers.assert_close(state["second"], [second])
        before = actual[0][1]["first"]
        before = ops.convert_to_numpy(before) if i else F(80, 2)[None]
        total = before @ M["Xcc"] + F(82 + i, 2) @ M["Xx"]
        total = total + F(84 + i, 2) @ M["Xp"] + BIASES["bxc"]
        helpers.assert_close(state["first"], np.tanh(total))


def test_an_open_gate_makes_the_fast_layer_forget(cell):
    cell.fast_bias.assign(np.concatenate([[1e3, 1e3], BIASES["bxc"]]))
    memory = cell.prepare(F(84, 2)[None, None], np.array([[True]]))
    state = cell.initial_state(np.zeros((1, 4), "float32"), memory)
    state["first_gate"] = np.ones((1, 2), "float32")
    words = cell.project(F(82, 2)[None])
    new = []
    for first in (F(1, 2), F(2, 2)):
        changed = {**state, "first": ops.convert_to_tensor(first[None])}
        new.append(cell.step(words, changed, memory)[1]["first"])
    helpers.assert_close(new[0], new[1])


@pytest.mark.parametrize("query", ["both", "first", "second"])
def test_whose_state_attends(query):
    cell = BiscaleGRUCell(D, BahdanauAttention(3), query=query)
    cell.build((None, None, E), (None, None, C))
    annotations = np.stack([F(1, 2), F(2, 2)])[None]
    memory = cell.prepare(annotations, np.array([[True, True]]))
    words = cell.project(F(82, 2)[None])

    def attention(first, second):
        state = np.concatenate([first, second])[None]
        state = cell.initial_state(state, memory)
        return cell.step(words, state, memory)[0]["attention"]

    usual = attention(F(1, 2), F(2, 2))
    for name, states in (
        ("first", (F(5, 2), F(2, 2))),
        ("second", (F(1, 2), F(5, 2))),
    ):
        differs = np.abs(ops.convert_to_numpy(attention(*states) - usual)).max()
        assert (differs > 1e-4) == (query in ("both", name))


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="`query` must be one of"):
        BiscaleGRUCell(D, BahdanauAttention(3), query="third")
