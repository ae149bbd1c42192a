import numpy as np

from tests import helpers
from tests.layers.random_inputs import MASK, sequences
from tfcopy.layers import SpanHead
from tfcopy.layers.copying import MASKED

INPUTS = sequences()


def test_follows_the_equation():
    head = SpanHead(5, dropout=0.5)
    actual = head(**INPUTS)
    w1, b1, w2, b2 = map(helpers.to_numpy, head.weights)
    hidden = np.maximum(INPUTS["inputs"] @ w1 + b1, 0)
    expected = np.where(MASK, (hidden @ w2 + b2)[..., 0], MASKED)
    helpers.assert_close(actual, expected)


def test_the_hidden_layer_is_dropped_in_training():
    head = SpanHead(500, dropout=0.9, seed=0)
    dropped = helpers.to_numpy(head(**INPUTS, training=True))
    assert (dropped != helpers.to_numpy(head(**INPUTS)))[MASK].all()
