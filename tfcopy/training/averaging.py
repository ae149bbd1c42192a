"""Averages of weights: moving ones, and means of those of several scores."""

import contextlib

import numpy as np

from tfcopy import keras_internals


class MovingAverage:
    """The moving average of a model's weights that its optimizer keeps.

    It does so with Keras's `use_ema`; otherwise there is none. It is in the
    optimizer's variables, and so in checkpoints, and updated once an update.

    Args:
        model: Keras model.
        optimizer: Its optimizer, built.
    """

    def __init__(self, model, optimizer):
        self._model = model
        self._optimizer = optimizer
        averages = keras_internals.moving_averages(optimizer)
        self._averages = dict(zip(map(id, model.trainable_variables), averages))

    @property
    def exists(self):
        """Whether there is one: there is none before the first update."""
        return bool(self._averages) and self._optimizer.iterations.numpy() > 0

    def variables(self):
        """The model's weights in their order, averages instead of some."""
        averages = self._averages if self.exists else {}
        return [averages.get(id(w), w) for w in self._model.weights]

    @contextlib.contextmanager
    def used(self):
        """Context in which the model has the average of its weights."""
        if not self.exists:
            yield
            return
        with replaced(self._model, [x.numpy() for x in self.variables()]):
            yield

    def use(self):
        """Gives the model the average of its weights, if there is one."""
        self._model.set_weights([x.numpy() for x in self.variables()])


@contextlib.contextmanager
def replaced(model, weights):
    """Context in which a model has other weights, as `set_weights` takes."""
    own = model.get_weights()
    model.set_weights(weights)
    try:
        yield
    finally:
        model.set_weights(own)


def mean_weights(several):
    """The mean of several lists of weights, each weight computed in float64.

    Integers are those of the last.

    Args:
        several: Lists of arrays, all of the same shapes.
    """

    def mean(arrays):
        last = arrays[-1]
        if last.dtype.kind in "iub":
            return last
        total = sum(array.astype(np.float64) for array in arrays)
        return (total / len(arrays)).astype(last.dtype)

    return [mean(arrays) for arrays in zip(*several, strict=True)]
