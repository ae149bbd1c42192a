"""What the tests of all models check: saving, and that every weight learns."""

import contextlib

import keras
import numpy as np

from tests import helpers


def saved(model, folder):
    """Returns the model of a file that a model was saved in."""
    model.save(folder / "model.keras")
    return keras.saving.load_model(folder / "model.keras")


def check_learning(cost, weights, idle=()):
    """Checks that a cost has a gradient for all weights.

    Args:
        cost: Function without arguments that returns a scalar.
        weights: Of a model.
        idle: Ends of the paths of weights that may move nothing, since a
            softmax takes no notice of what all of its scores have in common.
    """
    _, _, gradients = helpers.gradients(lambda _: cost(), {}, weights)
    for weight, gradient in zip(weights, gradients, strict=True):
        assert gradient is not None, weight.path
        gradient = helpers.to_numpy(gradient)
        assert np.isfinite(gradient).all(), weight.path
        assert gradient.any() or weight.path.endswith(idle), weight.path


def without_numbers():
    """Returns a context in which weights have shapes, and no numbers.

    Millions of numbers are not drawn in a graph that never runs.
    """
    if keras.backend.backend() != "tensorflow":
        return contextlib.nullcontext()
    import tensorflow as tf

    return tf.Graph().as_default()


def count(model):
    """The number of trainable parameters."""
    return sum(int(np.prod(w.shape)) for w in model.trainable_weights)
