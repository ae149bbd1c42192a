"""The optimizers that the flags can ask for."""

import keras

from tfcopy import training
from tfcopy.experiments.config import TrainingConfig


def make_optimizer(config: TrainingConfig, model, steps=None):
    """The optimizer that the flags ask for, under the scope of a model.

    Args:
        config: The flags; with a `schedule` of "linear" the learning rate
            falls to zero.
        model: The Keras model that is to be trained.
        steps: Number of updates after which the learning rate is zero.
    """
    with training.strategy_of(model).scope():
        rate = config.learning_rate
        if config.schedule == "linear":
            rate = keras.optimizers.schedules.PolynomialDecay(rate, steps, 0.0)
        if config.optimizer == "adam":
            return training.Adam(rate)
        if config.optimizer == "adagrad":
            return keras.optimizers.Adagrad(rate, initial_accumulator_value=0.1)
        return keras.optimizers.Adadelta(rate, rho=0.95, epsilon=1e-6)
