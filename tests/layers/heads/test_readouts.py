"""Readouts, which heads project onto the vocabulary."""

import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import DeepOutput, OutputProjection
from tfcopy.layers.heads.readouts import Readout


def make_inputs(hidden=5, inputs=3, context=6):
    rng = np.random.default_rng(0)
    sizes = {"hidden": hidden, "inputs": inputs, "context": context}
    return {
        f"decoded_{name}": rng.normal(size=(2, 4, size)).astype("float32")
        for name, size in sizes.items()
    }


def run(layer, inputs, **options):
    return layer(**helpers.arguments(inputs), **options)


def test_is_the_hidden_state():
    inputs = make_inputs()
    helpers.assert_close(run(Readout(), inputs), inputs["decoded_hidden"])


def test_is_the_parts_in_their_order():
    inputs = make_inputs()
    expected = [inputs["decoded_context"], inputs["decoded_hidden"]]
    helpers.assert_close(
        run(Readout(("context", "hidden")), inputs),
        np.concatenate(expected, axis=-1),
    )


@pytest.mark.parametrize(
    "layer",
    [
        Readout(dropout=0.5, seed=3),
        DeepOutput(50, dropout=0.5),
        OutputProjection(50, dropout=0.5),
    ],
    ids=lambda layer: layer.name,
)
def test_drops_in_training_only(layer):
    inputs = make_inputs(hidden=50)
    expected = helpers.to_numpy(run(layer, inputs))
    helpers.assert_close(run(layer, inputs), expected)
    dropped = helpers.to_numpy(run(layer, inputs, training=True))
    kept = dropped != 0
    assert 0.3 < kept.mean() < 0.7
    helpers.assert_close(dropped[kept], 2 * expected[kept])


def test_follows_the_equation():
    layer, inputs = DeepOutput(7), make_inputs()
    run(layer, inputs)
    total = 0
    for i, (projection, x) in enumerate(
        zip(layer.projections, inputs.values())
    ):
        projection.bias.assign(np.full(7, i - 0.5))
        total += x @ ops.convert_to_numpy(projection.kernel) + i - 0.5
    helpers.assert_close(run(layer, inputs), np.tanh(total))


def test_projections_of_one_size_start_with_weights_of_their_own():
    """One initializer for all would draw the same numbers for each."""
    layer = DeepOutput(7)
    run(layer, make_inputs(5, 5, 5))
    kernels = [ops.convert_to_numpy(x.kernel) for x in layer.projections]
    assert not np.isclose(kernels[0], kernels[1]).any()
    assert not np.isclose(kernels[1], kernels[2]).any()


def test_is_linear_in_hidden_state_and_context():
    layer, inputs = OutputProjection(7), make_inputs()
    outputs = run(layer, inputs)
    layer.projection.bias.assign(np.arange(7))
    both = [inputs["decoded_hidden"], inputs["decoded_context"]]
    kernel = ops.convert_to_numpy(layer.projection.kernel)
    expected = np.concatenate(both, -1) @ kernel
    helpers.assert_close(outputs, expected)
    helpers.assert_close(run(layer, inputs), expected + np.arange(7))
