import numpy as np
import pytest

from tests import helpers
from tfcopy.layers.masked_softmax import masked_softmax

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
