import keras
import numpy as np
import pytest
import tensorflow as tf

from tests import helpers
from tfcopy import layers, tokens
from tfcopy.layers import tensors
from tfcopy.layers.encoders.states import MeanInitialState
from tfcopy.layers.tensors import PaddingMask, masked_softmax

pytestmark = pytest.mark.optimised_graphs

X = np.random.default_rng(0).normal(size=(3, 7, 5)).astype("float32")


def both(name, *arguments, **options):
    """The results on TensorFlow, in a graph of unknown sizes, and elsewhere.

    On another backend, the latter twice.
    """

    def function(x):
        return getattr(tensors, name)(x, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tensors, "_ON_TENSORFLOW", False)
        expected = function(X)
    if keras.backend.backend() != "tensorflow":
        return expected, expected
    spec = tf.TensorSpec([None, None, 5], tf.float32)
    return tf.function(function, [spec]).get_concrete_function()(X), expected


@pytest.mark.parametrize(
    ("places", "axis"), [([2], -1), ([1, 1, 4], -1), ([3], 1), ([1], 0)]
)
def test_split(places, axis):
    found, expected = both("split", places, axis=axis)
    assert len(found) == len(expected) == len(places) + 1
    for x, y, part in zip(found, expected, np.split(X, places, axis)):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, part)


def test_copies():
    found, expected = both("copies", 3)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, np.stack([X] * 3, 1))


def test_copies_of_a_second_output_are_its_own():
    """Of which TensorFlow's graphs stack the first."""

    def copied(x):
        return tensors.copies(tensors.split(x, [2])[1], 2)

    graph = tf.function(copied)(X)
    np.testing.assert_array_equal(graph, np.stack([X[..., 2:]] * 2, 1))


@pytest.mark.parametrize("times", [1, 3])
def test_repeat(times):
    np.testing.assert_array_equal(*both("repeat", times))
    row = keras.ops.convert_to_tensor(X[:, 0, 0])
    rows = tensors.repeat(row, times)
    np.testing.assert_array_equal(rows, np.repeat(row, times))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("indices", [2, [0, 2, 2], [[1], [0]]])
def test_take(indices, axis):
    indices = np.array(indices, "int32")
    found, expected = both("take", indices, axis=axis)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(found, np.take(X, indices, axis))


@pytest.mark.parametrize("indices", [[[0], [6], [2]], [[1, 1], [0, 6], [3, 2]]])
def test_take_each(indices):
    indices = np.array(indices, "int32")
    found, expected = both("take_each", indices)
    np.testing.assert_array_equal(found, expected)
    rows = [x[places] for x, places in zip(X, indices)]
    np.testing.assert_array_equal(found, rows)


IDS = np.array([[5, tokens.EOS, tokens.PAD], [tokens.UNK, 7, 2]], "int32")


def test_all_but_padding_is_a_real_token():
    mask = helpers.to_numpy(PaddingMask()(IDS))
    assert mask.tolist() == [[True, True, False], [True, True, True]]


@pytest.mark.parametrize(
    "layer",
    [
        layers.BidirectionalGRU(3),
        layers.BidirectionalLSTM(3),
        layers.ForwardLSTM(3),
        layers.TransformerAnnotations(4, num_layers=1, num_heads=2),
        layers.PositionOneHot(layers.BidirectionalGRU(3), 2),
        layers.MaskedPooling(),
        layers.SpanHead(3),
        MeanInitialState(3),
    ],
    ids=lambda layer: layer.name,
)
def test_without_a_mask_nothing_is_padding(layer):
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3)).astype("float32")
    helpers.assert_close(
        layer(inputs), helpers.to_numpy(layer(inputs, np.ones((2, 4), bool)))
    )


MASK = np.array([[True, True, True], [True, False, False]])


@pytest.mark.parametrize("axis", [1, 2])
def test_is_the_softmax_of_what_is_no_padding(axis):
    scores = np.random.default_rng(0).normal(size=(2, 3, 3)).astype("float32")
    mask = np.expand_dims(MASK, 3 - axis)
    weights = np.where(mask, np.exp(scores), 0)
    expected = weights / weights.sum(axis, keepdims=True)
    actual = helpers.to_numpy(masked_softmax(scores, mask, axis))
    helpers.assert_close(actual, expected)
    assert (actual[~np.broadcast_to(mask, scores.shape)] == 0).all()


def test_one_word_gets_all_weight():
    """Without a warning, which would be an error here."""
    scores = np.ones((2, 3, 1), "float32")
    actual = masked_softmax(scores, np.ones((2, 1, 1), bool), axis=2)
    helpers.assert_close(actual, np.ones((2, 3, 1)))


def test_weights_are_in_float32():
    scores = np.array([[[3e4, -3e4, 3e4]]], "float16")
    actual = helpers.to_numpy(masked_softmax(scores, MASK[:1, None], axis=2))
    assert actual.dtype == "float32"
    helpers.assert_close(actual, [[[0.5, 0.0, 0.5]]])


def test_without_words_all_weights_are_the_same():
    nothing = np.zeros((1, 1, 4), bool)
    scores = np.arange(8, dtype="float32").reshape(1, 2, 4)
    actual = masked_softmax(scores, nothing, axis=2)
    helpers.assert_close(actual, np.full((1, 2, 4), 0.25))
