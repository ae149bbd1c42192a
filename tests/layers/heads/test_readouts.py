"""Readouts, which heads project onto the vocabulary."""

import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import DeepOutput, OutputProjection
from tfcopy.layers.heads.readouts import Readout


@pytest.fixture
def inputs_readout():
    rng = np.random.default_rng(0)
    sizes = {"hidden": 5, "inputs": 3, "context": 6}
    return {
        f"decoded_{name}": rng.normal(size=(2, 4, size)).astype("float32")
        for name, size in sizes.items()
    }


def test_is_the_hidden_state(inputs_readout):
    features = Readout()(**helpers.arguments(inputs_readout))
    helpers.assert_close(features, inputs_readout["decoded_hidden"])


def test_is_the_parts_in_their_order(inputs_readout):
    features = Readout(("context", "hidden"))(
        **helpers.arguments(inputs_readout)
    )
    expected = [
        inputs_readout["decoded_context"],
        inputs_readout["decoded_hidden"],
    ]
    helpers.assert_close(features, np.concatenate(expected, axis=-1))


def test_drops_in_training_only_of_readout():
    decoded = {"hidden": np.ones((2, 10, 50), "float32")}
    layer = Readout(dropout=0.5, seed=3)
    helpers.assert_close(layer(decoded), decoded["hidden"])
    dropped = helpers.to_numpy(layer(decoded, training=True))
    assert 0.3 < (dropped == 0).mean() < 0.7
    helpers.assert_close(dropped[dropped != 0], np.full((dropped > 0).sum(), 2))


@pytest.fixture
def inputs_deep_output():
    rng = np.random.default_rng(0)
    sizes = {"decoded_hidden": 5, "decoded_inputs": 3, "decoded_context": 6}
    return {
        name: rng.normal(size=(2, 4, size)).astype("float32")
        for name, size in sizes.items()
    }


def test_follows_the_equation(inputs_deep_output):
    layer = DeepOutput(7)
    layer(**helpers.arguments(inputs_deep_output))
    total = 0
    for i, (projection, x) in enumerate(
        zip(layer.projections, inputs_deep_output.values())
    ):
        projection.bias.assign(np.full(7, i - 0.5))
        total += x @ ops.convert_to_numpy(projection.kernel) + i - 0.5
    helpers.assert_close(
        layer(**helpers.arguments(inputs_deep_output)), np.tanh(total)
    )


def test_drops_in_training_only_of_deep_output(inputs_deep_output):
    layer = DeepOutput(50, dropout=0.5)
    expected = layer(**helpers.arguments(inputs_deep_output))
    helpers.assert_close(
        layer(**helpers.arguments(inputs_deep_output)), expected
    )
    dropped = helpers.to_numpy(
        layer(**helpers.arguments(inputs_deep_output), training=True)
    )
    kept = dropped != 0
    assert 0.3 < kept.mean() < 0.7
    helpers.assert_close(dropped[kept], 2 * helpers.to_numpy(expected)[kept])


def test_projections_of_one_size_start_with_weights_of_their_own():
    """One initializer for all would draw the same numbers for each."""
    rng = np.random.default_rng(0)
    inputs_deep_output = {
        f"decoded_{name}": rng.normal(size=(2, 4, 5)).astype("float32")
        for name in ("hidden", "inputs", "context")
    }
    layer = DeepOutput(7)
    layer(**helpers.arguments(inputs_deep_output))
    kernels = [ops.convert_to_numpy(x.kernel) for x in layer.projections]
    assert not np.isclose(kernels[0], kernels[1]).any()
    assert not np.isclose(kernels[1], kernels[2]).any()


def make_inputs():
    rng = np.random.default_rng(0)
    return {
        f"decoded_{name}": rng.normal(size=(2, 3, size)).astype("float32")
        for name, size in (("hidden", 4), ("context", 5))
    }


def test_is_linear_in_hidden_state_and_context():
    layer, inputs = OutputProjection(7), make_inputs()
    outputs = layer(**helpers.arguments(inputs))
    layer.projection.bias.assign(np.arange(7))
    both = np.concatenate(list(inputs.values()), -1)
    expected = both @ ops.convert_to_numpy(layer.projection.kernel)
    helpers.assert_close(outputs, expected)
    outputs = layer(**helpers.arguments(inputs))
    helpers.assert_close(outputs, expected + np.arange(7))


def test_drops_in_training_only_of_output_projection():
    layer, inputs = OutputProjection(50, dropout=0.5), make_inputs()
    arguments = helpers.arguments(inputs)
    expected = helpers.to_numpy(layer(**arguments))
    dropped = helpers.to_numpy(layer(**arguments, training=True))
    kept = dropped != 0
    assert 0.3 < kept.mean() < 0.7
    helpers.assert_close(dropped[kept], 2 * expected[kept])
