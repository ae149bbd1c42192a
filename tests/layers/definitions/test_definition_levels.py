"""Definitions x: [p, y] and y: [q, x]; `FIRST` is the headword, then slots."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.definitions.test_definition_readers import (
    E,
    flat,
    make_lstm,
    means,
    numpy_states,
    padded,
)
from tfcopy.layers import MeanReader
from tfcopy.layers.definitions.definition_readers import (
    level_names,
    read_levels,
)
from tfcopy.tokens import PAD, UNK

P, Q, FIRST = 4, 5, 6
X, Y = 1, 2
TABLE = np.random.default_rng(0).normal(size=(FIRST, E)).astype("float32")
HEADWORD = np.random.default_rng(1).normal(size=(1, E)).astype("float32")

# Three levels. Slots need not be those of the level above, nor all be used.
LEVELS = [
    [([P, FIRST], 1), ([FIRST + 2], 1), ([Q, FIRST + 1, FIRST + 2], 2)],
    [([FIRST, FIRST + 1, Q], 1), ([P], 2), ([FIRST + 1], 2)],
    [([Q, UNK, FIRST], 1)],
]


def packed(levels, pack=flat):
    """The levels by the names that a packer gives them."""
    return {
        name: pack(read)[key]
        for level, read in enumerate(levels)
        for key, name in level_names(level).items()
    }


def cycle(depth, pack=flat):
    inside = [([P, FIRST + Y], X), ([Q, FIRST + X], Y)]
    return packed([inside] * depth + [[([P, UNK], X), ([Q, UNK], Y)]], pack)


VALUES = [(0.5, 1.5), (1.25, 1.75), (1.375, 2.125), (1.5625, 2.1875)]


@pytest.mark.parametrize("depth, expected", enumerate(VALUES))
def test_a_cycle_goes_on_to_the_deepest_level(depth, expected):  # check 20
    table = np.array([0, 0, 0, 0, 1, 3], "float32")[:, None]
    headword = np.full((1, 1), np.nan, "float32")

    def reader(definitions):
        return read_levels(MeanReader(), table, definitions, headword)

    actual = helpers.to_numpy(reader(cycle(depth)))[1:, 0]
    helpers.assert_close(actual, np.array(expected), rtol=1e-6)


def test_a_cycle_has_a_limit():
    table = np.array([0, 0, 0, 0, 1, 3], "float32")[:, None]
    read = read_levels(MeanReader(), table, cycle(20), np.zeros((1, 1), "f"))
    helpers.assert_close(read[1:, 0], np.array([5 / 3, 7 / 3]))


def numpy_levels(read, table, headword, levels):
    """Sums of level 0, one level after another, each of a table of its own."""
    rows = np.concatenate([table, headword])
    for level in reversed(levels):
        owners = np.array([owner for _, owner in level])
        sums = np.zeros((owners.max() + 1, table.shape[1]))
        np.add.at(sums, owners, read(rows, level))
        counts = np.maximum(np.bincount(owners), 1)[:, None]
        rows = np.concatenate([table, headword, (sums / counts)[1:]])
    return sums


def numpy_means(table, level):
    return np.stack([table[ids].mean(0) for ids, _ in level])


def make_readers():
    lstm = make_lstm(E, num_buckets=2)
    return {
        "mean": (MeanReader(), flat, numpy_means),
        "lstm": (lstm, padded, lambda *args: numpy_states(lstm, *args)),
    }


@pytest.mark.parametrize("name", ["mean", "lstm"])
def test_follows_the_equations(name):
    reader, pack, read = make_readers()[name]
    for levels in (LEVELS, LEVELS[1:], LEVELS[2:]):
        helpers.assert_close(
            read_levels(reader, TABLE, packed(levels, pack), HEADWORD),
            numpy_levels(read, TABLE, HEADWORD, levels),
        )


@pytest.mark.parametrize("name", ["mean", "lstm"])
def test_what_fills_up_changes_nothing(name):
    reader, pack, _ = make_readers()[name]
    expected = read_levels(reader, TABLE, packed(LEVELS, pack), HEADWORD)
    filler = [([UNK if pack is padded else PAD], 0)]
    filled = [[*read, *filler, *filler] for read in LEVELS]
    actual = packed(filled, pack)
    for level in range(3):
        name = level_names(level)["counts"]
        actual[name] = np.pad(actual[name], (0, level))
    actual = read_levels(reader, TABLE, actual, HEADWORD)
    helpers.assert_close(actual[: len(expected)], expected)


def test_one_level_is_what_the_reader_says():
    level = packed([[([P, Q], 1), ([UNK], 2)]])
    expected = MeanReader()(TABLE, level)
    for headword in (None, HEADWORD):
        actual = read_levels(MeanReader(), TABLE, level, headword)
        helpers.assert_close(actual, expected, rtol=0, atol=0)


def test_nothing_to_read_below():
    """A filler alone is level 1: no word of level 0 is defined."""
    levels = packed([[([P, Q], 1)], [([PAD], 0)]])
    actual = read_levels(MeanReader(), TABLE, levels, HEADWORD)
    expected = means(MeanReader(), TABLE, flat([([P, Q], 1)]))
    helpers.assert_close(actual[1:], expected)


@pytest.mark.parametrize("name", ["mean", "lstm"])
def test_all_levels_learn(name):
    """Q is read two levels down alone, the headword one level down."""
    reader, pack, _ = make_readers()[name]
    levels = packed(
        [[([P, FIRST + 1], 1)], [([FIRST, FIRST + 1], 1)], [([Q], 1)]], pack
    )
    tensors = {"table": TABLE, "headword": HEADWORD}

    def loss(x):
        return helpers.weighted_sum(
            read_levels(reader, x["table"], levels, x["headword"], True)
        )

    value, actual, _ = helpers.gradients(loss, tensors)
    actual = helpers.to_numpy(
        keras.tree.map_structure(ops.convert_to_tensor, actual)
    )
    assert actual["headword"].all()
    assert actual["table"].any(-1).tolist() == [False] * 4 + [True, True]
    # One step along the gradient of a row that is two levels down.
    step = 1e-2 / np.abs(actual["table"][Q]).max()
    moved = TABLE.copy()
    moved[Q] += step * actual["table"][Q]
    gain = float(loss({**tensors, "table": moved}) - value)
    slope = step * np.square(actual["table"][Q]).sum()
    np.testing.assert_allclose(gain, slope, rtol=0.1)


def test_levels_compile_into_a_graph():
    reader, pack, _ = make_readers()["lstm"]
    definitions = packed(LEVELS, pack)
    axes = {name: tuple(range(x.ndim)) for name, x in definitions.items()}
    graph = helpers.compiled(
        lambda x: read_levels(reader, TABLE, x, HEADWORD), definitions, axes
    )
    helpers.assert_close(
        graph(definitions), read_levels(reader, TABLE, definitions, HEADWORD)
    )


def test_deeper_levels_need_a_headword():
    with pytest.raises(ValueError, match="`depth` 0 are read.*'counts_1'"):
        read_levels(MeanReader(), TABLE, packed(LEVELS))
