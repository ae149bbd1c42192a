"""CopyNet's check 6: where the last word was copied from."""

import numpy as np
import pytest

from tests import helpers
from tfcopy.layers.cells.selective_read_gru_cell import selective_weights

SCORES = np.log([[2.0, 1.0, 2.0]] * 3).astype("float32")
# After c, which stands at the last two; after a; after any other word.
MATCHES = np.array([[0, 1, 1], [1, 0, 0], [0, 0, 0]], "float32")
EXPECTED = np.array([[0, 1 / 3, 2 / 3], [1, 0, 0], [0, 0, 0]])


def test_by_hand():
    weights = helpers.to_numpy(selective_weights(SCORES, MATCHES))
    helpers.assert_close(weights, EXPECTED)
    assert (weights[MATCHES == 0] == 0).all()
    read = weights @ np.array([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])
    helpers.assert_close(read, [[4 / 3, 5 / 3], [1, 0], [0, 0]])


@pytest.mark.parametrize("shift", [5.0, -1e4, 1e4])
def test_are_relative(shift):
    weights = selective_weights(SCORES + shift, MATCHES)
    helpers.assert_close(weights, EXPECTED, atol=1e-3)


def test_of_repeated_words():
    """Check 5: of a a b the first two, with scores 1 to 3."""
    scores = np.log([[1.0, 2.0, 3.0]]).astype("float32")
    weights = selective_weights(scores, np.array([[1, 1, 0]], "float32"))
    helpers.assert_close(weights, [[1 / 3, 2 / 3, 0]])


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_nothing_read_has_a_gradient_of_zero(scale):
    _, gradient, _ = helpers.gradients(
        lambda x: helpers.weighted_sum(selective_weights(x, MATCHES)),
        scale * SCORES,
    )
    gradient = helpers.to_numpy(gradient)
    assert np.isfinite(gradient).all()
    assert not gradient[1:].any() and not gradient[0, 0]
    assert gradient[0, 1:].any() or scale > 1
