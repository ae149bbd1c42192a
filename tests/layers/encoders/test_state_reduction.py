import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import StateReduction


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    return {
        "annotations": rng.normal(size=(2, 4, 6)).astype("float32"),
        "mask": np.array([[True] * 4, [True, True, False, False]]),
        "final": rng.normal(size=(2, 12)).astype("float32"),
    }


@pytest.mark.parametrize("parts", [1, 2, 3])
def test_layer_contract(inputs, parts):
    helpers.check_layer(
        StateReduction(5, parts, "tanh"),
        inputs,
        output_shapes=(2, parts * 5),
        padded={"mask": ["annotations"]},
    )


def test_each_part_has_its_own_projection(inputs):
    layer = StateReduction(5)
    layer(**inputs)
    parts = np.split(inputs["final"], 2, axis=-1)
    expected = []
    for i, (part, reduction) in enumerate(zip(parts, layer.reductions)):
        reduction.bias.assign(np.arange(5.0) - i)
        kernel = ops.convert_to_numpy(reduction.kernel)
        expected.append(np.maximum(part @ kernel + np.arange(5) - i, 0))
    state = layer(**inputs)
    helpers.assert_close(state, np.concatenate(expected, axis=-1))
    assert ops.convert_to_numpy(state).any()


@pytest.mark.parametrize("seed", [None, 7])
def test_parts_start_with_different_values(inputs, seed):
    normal = keras.initializers.TruncatedNormal(stddev=1e-4, seed=seed)
    layer = StateReduction(
        5, kernel_initializer=normal, bias_initializer=normal
    )
    layer(**inputs)
    for name in ("kernel", "bias"):
        first, second = (
            ops.convert_to_numpy(getattr(reduction, name))
            for reduction in layer.reductions
        )
        assert (first != second).all()
        assert 0 < np.abs(first).max() < 3e-4


def test_number_of_parameters_is_that_of_the_paper():
    layer = StateReduction(256)
    layer.build((None, None, 512), final_shape=(None, 1024))
    assert layer.count_params() == 262_656


def test_state_must_be_divisible(inputs):
    with pytest.raises(ValueError, match="a multiple of parts=5"):
        StateReduction(5, parts=5)(**inputs)
