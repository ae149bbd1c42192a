"""Heads whose scores are far apart."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.layer_cases import BATCH, LAYERS

HEADS = [name for name, (_, x) in LAYERS.items() if "features" in x]


@pytest.mark.parametrize("name", HEADS)
def test_saturated_inputs_give_finite_costs_and_gradients(name):
    make, inputs = LAYERS[name]
    head, inputs = make(), dict(inputs)
    mask = inputs.pop("source_mask")
    large = {
        name: x if name == "decoded_attention" else 1e4 * x
        for name, x in inputs.items()
    }

    def cost(x):
        split = head(**helpers.arguments(x), source_mask=mask, training=True)
        return -ops.sum(head.log_likelihood(BATCH, split))

    cost(large)
    numbers = helpers.gradients(cost, large, head.trainable_weights)
    for number in keras.tree.flatten(numbers):
        assert number is None or np.isfinite(helpers.to_numpy(number)).all()
