import numpy as np
import pytest

from tests import helpers
from tfcopy.layers import SpanHead
from tfcopy.layers.copying import MASKED

MASK = np.array([[True] * 4, [True, True, False, False]])


@pytest.fixture
def inputs():
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3))
    return {"inputs": inputs.astype("float32"), "mask": MASK}


def test_follows_the_equation(inputs):
    head = SpanHead(5, dropout=0.5)
    actual = head(**inputs)
    w1, b1, w2, b2 = map(helpers.to_numpy, head.weights)
    hidden = np.maximum(inputs["inputs"] @ w1 + b1, 0)
    expected = np.where(MASK, (hidden @ w2 + b2)[..., 0], MASKED)
    helpers.assert_close(actual, expected)


def test_the_hidden_layer_is_dropped_in_training(inputs):
    head = SpanHead(500, dropout=0.9, seed=0)
    dropped = helpers.to_numpy(head(**inputs, training=True))
    assert (dropped != helpers.to_numpy(head(**inputs)))[MASK].all()
