"""Attention with all queries at once, and step by step."""

import pytest
from keras import ops

from tests import helpers
from tests.layers.layer_cases import LAYERS
from tests.layers.random_inputs import randomized

ATTENTIONS = [name for name, (_, x) in LAYERS.items() if "value_mask" in x]


@pytest.mark.parametrize("name", ATTENTIONS)
def test_the_whole_is_its_steps(name):
    make, inputs = LAYERS[name]
    layer = make()
    layer(**inputs)
    context, weights = randomized(layer)(**inputs)
    words = inputs.get("inputs", inputs["query"])
    memory = layer.prepare(inputs["value"], inputs["value_mask"])
    state = layer.initial_state(memory)
    for t in range(3):
        query = ops.matmul(inputs["query"][:, t], layer.query_matrix())
        query = layer.combine(query, layer.project(words[:, t]), memory)
        expected, log_weights, state = layer.step(query, state, memory)
        helpers.assert_close(context[:, t], expected)
        helpers.assert_close(weights[:, t], ops.exp(log_weights))
