"""Training on a CPU, on GPUs or on several machines."""

from tfcopy.training.checkpoints import CheckpointError, Checkpoints
from tfcopy.training.distribution import choose_strategy, strategy_of
from tfcopy.training.optimizers import Adam
from tfcopy.training.schedule import InverseSquareRoot, Phase, WarmUp, anneal
from tfcopy.training.tensorboard import log_embeddings, log_examples
from tfcopy.training.train_step import Targets, TrainStep, is_worth_compiling
from tfcopy.training.trainer import Options, Trainer
from tfcopy.training.training_loop import TrainingDiverged, TrainingInterrupted
from tfcopy.training.training_results import Evaluation, Result
from tfcopy.training.warm_start import warm_start
