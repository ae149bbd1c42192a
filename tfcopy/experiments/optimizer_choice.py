"""The optimizers and learning rates that the flags can ask for."""

import keras
from keras.optimizers import schedules

from tfcopy import training
from tfcopy.experiments.config import TrainingConfig


def make_optimizer(config: TrainingConfig, model, steps=None):
    """The optimizer that the flags ask for, under the scope of a model.

    Args:
        config: The flags.
        model: The Keras model that is to be trained.
        steps: Number of updates after which a learning rate that falls to
            zero is zero.
    """
    options = {}
    if config.ema is not None:
        options = {"use_ema": True, "ema_momentum": config.ema}
    if config.weight_decay:
        options["weight_decay"] = config.weight_decay
    with training.strategy_of(model).scope():
        optimizer = _optimizer(config, learning_rate(config, steps), options)
        if config.weight_decay:
            vectors = [x for x in model.variables if len(x.shape) < 2]
            # Biases by name, too: a GRU's have two axes.
            optimizer.exclude_from_weight_decay(vectors, ["bias"])
        return optimizer


def _optimizer(config, rate, options):
    if config.optimizer == "adam":
        return training.Adam(rate, **options)
    if config.optimizer == "adagrad":
        return keras.optimizers.Adagrad(
            rate, initial_accumulator_value=0.1, **options
        )
    return keras.optimizers.Adadelta(rate, rho=0.95, epsilon=1e-6, **options)


def averaged(config: TrainingConfig, result) -> dict:
    """How a system's weights were averaged, for results.json.

    Args:
        config: The flags.
        result: What its training gave, a `training.Result`.

    Returns:
        Dict with `averaged`; empty if they were not.
    """
    found = {}
    if config.ema is not None:
        found["ema"] = config.ema
    if config.average is not None:
        found["average"] = config.average
        found["updates"] = result.averaged_updates
    return {"averaged": found} if found else {}


def learning_rate(config: TrainingConfig, steps=None):
    """A constant or a schedule, as Keras's optimizers take them.

    Args:
        config: The flags.
        steps: As in `make_optimizer`.
    """
    peak, warmup = config.learning_rate, max(config.warmup, 1)
    if config.schedule == "plateau" and warmup > 1:
        raise ValueError("--warmup needs another --schedule than plateau.")
    rate = peak
    decay = steps and max(steps + 1 - warmup, 1)
    if config.schedule == "linear":
        rate = schedules.PolynomialDecay(peak, decay, 0.0)
    if config.schedule == "cosine":
        rate = schedules.CosineDecay(peak, decay)
    if config.schedule == "inverse_sqrt":
        rate = training.InverseSquareRoot(peak, warmup)
    return rate if warmup == 1 else training.WarmUp(rate, warmup)
