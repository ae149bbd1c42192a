"""The arguments of a layer are its attributes and its config."""

import keras
import numpy as np
import pytest

from tests import helpers
from tests.layers.layer_cases import MASK, B, S, V
from tfcopy import layers
from tfcopy.layers.configured import (
    Blockwise,
    Configured,
    SquareOrthogonal,
    Unmasked,
)


@keras.saving.register_keras_serializable(package="tests")
class Scaled(Configured, Unmasked):
    """An encoder's annotations times a kernel and a number."""

    layer_arguments = ("encoder",)

    def __init__(self, encoder, scale=2.0, kernel_initializer="ones", **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        self.scale = float(scale)


@keras.saving.register_keras_serializable(package="tests")
class Shifted(Scaled):
    """It keeps one argument by itself."""

    def __init__(self, encoder, shift, scale=3.0, others=(), **kwargs):
        super().__init__(encoder, scale, **kwargs)
        self.keep_arguments(locals(), "others")


@keras.saving.register_keras_serializable(package="tests")
class SharpHead(layers.PointerGeneratorHead):
    """A head of a user who does not know `keep_arguments`."""

    def __init__(self, vocabulary_size, sharpness, **kwargs):
        super().__init__(vocabulary_size, **kwargs)
        self._power = sharpness

    def get_config(self):
        return {**super().get_config(), "sharpness": self._power}


def test_arguments_are_attributes_and_config():
    encoder = layers.BidirectionalGRU(3, reset_after=False)
    layer = Scaled(encoder, 4, name="mine")
    config = layer.get_config()
    assert layer.encoder is encoder and config["name"] == "mine"
    assert type(config["scale"]) is float
    assert isinstance(layer.kernel_initializer, keras.initializers.Ones)
    assert config["kernel_initializer"]["class_name"] == "Ones"
    copy = Scaled.from_config(config)
    assert copy.get_config() == config
    assert copy.encoder.units == 3 and not copy.encoder.reset_after


def test_a_base_keeps_its_own_arguments():
    layer = Shifted(layers.BidirectionalGRU(3), 1, others=(1, 2))
    assert (layer.scale, layer.shift) == (3.0, 1)
    assert not hasattr(layer, "others")
    config = layer.get_config()
    assert not {"others", "self", "kwargs", "__class__"} & {*config}
    assert Shifted.from_config(config).get_config() == config


def test_a_config_has_what_attributes_are_now():
    layer = Scaled(layers.BidirectionalGRU(3))
    layer.scale = 5.0
    assert layer.get_config()["scale"] == 5.0


def test_a_user_writes_a_config_of_his_own():
    head = SharpHead(V, 3, switch_bias=1.5, tied=False)
    config = head.get_config()
    assert config["sharpness"] == 3 and config["switch_bias"] == 1.5
    copy = keras.saving.deserialize_keras_object(
        keras.saving.serialize_keras_object(head)
    )
    assert type(copy) is SharpHead and copy.get_config() == config


def test_a_mask_of_keras_ends_here():
    mask = keras.ops.convert_to_tensor(MASK)
    layer = layers.MaskedPooling()
    assert layer.supports_masking
    assert layer.compute_mask(keras.ops.zeros((B, S, 3)), mask) is None


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
