"""The two-layer GRU decoder against plain NumPy, normalised or not."""

import numpy as np
from keras import ops

from tests import helpers
from tests.layers.cells.test_gates import numpy_gru, sigmoid
from tests.layers.random_inputs import MASK, normal, randomized
from tfcopy.layers import BahdanauAttention, TwoLayerGRUCell

B, S, E, C, D, A = 2, 4, 3, 6, 5, 7


WORDS, ANNOTATIONS = normal(B, E), normal(B, S, C, seed=1)
FIRST, SECOND = normal(B, D, seed=2), normal(B, D, seed=3)


def make(**options):
    attention = BahdanauAttention(A, use_bias=True, reads_words=True)
    cell = TwoLayerGRUCell(D, attention, **options)
    cell.build((None, None, E), (None, None, C))
    return randomized(cell)


def step(cell):
    memory = cell.prepare(ANNOTATIONS, MASK)
    state = cell.initial_state(np.concatenate([FIRST, SECOND], 1), memory)
    return cell.step(cell.project(WORDS), state, memory)


def weights_of(cell):
    return {
        weight.path.split("/")[-1]: helpers.to_numpy(weight)
        for weight in cell.weights
        if "attention" not in weight.path
    }


def context_of(cell):
    query = np.concatenate([FIRST, SECOND], axis=1)[:, None]
    context, weights = cell.attention(query, ANNOTATIONS, MASK, WORDS[:, None])
    return helpers.to_numpy(context)[:, 0], helpers.to_numpy(weights)[:, 0]


def test_follows_the_equations():
    cell = make()
    outputs, state = step(cell)
    context, weights = context_of(cell)
    w = weights_of(cell)
    read = np.split(context @ w["context_kernel"], 2, axis=-1)
    first = numpy_gru(
        WORDS @ w["input_kernel"] + w["input_bias"] + read[0],
        FIRST @ w["first_kernel"],
        FIRST,
    )
    second = numpy_gru(
        first @ w["between_kernel"] + w["second_bias"] + read[1],
        SECOND @ w["second_kernel"],
        SECOND,
    )
    helpers.assert_close(outputs["hidden"], np.concatenate([first, second], 1))
    helpers.assert_close(outputs["context"], context)
    helpers.assert_close(ops.exp(outputs["attention"]), weights)
    helpers.assert_close(state["first"], first)
    helpers.assert_close(state["second"], second)


def numpy_norm(x, w, name):
    mean = x.mean(-1, keepdims=True)
    x = (x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)
    return x * w[f"{name}_norm_gain"] + w[f"{name}_norm_bias"]


def test_follows_the_equations_with_layer_normalisation():
    cell = make(layer_norm=True)
    outputs, _ = step(cell)
    context, _ = context_of(cell)
    w = weights_of(cell)
    words = WORDS @ w["input_kernel"] + w["input_bias"]
    gates, candidate = words[:, : 2 * D], words[:, 2 * D :]
    below = np.concatenate(
        [
            numpy_norm(gates, w, "input_gates"),
            numpy_norm(candidate, w, "input_candidate"),
        ],
        axis=1,
    )
    reads = np.split(context @ w["context_kernel"], 2, axis=-1)
    states = {"first": FIRST, "second": SECOND}
    for (name, state), read in zip(states.items(), reads):
        below, recurrent = below + read, state @ w[f"{name}_kernel"]
        gates = below[:, : 2 * D] + recurrent[:, : 2 * D]
        gates = sigmoid(numpy_norm(gates, w, f"{name}_gates"))
        reset, update = np.split(gates, 2, axis=-1)
        candidate = below[:, 2 * D :] + reset * recurrent[:, 2 * D :]
        candidate = np.tanh(numpy_norm(candidate, w, f"{name}_candidate"))
        states[name] = update * state + (1 - update) * candidate
        below = states[name] @ w["between_kernel"] + w["second_bias"]
    expected = np.concatenate(list(states.values()), axis=1)
    helpers.assert_close(outputs["hidden"], expected, 1e-4, 1e-4)
