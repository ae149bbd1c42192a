"""How much a batch holds: `--batch_size`, or `--batch_tokens`."""

import dataclasses

from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.experiments.config import TrainingConfig
from tfcopy.training import strategy_of


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
