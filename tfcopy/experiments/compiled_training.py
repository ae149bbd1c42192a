"""Whether XLA compiles the training of a system, and for how many shapes."""

from tfcopy import training
from tfcopy.experiments.config import TrainingConfig

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
