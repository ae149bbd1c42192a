"""Ids of the notes on the paper are one less than those here."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_gates import numpy_lstm
from tfcopy.layers import LSTMReader, MeanReader, RecurrentReader
from tfcopy.tokens import BOS, EOS, PAD

E, D = 5, 6
TABLE = np.random.default_rng(0).normal(size=(9, E)).astype("float32")

# The words a to e; the entries a, b and "d c" of the notes.
A, B, C, D_, E_ = range(4, 9)
READ = [([B, C], 1), ([D_, E_], 1), ([E_, D_], 2), ([A, B], 3)]


def wrapped(read):
    return [([BOS, *ids, EOS], owner) for ids, owner in read]


def numbers_of(read, size=None):
    owners = np.array([owner for _, owner in read], "int32")
    counts = np.bincount(owners, minlength=(size or owners.max()) + 1)
    counts[0] = 0
    return counts.astype("float32")


def flat(read, size=None):
    """Definitions `(ids, owner)` in the layout of mean readers."""
    tokens = [(i, u, 1 / len(ids)) for ids, u in read for i in ids]
    ids, owners, weights = zip(*tokens)
    weights = np.where(owners, weights, 0)
    return {
        "ids": np.array(ids, "int32"),
        "owners": np.array(owners, "int32"),
        "weights": weights.astype("float32"),
        "counts": numbers_of(read, size),
    }


def padded(read, length=None, size=None):
    """Definitions `(ids, owner)` in the layout of recurrent readers."""
    length = length or max(len(ids) for ids, _ in read)
    rows = [[*ids, *[PAD] * (length - len(ids))] for ids, _ in read]
    owners = np.array([owner for _, owner in read], "int32")
    return {
        "ids": np.array(rows, "int32"),
        "owners": owners,
        "weights": (owners > 0).astype("float32"),
        "counts": numbers_of(read, size),
    }


def means(reader, table, definitions):
    """The mean over the definitions of each slot but slot 0."""
    sums = helpers.to_numpy(reader(np.asarray(table, "float32"), definitions))
    assert not sums[0].any()
    return sums[1:] / definitions["counts"][1:, None]


def make_lstm(units=D, **options):
    """Always of the same weights, a bias among them."""
    reader = LSTMReader(units, **options)
    reader.build(TABLE.shape)
    rng = np.random.default_rng(1)
    for weight in reader.weights:
        weight.assign(rng.normal(scale=0.5, size=weight.shape))
    return reader


FILLER = ([EOS], 0)


EXPECTED = [(READ, [7.5, 8.5, 5.5]), (wrapped(READ), [5.5, 6.0, 4.5])]


@pytest.mark.parametrize("read, expected", EXPECTED)
def test_the_mean_is_over_tokens_then_over_definitions(read, expected):
    """Check 5 of the notes; there the vector of an id is the id itself."""
    table = 1.0 + np.arange(9.0)[:, None]
    helpers.assert_close(means(MeanReader(), table, flat(read))[:, 0], expected)


def test_the_mean_follows_the_equation():
    reader = MeanReader(D)
    sums = reader(TABLE, flat(READ))
    kernel = helpers.to_numpy(reader.kernel)
    expected = np.zeros((4, D))
    for ids, owner in READ:
        expected[owner] += TABLE[ids].mean(0) @ kernel
    helpers.assert_close(sums, expected)


def test_flat_and_padded_means_agree():
    definitions = padded(READ)
    mask = (definitions["ids"] != PAD)[..., None]
    vectors = (TABLE[definitions["ids"]] * mask).sum(1) / mask.sum(1)
    expected = np.zeros((4, E))
    np.add.at(expected, definitions["owners"], vectors)
    helpers.assert_close(MeanReader()(TABLE, flat(READ)), expected)


def test_the_lstm_gives_the_values_of_the_notes():
    """Check 7: all weights 1, inputs 1 and 2, and 1 alone."""
    table = np.array([0, 0, 0, 0, 1, 2], "float32")[:, None]
    definitions = padded([([A, B], 1), ([A], 2)])
    for forget, expected in ((False, [0.811163, 0.369606]), (True, [0.816692])):
        reader = LSTMReader(1, unit_forget_bias=forget)
        reader.build((6, 1))
        for kernel in (reader.kernel, reader.recurrent_kernel):
            kernel.assign(np.ones((1, 4)))
        states = helpers.to_numpy(reader(table, definitions))[1:, 0]
        helpers.assert_close(states[: len(expected)], expected, atol=1e-6)


def numpy_states(reader, table, read):
    """The last state of each definition."""
    kernel, recurrent, bias = map(helpers.to_numpy, reader.weights)
    states = []
    for ids, _ in read:
        hidden = cell = np.zeros(len(recurrent))
        for x in table[ids]:
            projected = x @ kernel + hidden @ recurrent + bias
            hidden, cell = numpy_lstm(projected, cell)
        states.append(hidden)
    return np.stack(states)


# Of 5 definitions: one bucket, buckets of 1 and 2, and empty ones.
@pytest.mark.parametrize("num_buckets", [1, 3, 8])
@pytest.mark.parametrize("num_words", [9, 40])
def test_the_lstm_follows_the_equations(num_words, num_buckets):
    table = np.resize(TABLE, (num_words, E))
    read = [([A], 3), *wrapped(READ)]
    reader = make_lstm(num_buckets=num_buckets)
    expected = np.zeros((4, D))
    owners = [owner for _, owner in read]
    np.add.at(expected, owners, numpy_states(reader, table, read))
    helpers.assert_close(reader(table, padded(read)), expected)


LAYOUTS = [(MeanReader, flat), (make_lstm, padded)]


@pytest.mark.parametrize("make, pack", LAYOUTS)
def test_what_else_is_read_changes_nothing(make, pack):  # check 6
    reader = make()
    expected = means(reader, TABLE, pack(READ))
    others = [*READ[::-1], ([B, C, D_], 4)], [FILLER, *READ, FILLER, FILLER]
    for read in others:
        helpers.assert_close(means(reader, TABLE, pack(read))[:3], expected)


def test_more_padding_changes_nothing():
    reader = make_lstm()
    more = reader(TABLE, padded(READ, length=7, size=5))
    helpers.assert_close(more[:4], reader(TABLE, padded(READ)))
    assert not helpers.to_numpy(more[4:]).any()


def test_only_the_lstm_reads_in_order():  # check 8
    mean, lstm = (
        [means(make(), TABLE, pack([(ids, 1)])) for ids in ([A, B], [B, A])]
        for make, pack in LAYOUTS
    )
    helpers.assert_close(*mean)
    assert np.abs(lstm[0] - lstm[1]).max() > 0.01


def gradients(reader, table, definitions):
    """Of the table, and then of the reader's weights."""
    table = keras.Variable(table)

    def loss(_):
        sums = reader(ops.convert_to_tensor(table), definitions, training=True)
        return helpers.weighted_sum(sums)

    reader(TABLE, definitions)
    variables = [table, *reader.trainable_weights]
    return helpers.to_numpy(helpers.gradients(loss, {}, variables)[2])


