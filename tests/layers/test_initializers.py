import keras
import numpy as np
import pytest

from tests import helpers
from tfcopy.layers.initializers import Blockwise, SquareOrthogonal


def test_blocks_are_orthogonal_and_differ():
    kernel = helpers.to_numpy(Blockwise("orthogonal", 3)((4, 12)))
    blocks = np.split(kernel, 3, axis=-1)
    for block in blocks:
        helpers.assert_close(block @ block.T, np.eye(4))
    assert len({block.tobytes() for block in blocks}) == 3


def test_blocks_are_scaled_as_if_they_stood_alone():
    kernel = helpers.to_numpy(Blockwise("glorot_uniform", 3)((40, 120)))
    limit = np.sqrt(6 / (40 + 40))
    assert 0.98 * limit < np.abs(kernel).max() <= limit


def test_a_seed_repeats_the_kernel_but_not_the_blocks():
    initializer = keras.initializers.RandomNormal(seed=7)
    first, second = (
        helpers.to_numpy(Blockwise(initializer, 2)((3, 6))) for _ in range(2)
    )
    helpers.assert_close(first, second)
    assert np.abs(first[:, :3] - first[:, 3:]).min() > 0


def test_square_matrices_are_orthogonal_and_others_small():
    square = helpers.to_numpy(SquareOrthogonal()((50, 50)))
    helpers.assert_close(square @ square.T, np.eye(50))
    other = helpers.to_numpy(SquareOrthogonal()((50, 60)))
    assert abs(other.std() - 0.01) < 0.001
    assert abs(other.mean()) < 0.001


@pytest.mark.parametrize(
    "initializer",
    [Blockwise(SquareOrthogonal(seed=3), 2), SquareOrthogonal(0.5, seed=4)],
    ids=lambda initializer: type(initializer).__name__,
)
def test_config_round_trip(initializer):
    config = keras.saving.serialize_keras_object(initializer)
    copy = keras.saving.deserialize_keras_object(config)
    helpers.assert_close(copy((3, 8)), initializer((3, 8)))
