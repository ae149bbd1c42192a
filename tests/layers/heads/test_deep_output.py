import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import DeepOutput


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    sizes = {"decoded_hidden": 5, "decoded_inputs": 3, "decoded_context": 6}
    return {
        name: rng.normal(size=(2, 4, size)).astype("float32")
        for name, size in sizes.items()
    }


def test_layer_contract(inputs):
    helpers.check_layer(
        DeepOutput(7, dropout=0.5, seed=3),
        inputs,
        output_shapes=(2, 4, 7),
        mixed_dtypes="bfloat16",
    )


def test_follows_the_equation(inputs):
    layer = DeepOutput(7)
    layer(**helpers.arguments(inputs))
    total = 0
    for i, (projection, x) in enumerate(
        zip(layer.projections, inputs.values())
    ):
        projection.bias.assign(np.full(7, i - 0.5))
        total += x @ ops.convert_to_numpy(projection.kernel) + i - 0.5
    helpers.assert_close(layer(**helpers.arguments(inputs)), np.tanh(total))


def test_drops_in_training_only(inputs):
    layer = DeepOutput(50, dropout=0.5)
    expected = layer(**helpers.arguments(inputs))
    helpers.assert_close(layer(**helpers.arguments(inputs)), expected)
    dropped = helpers.to_numpy(
        layer(**helpers.arguments(inputs), training=True)
    )
    kept = dropped != 0
    assert 0.3 < kept.mean() < 0.7
    helpers.assert_close(dropped[kept], 2 * helpers.to_numpy(expected)[kept])


def test_projections_of_one_size_start_with_weights_of_their_own():
    """One initializer for all would draw the same numbers for each."""
    rng = np.random.default_rng(0)
    inputs = {
        f"decoded_{name}": rng.normal(size=(2, 4, 5)).astype("float32")
        for name in ("hidden", "inputs", "context")
    }
    layer = DeepOutput(7)
    layer(**helpers.arguments(inputs))
    kernels = [ops.convert_to_numpy(x.kernel) for x in layer.projections]
    assert not np.isclose(kernels[0], kernels[1]).any()
    assert not np.isclose(kernels[1], kernels[2]).any()
