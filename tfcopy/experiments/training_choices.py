"""What flags choose for training, and what is reported of it.

They choose XLA, optimizer, learning rate and batches; `make_trainer` puts these
together.
"""

import dataclasses
import functools

import keras
import tensorflow as tf
from keras.optimizers import schedules

from tfcopy import training
from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.experiments.config import TrainingConfig, flags_for
from tfcopy.training import strategy_of

# Each takes XLA seconds to compile.
MAX_SHAPES = 16


def is_compiled(xla, model) -> bool:
    """Whether XLA compiles the training of a model.

    Args:
        xla: What `--xla` says.
        model: The model that is trained.
    """
    return training.is_worth_compiling(model) if xla == "auto" else xla == "on"


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
        rate = learning_rate(config, steps)
        optimizer = _OPTIMIZERS[config.optimizer](rate, **options)
        if config.weight_decay:
            vectors = [x for x in model.variables if len(x.shape) < 2]
            # Biases by name, too: a GRU's have two axes.
            optimizer.exclude_from_weight_decay(vectors, ["bias"])
        return optimizer


_OPTIMIZERS = {
    "adam": training.Adam,
    "adagrad": functools.partial(
        keras.optimizers.Adagrad, initial_accumulator_value=0.1
    ),
    "adadelta": functools.partial(
        keras.optimizers.Adadelta, rho=0.95, epsilon=1e-6
    ),
}


def make_trainer(
    config: TrainingConfig, system, loss, train_data, dev_data, **own
) -> training.Trainer:
    """The trainer of a system, with the options that the flags ask for.

    Args:
        config: The flags.
        system: `System`, whose folder keeps checkpoints and logs.
        loss: A loss of `losses`.
        train_data: As `Trainer` takes it.
        dev_data: As `Trainer` takes it.
        **own: More arguments of `Trainer`; one wins over the flags. By default
            it makes `--updates` steps with the optimizer of the flags.
    """
    steps = own.setdefault("steps", config.updates)
    if "optimizer" not in own:
        own["optimizer"] = make_optimizer(config, system.model, steps)
    options = flags_for(training.Options, config) | {
        "jit_compile": {"auto": None, "on": True, "off": False}[config.xla],
        "plateau": config.plateau if config.schedule == "plateau" else None,
        "fresh": False,  # The run has made room.
        "identity": system.identity,
    }
    return training.Trainer(
        system.trained,
        loss,
        train_data=train_data,
        dev_data=dev_data,
        log_dir=system.folder,
        **options | own,
    )


def reported(config: TrainingConfig, system, result) -> dict:
    """What results.json tells of any training.

    Args:
        config: The flags.
        system: `System`.
        result: What its training gave, a `training.Result`.

    Returns:
        Dict of `parameters`, `updates` and, of averaged weights, `averaged`.
    """
    averaged = {}
    if config.ema is not None:
        averaged["ema"] = config.ema
    if config.average is not None:
        averaged["average"] = config.average
        averaged["updates"] = result.averaged_updates
    return {
        "parameters": system.num_parameters,
        "updates": result.updates,
        **({"averaged": averaged} if averaged else {}),
    }


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


# === Embeddings for TensorBoard's projector ===


def log_word_embeddings(system, vocabularies):
    """Writes the embeddings of the source's and the target's words."""
    model = system.model
    sides = {"source": model.source_embedding, "target": model.target_embedding}
    if model.source_embedding is model.target_embedding:
        sides = {"words": model.source_embedding}
    log_tables(
        system,
        {
            side: (layer.embeddings, vocabulary.words)
            for (side, layer), vocabulary in zip(sides.items(), vocabularies)
        },
    )


def log_tables(system, tables):
    """Writes tables for the projector; a failure is only reported.

    Args:
        system: The system; nothing is written by workers but the chief.
        tables: Dict from a name to `(table, words)`.
    """
    if not system.is_chief:
        return
    log_dir = system.folder
    arrays = {
        name: (keras.ops.convert_to_numpy(table), words)
        for name, (table, words) in tables.items()
    }
    try:
        training.log_embeddings(log_dir, arrays)
    except (OSError, tf.errors.OpError) as error:  # only to be looked at
        reason = str(error).splitlines()[0].rpartition("; ")[2]
        print(f"Warning: {log_dir}: embeddings are not written ({reason}).")