@pytest.mark.parametrize("make, pack", LAYOUTS)
def test_nothing_to_read_is_zero_with_finite_gradients(make, pack):  # check 4
    reader, nothing = make(), pack([FILLER])
    assert not helpers.to_numpy(reader(TABLE, nothing)).any()
    for gradient in gradients(reader, TABLE, nothing):
        assert not gradient.any()


def gradients_of_lstm(num_words, read, num_buckets=4):
    table = np.resize(TABLE, (num_words, E))
    d_table, *others = gradients(
        make_lstm(num_buckets=num_buckets), table, padded(read)
    )
    assert not d_table[9:].any()
    return d_table[:9], *others


@pytest.mark.parametrize("options", [(40, READ, 1), (40, READ), (9, READ)])
def test_gradients_do_not_depend_on_how_the_lstm_reads(options):
    expected = gradients_of_lstm(9, READ, num_buckets=1)
    helpers.assert_close(gradients_of_lstm(*options), expected)


def test_the_number_of_definitions_may_change_how_words_are_projected():
    reader = make_lstm()
    table = np.resize(TABLE, (16, E))  # 4 definitions have 8 places.
    graph = helpers.compiled(
        lambda x: reader(table, x),
        padded(READ),
        {"ids": (0, 1), "owners": (0,), "weights": (0,)},
    )
    expected = reader(table, padded(READ))
    helpers.assert_close(graph(padded(READ)), expected)
    helpers.assert_close(graph(padded(3 * READ)), 3 * expected)


@pytest.mark.long
def test_one_bucket_is_compiled_by_xla():
    reader = make_lstm(num_buckets=1)
    assert reader.supports_jit
    definitions = padded(READ)
    function = helpers.compiled(
        lambda x: reader(TABLE, x), definitions, jit_compile=True
    )
    helpers.assert_close(function(definitions), reader(TABLE, definitions))
    is_jax = keras.backend.backend() == "jax"
    assert make_lstm(num_buckets=2).supports_jit == is_jax


@pytest.mark.parametrize("return_sequences", [False, True])
def test_a_given_layer_reads_like_an_lstm_of_its_weights(return_sequences):
    reader = make_lstm()
    layer = keras.layers.LSTM(D, return_sequences=return_sequences)
    arguments = RecurrentReader(layer)
    arguments.build(TABLE.shape)
    layer.set_weights(reader.get_weights())
    definitions = padded(wrapped([*READ, ([A], 2)]))
    helpers.assert_close(
        arguments(TABLE, definitions), reader(TABLE, definitions)
    )
    assert arguments.output_dim(E) == D


def test_sums_are_float32_in_mixed_precision():
    """In bfloat16 one cannot count beyond 256."""
    definitions = flat(300 * [([A, B], 1)])
    expected = MeanReader()(TABLE, definitions)
    mixed = MeanReader(dtype="mixed_bfloat16")(TABLE, definitions)
    helpers.assert_close(mixed, expected, rtol=1e-6)


@pytest.mark.parametrize(
    "options", [{"units": 0}, {"units": 3, "num_buckets": 0}]
)
def test_sizes_must_be_positive(options):
    with pytest.raises(ValueError, match="must be a positive.*Received: .*=0"):
        LSTMReader(**options)
