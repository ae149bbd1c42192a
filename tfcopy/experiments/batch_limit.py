"""How much a batch holds: `--batch_size`, or `--batch_tokens`."""

from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.experiments.config import TrainingConfig


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
