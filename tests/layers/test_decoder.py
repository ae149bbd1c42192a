"""Teacher forcing, and decoders beside the steps of their cells."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.layer_cases import LAYERS
from tests.layers.random_inputs import randomized
from tfcopy.layers.cells import decoder_cell
from tfcopy.layers.decoder import TeacherForcing
from tfcopy.layers.loop import scan, unroll_scan
from tfcopy.tokens import BOS, EOS, NO_COPY, PAD, UNK

# Words of a vocabulary of 10 and, from 10 on, copied ones.
IDS = np.array([[5, 10, 9, EOS], [23, EOS, PAD, PAD]], "int32")
COPY_IDS = np.array([[10, 5, 10], [5, 11, NO_COPY]], "int32")


def test_starts_with_bos_and_reads_copied_words_as_unk():
    previous, _ = TeacherForcing(10)(IDS, COPY_IDS)
    previous = helpers.to_numpy(previous)
    assert previous.tolist() == [[BOS, 5, UNK, 9], [BOS, UNK, EOS, PAD]]
    assert previous.dtype == "int32"


def test_knows_where_the_source_holds_the_word_before():
    """By extended ids: 23 and 11 are UNK both, but not the same word."""
    _, matches = TeacherForcing(10)(IDS, COPY_IDS)
    expected = np.zeros((2, 4, 3))
    expected[0, 1, 1] = expected[0, 2, 0] = expected[0, 2, 2] = 1
    helpers.assert_close(matches, expected, 0, 0)


RECURRENT = [
    "decoder",
    *(x for x in LAYERS if x.endswith(("gru_cell", "lstm_cell"))),
]


def made(name):
    make, inputs = LAYERS[name]
    layer = make()
    layer(**inputs)
    return randomized(layer, 0.5), inputs


@pytest.mark.parametrize("name", RECURRENT)
def test_takes_the_steps_of_the_cell_one_after_the_other(name):
    layer, inputs = made(name)
    cell, decoded = layer.cell, layer(**inputs)
    memory = cell.prepare(inputs["annotations"], inputs["source_mask"])
    state = cell.initial_state(inputs["initial_state"], memory)
    for t in range(3):
        words = cell.project(
            inputs["embeddings"][:, t], inputs["matches"][:, t]
        )
        outputs, state = cell.step(words, state, memory)
        whole = outputs.pop("cell", outputs["hidden"][:, :0])
        whole = ops.concatenate([whole, outputs["hidden"]], axis=-1)
        outputs = {
            "inputs": inputs["embeddings"][:, t],
            "state": whole,
            **outputs,
        }
        for name, x in outputs.items():
            helpers.assert_close(decoded[name][:, t], x)
        assert ("copy_scores" in decoded) == ("copy_scores" in outputs)


def gradients_of(layer, inputs, training):
    floats = {
        name: inputs[name]
        for name in ("embeddings", "initial_state", "annotations")
    }

    def value(floats):
        decoded = layer(**{**inputs, **floats}, training=training)
        for name in {"attention", "copy_scores"} & {*decoded}:
            # Of padding it is about `MASKED`.
            decoded[name] = ops.exp(decoded[name])
        return helpers.weighted_sum(decoded)

    return helpers.gradients(value, floats, layer.trainable_weights)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("name", RECURRENT)
def test_gradients_are_those_of_an_unrolled_loop(name, training, monkeypatch):
    found = []
    for loop in (scan, unroll_scan):
        monkeypatch.setattr(decoder_cell, "scan", loop)
        keras.utils.set_random_seed(0)
        found.append(gradients_of(*made(name), training))
    helpers.assert_close(*found, rtol=1e-4)
    # All but the bias of the scores, `(1,)`, have one.
    for x in keras.tree.flatten(found[0]):
        assert x is None or x.shape == (1,) or helpers.to_numpy(x).any()


@pytest.mark.long
def test_gradients_are_the_same_compiled_by_xla():
    layer, inputs = made("selective_read_gru_cell")
    expected = gradients_of(layer, inputs, False)
    graph = helpers.compiled(
        lambda inputs: gradients_of(layer, inputs, False),
        inputs,
        jit_compile=True,
    )
    helpers.assert_close(graph(inputs), expected, rtol=1e-4)
