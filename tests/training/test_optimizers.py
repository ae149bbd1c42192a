import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.optimizers.schedules import ExponentialDecay

from tests.training.running import assert_close
from tfcopy import training
from tfcopy.training.train_step import clip, densify


def train(optimizer, steps=30, dtype="float32"):
    """Returns the weights after some updates with the same gradients."""
    rng = np.random.default_rng(0)
    shapes = [(5, 3), (7,), ()]
    variables = [
        keras.Variable(rng.normal(size=shape), dtype=dtype) for shape in shapes
    ]
    optimizer.build(variables)

    @tf.function(autograph=False)
    def update(gradients):
        optimizer.apply(gradients, variables)

    for _ in range(steps):
        update([tf.constant(rng.normal(size=s), dtype) for s in shapes])
    return [variable.numpy() for variable in variables]


@pytest.mark.parametrize(
    "options",
    [
        {"learning_rate": ExponentialDecay(0.02, 5, 0.5)},
        {},
        {"beta_1": 0.8, "beta_2": 0.98, "epsilon": 1e-4},
        {"weight_decay": 0.01},
        {"amsgrad": True},
    ],
)
def test_adam_equals_that_of_keras(options):
    options = {"learning_rate": 0.01, **options}
    fused = train(training.Adam(**options))
    plain = train(keras.optimizers.Adam(**options))
    assert_close(fused, plain, atol=1e-6)


def test_adam_comes_back_from_its_config():
    optimizer = training.Adam(0.3, beta_1=0.7)
    config = keras.optimizers.serialize(optimizer)
    copy = keras.optimizers.deserialize(config)
    assert type(copy) is training.Adam
    assert copy.get_config() == optimizer.get_config()


def test_densify_adds_up_rows():
    slices = tf.IndexedSlices(
        tf.constant([[1.0], [2.0], [4.0]]),
        tf.constant([2, 0, 2]),
        tf.constant([4, 1]),
    )
    expected = [[2.0], [0.0], [5.0], [0.0]]
    np.testing.assert_array_equal(densify(slices), expected)


@pytest.mark.parametrize("clip_norm, factor", [(2.5, 0.5), (6.0, 1.0)])
def test_clip_scales_to_the_norm(clip_norm, factor):
    gradients = [tf.constant([3.0]), tf.constant([[4.0]])]
    clipped = clip(gradients, tf.linalg.global_norm(gradients), clip_norm)
    np.testing.assert_allclose(clipped[0], [3 * factor])
    np.testing.assert_allclose(clipped[1], [[4 * factor]])
