"""What is done on TensorFlow is what Keras's operations do."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tfcopy.layers import cutting

X = np.random.default_rng(0).normal(size=(3, 7, 5)).astype("float32")


def both(name, *arguments, **options):
    """The results on TensorFlow, in a graph of unknown sizes, and elsewhere.

    On another backend, the latter twice.
    """

    def function(x):
        return getattr(cutting, name)(x, *arguments, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cutting, "_ON_TENSORFLOW", False)
        expected = function(X)
    if keras.backend.backend() != "tensorflow":
        return expected, expected
    spec = tf.TensorSpec([None, None, 5], tf.float32)
    graph = tf.function(function, [spec]).get_concrete_function()
    return graph(X), expected


@pytest.mark.parametrize(
    ("places", "axis"), [([2], -1), ([1, 1, 4], -1), ([3], 1), ([1], 0)]
)
def test_split(places, axis):
    found, expected = both("split", places, axis=axis)
    assert len(found) == len(expected) == len(places) + 1
    parts = np.split(X, places, axis)
    for x, y, part in zip(found, expected, parts):
        np.testing.assert_array_equal(x, y)
        np.testing.assert_array_equal(x, part)


@pytest.mark.parametrize("times", [1, 3])
def test_repeat(times):
    np.testing.assert_array_equal(*both("repeat", times))
    row = keras.ops.convert_to_tensor(X[:, 0, 0])
    rows = cutting.repeat(row, times)
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
