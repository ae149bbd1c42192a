"""Training by the flags: optimizer, learning rate, batches and results.

`make_trainer` puts them together.
"""

import dataclasses
import functools

import keras
import tensorflow as tf
from keras.optimizers import schedules

from tfcopy import training
from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.experiments.config import TrainingConfig, from_flags
from tfcopy.flags import name_flags
from tfcopy.training import strategy_of

# Each takes XLA seconds to compile.
MAX_SHAPES = 16
# Around what a `TokenLimit` refuses.
naming_batch_tokens = functools.partial(name_flags, tokens="batch_tokens")


def is_compiled(xla, model) -> bool:
    """Returns whether XLA compiles the training of a model.

    Args:
        xla: The value of `--xla`.
        model: The model that is trained.
    """
    return training.is_worth_compiling(model) if xla == "auto" else xla == "on"


def make_optimizer(config: TrainingConfig, model, steps=None):
    """Builds the optimizer of the flags, under the scope of a model.

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
        rate = make_learning_rate(
            config.schedule, config.learning_rate, config.warmup, steps
        )
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


def make_trainer(system, loss, train_data, dev_data, **own) -> training.Trainer:
    """Builds the trainer of a system, with the options of the flags.

    Args:
        system: `System`, whose folder keeps checkpoints and logs.
        loss: A loss of `losses`.
        train_data: As `Trainer` takes it.
        dev_data: As `Trainer` takes it.
        **own: More arguments of `Trainer`; one wins over the flags. By default
            it makes `--updates` steps with the optimizer of the flags.
    """
    config: TrainingConfig = system.config
    steps = own.pop("steps", config.updates)
    if "optimizer" not in own:
        own["optimizer"] = make_optimizer(config, system.model, steps)
    options = from_flags(
        training.Options,
        config,
        steps=steps,
        jit_compile={"auto": None, "on": True, "off": False}[config.xla],
        plateau=config.plateau if config.schedule == "plateau" else None,
        fresh=False,  # The run has made room.
        identity=system.identity,
    )
    return training.Trainer(
        system.trained,
        loss,
        train_data=train_data,
        dev_data=dev_data,
        log_dir=system.folder,
        **vars(options) | own,
    )


def summarize_result(system, result) -> dict:
    """Returns the results of any training for results.json.

    Args:
        system: `System`.
        result: What its training gave, a `training.Result`.

    Returns:
        Dict of `parameters`, `updates` and, of averaged weights, `averaged`.
    """
    config: TrainingConfig = system.config
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


def make_learning_rate(schedule, peak, warmup, steps=None):
    """Returns a constant or a schedule for a Keras optimizer.

    Args:
        schedule, peak, warmup: What --schedule, --learning_rate and --warmup
            say.
        steps: As in `make_optimizer`.
    """
    warmup = max(warmup, 1)
    if schedule == "plateau" and warmup > 1:
        raise ValueError("--warmup needs another --schedule than plateau.")
    rate = peak
    decay = steps and max(steps + 1 - warmup, 1)
    if schedule == "linear":
        rate = schedules.PolynomialDecay(peak, decay, 0.0)
    if schedule == "cosine":
        rate = schedules.CosineDecay(peak, decay)
    if schedule == "inverse_sqrt":
        rate = training.InverseSquareRoot(peak, warmup)
    return rate if warmup == 1 else training.WarmUp(rate, warmup)


@dataclasses.dataclass(frozen=True)
class Batching:
    """Flags of batches: `from_flags(Batching, config)`.

    Attributes:
        batch_size: Examples of a batch, over all devices.
        batch_tokens: Tokens of a batch of training instead, or `None`.
        seed: What the order of examples is drawn with.
        pool_batches: Batches whose examples are sorted by length together.
    """

    batch_size: int
    batch_tokens: int | None = None
    seed: int = 0
    pool_batches: int = 20

    def limit(self, shapes=None) -> int | TokenLimit:
        """Returns the examples of a batch, or the limit of its tokens.

        Args:
            shapes: As in `TokenLimit`.
        """
        if self.batch_tokens is None:
            return self.batch_size
        return TokenLimit(self.batch_tokens, shapes=shapes and tuple(shapes))

    def check(self, lengths):
        """Raises a ValueError if `--batch_tokens` holds no training example.

        Args:
            lengths: Arrays of the lengths of texts, a number for each example.
        """
        if self.batch_tokens is not None:
            with naming_batch_tokens():
                self.limit().check(lengths)

    def check_devices(self, count):
        """Raises a ValueError if devices cannot share a batch evenly."""
        if self.batch_tokens is None and self.batch_size % count:
            raise ValueError(
                f"--batch_size must be a multiple of {count}, the number of "
                f"devices. Received: {self.batch_size}."
            )

    def cap(self, model, examples) -> "Batching":
        """Caps `--batch_size` at the number of training examples.

        It prints a line if the flag is larger.

        Args:
            model: The Keras model, whose devices share a batch evenly.
            examples: The number of examples to train on.

        Raises:
            ValueError: naming `--devices`, if there are more of them.
        """
        devices = strategy_of(model).num_replicas_in_sync
        size = examples // devices * devices
        if self.batch_tokens is not None or self.batch_size <= size:
            return self
        if not size:
            raise ValueError(
                f"--devices must be at most {examples}, the number of examples "
                f"to train on. Received: {devices}."
            )
        print(
            f"--batch_size {self.batch_size} is more than the {examples:,} "
            f"examples to train on: a batch has {size:,}."
        )
        return dataclasses.replace(self, batch_size=size)

    def depend_on(self, is_compiled: bool) -> dict:
        """Returns the batching that must stay the same in a resumed run.

        Where XLA compiles, `TokenLimit` has shapes, and so other batches.

        Args:
            is_compiled: Whether XLA compiles training.
        """
        if self.batch_tokens is None:
            return {}
        return {"--xla with --batch_tokens": "on" if is_compiled else "off"}


def make_trainer_data(make):
    """Returns training data in the form that `Trainer` takes.

    Args:
        make: Function of an epoch, its `start_batch` and `num_replicas` that
            returns a dataset.
    """

    def make_batches(epoch, start_batch, context):
        replicas = context.num_replicas_in_sync
        start = start_batch // replicas
        with naming_batch_tokens():
            return make(epoch=epoch, start_batch=start, num_replicas=replicas)

    return make_batches


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
