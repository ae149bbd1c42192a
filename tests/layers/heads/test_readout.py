import numpy as np
import pytest

from tests import helpers
from tfcopy.layers.heads.readout import Readout


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    sizes = {"hidden": 5, "inputs": 3, "context": 6}
    return {
        f"decoded_{name}": rng.normal(size=(2, 4, size)).astype("float32")
        for name, size in sizes.items()
    }


@pytest.mark.parametrize(
    "parts, size",
    [(("hidden",), 5), (("hidden", "context", "inputs"), 14)],
)
def test_layer_contract(inputs, parts, size):
    helpers.check_layer(
        Readout(parts, dropout=0.5, seed=3),
        inputs,
        output_shapes=(2, 4, size),
        mixed_dtypes="bfloat16",
    )


def test_is_the_hidden_state(inputs):
    features = Readout()(**helpers.arguments(inputs))
    helpers.assert_close(features, inputs["decoded_hidden"])


def test_is_the_parts_in_their_order(inputs):
    features = Readout(("context", "hidden"))(**helpers.arguments(inputs))
    expected = [inputs["decoded_context"], inputs["decoded_hidden"]]
    helpers.assert_close(features, np.concatenate(expected, axis=-1))


def test_drops_in_training_only():
    decoded = {"hidden": np.ones((2, 10, 50), "float32")}
    layer = Readout(dropout=0.5, seed=3)
    helpers.assert_close(layer(decoded), decoded["hidden"])
    dropped = helpers.to_numpy(layer(decoded, training=True))
    assert 0.3 < (dropped == 0).mean() < 0.7
    helpers.assert_close(dropped[dropped != 0], np.full((dropped > 0).sum(), 2))
