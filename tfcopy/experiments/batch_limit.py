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
