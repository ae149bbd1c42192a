"""What the file of TensorFlow does is what Keras's operations do."""

import numpy as np
import pytest
import tensorflow as tf

from tfcopy.layers.cutting import keras_cutting, tensorflow_cutting

X = np.random.default_rng(0).normal(size=(3, 7, 5)).astype("float32")


def both(name, *arguments, **options):
    """The results of the two files, the first in a graph of unknown sizes."""

    def compiled(x):
        return getattr(tensorflow_cutting, name)(x, *arguments, **options)

    spec = tf.TensorSpec([None, None, 5], tf.float32)
    graph = tf.function(compiled, [spec]).get_concrete_function()
    return graph(X), getattr(keras_cutting, name)(X, *arguments, **options)


@pytest.mark.parametrize(
    ("places", "axis"), [([2], -1), ([1, 1, 4], -1), ([3], 1), ([1], 0)]
)
def test_split(places, axis):
    found, expected = both("split", places, axis=axis)
    assert len(found) == len(expected) == len(places) + 1
    for x, y in zip(found, expected):
        np.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("times", [1, 3])
def test_repeat(times):
    np.testing.assert_array_equal(*both("repeat", times))
    row = tf.constant(X[:, 0, 0])
    rows = tensorflow_cutting.repeat(row, times)
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
