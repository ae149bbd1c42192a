"""Training on a CPU, on GPUs or on several machines.

Examples of the parts continue this one:

```python
import numpy as np
import tensorflow as tf
from tfcopy import losses, models, training

model = models.copynet(9, 9, embedding_dim=4, units=4)
batch = {
    "source_ids": np.array([[5, 1, 6, 3]], "int32"),
    "source_copy_ids": np.array([[5, 10, 6, -1]], "int32"),
    "target_ids": np.array([[10, 5, 3]], "int32"),
}
batches = tf.data.Dataset.from_tensors(batch)
trainer = training.Trainer(
    model, losses.marginal_copy_loss, "adam", batches, epochs=1, verbose=False
)
```
"""

from tfcopy.training.checkpoints import CheckpointError, Checkpoints
from tfcopy.training.distribution import choose_strategy, strategy_of
from tfcopy.training.schedule import (
    Adam,
    InverseSquareRoot,
    Phase,
    WarmUp,
    anneal,
)
from tfcopy.training.tensorboard import log_embeddings, log_examples
from tfcopy.training.train_step import Targets, TrainStep, is_worth_compiling
from tfcopy.training.trainer import Options, Trainer
from tfcopy.training.training_loop import TrainingDiverged, TrainingInterrupted
from tfcopy.training.training_results import Evaluation, Result
from tfcopy.training.warm_start import warm_start

__all__ = [
    "Adam",
    "CheckpointError",
    "Checkpoints",
    "Evaluation",
    "InverseSquareRoot",
    "Options",
    "Phase",
    "Result",
    "Targets",
    "TrainStep",
    "Trainer",
    "TrainingDiverged",
    "TrainingInterrupted",
    "WarmUp",
    "anneal",
    "choose_strategy",
    "is_worth_compiling",
    "log_embeddings",
    "log_examples",
    "strategy_of",
    "warm_start",
]
