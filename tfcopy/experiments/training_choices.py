"""What flags choose for training: XLA, optimizer, learning rate, batches."""

import dataclasses

import keras
from keras.optimizers import schedules

from tfcopy import training
from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.experiments.config import TrainingConfig
from tfcopy.training import strategy_of

# Each takes XLA seconds to compile.
MAX_SHAPES = 16


def is_compiled(config: TrainingConfig, model) -> bool:
    """Whether XLA compiles the training of a model.

    Args:
        config: The flags, of which `--xla` is read.
        model: The model that is trained.
    """
    if config.xla == "auto":
        return training.is_worth_compiling(model)
    return config.xla == "on"


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


def batch_limit(
    config: TrainingConfig, *, multiple=1, shapes=None
) -> int | TokenLimit:
    """The examples of a batch, or the limit of its tokens.

    Args:
        config: The flags.
        multiple, shapes: As in `TokenLimit`.
    """
    if config.batch_tokens is None:
        return config.batch_size
    return TokenLimit(config.batch_tokens, multiple, shapes)


def capped(config: TrainingConfig, model, examples):
    """The flags with a `--batch_size` that the training data fill.

    It is told if that is less than what the flag says.

    Args:
        config: The flags.
        model: The Keras model, whose devices share a batch evenly.
        examples: The number of examples to train on.

    Raises:
        ValueError: naming `--devices`, if there are more of them.
    """
    devices = strategy_of(model).num_replicas_in_sync
    size = examples // devices * devices
    if config.batch_tokens is not None or config.batch_size <= size:
        return config
    if not size:
        raise ValueError(
            f"--devices must be at most {examples}, the number of examples "
            f"to train on. Received: {devices}."
        )
    print(
        f"--batch_size {config.batch_size} is more than the {examples:,} "
        f"examples to train on: a batch has {size:,}."
    )
    return dataclasses.replace(config, batch_size=size)


def batches_depend_on(config: TrainingConfig, is_compiled: bool) -> dict:
    """What must stay the same when training is resumed, or the batches change.

    Where XLA compiles, `TokenLimit` has shapes, and so other batches.

    Args:
        config: The flags.
        is_compiled: Whether XLA compiles training.
    """
    if config.batch_tokens is None:
        return {}
    return {"--xla with --batch_tokens": "on" if is_compiled else "off"}
