import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import BahdanauAttention, ConditionalGRUCell, Decoder
from tfcopy.layers.decoder import TeacherForcing
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


MASK = np.array([[True] * 4, [True, True, False, False]])


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    return {
        "embeddings": rng.normal(size=(2, 3, 3)).astype("float32"),
        "initial_state": rng.normal(size=(2, 5)).astype("float32"),
        "annotations": rng.normal(size=(2, 4, 6)).astype("float32"),
        "source_mask": MASK,
        "matches": np.zeros((2, 3, 4), "float32"),
    }


@pytest.fixture
def layer():
    attention = BahdanauAttention(7, use_bias=True)
    return Decoder(ConditionalGRUCell(5, attention))


def test_takes_the_steps_of_the_cell_one_after_the_other(layer, inputs):
    decoded = layer(**inputs)
    cell = layer.cell
    memory = cell.prepare(inputs["annotations"], MASK)
    state = cell.initial_state(inputs["initial_state"], memory)
    for t in range(3):
        words = cell.project(
            inputs["embeddings"][:, t], inputs["matches"][:, t]
        )
        outputs, state = cell.step(words, state, memory)
        for name, x in outputs.items():
            helpers.assert_close(decoded[name][:, t], x)


def test_attention_is_in_logs(layer, inputs):
    weights = ops.exp(layer(**inputs)["attention"])
    helpers.assert_close(ops.sum(weights, axis=-1), np.ones((2, 3)))
    helpers.assert_close(weights[1, :, 2:], np.zeros((3, 2)), atol=0)


def test_later_words_do_not_change_earlier_steps(layer, inputs):
    before = layer(**inputs)
    embeddings = inputs["embeddings"].copy()
    embeddings[:, 2] += 1
    after = layer(**{**inputs, "embeddings": embeddings})
    for name in before:
        helpers.assert_close(before[name][:, :2], after[name][:, :2])
    difference = before["hidden"] - after["hidden"]
    assert np.abs(ops.convert_to_numpy(difference))[:, 2].min() > 0
