"""Training on a CPU, on GPUs and on several machines."""

from tfcopy.training.checkpoints import CheckpointError, Checkpoints
from tfcopy.training.compilation import is_worth_compiling
from tfcopy.training.distribution import (
    choose_strategy,
    set_precision,
    strategy_of,
)
from tfcopy.training.interruption import TrainingInterrupted
from tfcopy.training.learning_rates import InverseSquareRoot, WarmUp
from tfcopy.training.optimizers import Adam
from tfcopy.training.phases import Phase, anneal
from tfcopy.training.projector import log_embeddings
from tfcopy.training.targets import Targets
from tfcopy.training.tensorboard import log_examples
from tfcopy.training.train_step import TrainStep
from tfcopy.training.trainer import Trainer
from tfcopy.training.training_loop import TrainingDiverged
from tfcopy.training.training_options import Options
from tfcopy.training.training_results import Evaluation, Result
from tfcopy.training.warm_start import warm_start
