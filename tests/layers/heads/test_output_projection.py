import numpy as np
from keras import ops

from tests import helpers
from tfcopy.layers import OutputProjection


def make_inputs():
    rng = np.random.default_rng(0)
    return {
        f"decoded_{name}": rng.normal(size=(2, 3, size)).astype("float32")
        for name, size in (("hidden", 4), ("context", 5))
    }


def test_layer_contract():
    helpers.check_layer(
        OutputProjection(7, dropout=0.5, seed=3),
        make_inputs(),
        output_shapes=(2, 3, 7),
        mixed_dtypes="bfloat16",
    )


def test_is_linear_in_hidden_state_and_context():
    layer, inputs = OutputProjection(7), make_inputs()
    outputs = layer(**helpers.arguments(inputs))
    layer.projection.bias.assign(np.arange(7))
    both = np.concatenate(list(inputs.values()), -1)
    expected = both @ ops.convert_to_numpy(layer.projection.kernel)
    helpers.assert_close(outputs, expected)
    outputs = layer(**helpers.arguments(inputs))
    helpers.assert_close(outputs, expected + np.arange(7))


def test_drops_in_training_only():
    layer, inputs = OutputProjection(50, dropout=0.5), make_inputs()
    arguments = helpers.arguments(inputs)
    expected = helpers.to_numpy(layer(**arguments))
    dropped = helpers.to_numpy(layer(**arguments, training=True))
    kept = dropped != 0
    assert 0.3 < kept.mean() < 0.7
    helpers.assert_close(dropped[kept], 2 * expected[kept])
