"""Trainer: its options, dev scores, checkpoints, progress and TensorBoard."""

import dataclasses
import os
from contextlib import closing

import keras
import numpy as np
import tensorflow as tf

from tfcopy.training.checkpoint_arrays import seed_states
from tfcopy.training.checkpoints import Checkpoints
from tfcopy.training.distribution import Replicas, strategy_of
from tfcopy.training.reports import Progress, Reports
from tfcopy.training.saver import Saver, State
from tfcopy.training.schedule import Schedule, check_optimizer
from tfcopy.training.scoring import Scorer
from tfcopy.training.tensorboard import EventLog
from tfcopy.training.train_step import Objective, Targets, TrainStep
from tfcopy.training.training_loop import TrainingLoop
from tfcopy.training.training_results import Result
from tfcopy.training.updates import Updates


@dataclasses.dataclass(frozen=True)
class Options:
    """Options of training.

    ```python
    training.Options(epochs=20, patience=3, clip_norm=1.0)
    ```

    Attributes:
        steps: Maximum number of updates.
        epochs: Maximum number of passes over the training data. Either `steps`
            or `epochs` is needed; with both, training ends at the first limit.
        accumulate: Number of batches per replica in one update.
        targets: Name of the tensor of a batch that contains the targets. In a
            tensor of token ids, `(B, T)`, such as `target_ids`, all but padding
            count; in a tensor `(B,)`, such as a class, each example counts
            once.
        normalize: Divisor of the summed loss of an update: its target "tokens"
            or its "sentences"; or "examples", for the mean over the sentences
            of each one's mean over its tokens. All three are equal if each
            example has one target.
        clip_norm: Maximum global norm of the gradients; `None` for no limit.
        eval_every: Updates between two dev scores; `None` for once an epoch.
        score: Name of the dev score that selects the best weights, from the
            trainer's `metrics` or `score_predictions`; `None` for the loss.
        lower_is_better: Whether a lower `score` is better.
        patience: Number of dev scores without improvement after which training
            ends; `None` for never.
        plateau: Number of dev scores without improvement after which the
            learning rate, which must be a number, is halved; `None` for never.
        average: Whether training ends with the mean of several weights: the
            `average_of` "last" ones or those with the "best" dev scores; `None`
            for the best weights. Only dev scores of the last phase count.
        average_of: Maximum number of weights to average.
        seed: Seed of dropout and noise.
        save_every: Updates between two checkpoints.
        save_seconds: Seconds after which a checkpoint is written, too.
        log_every: Updates between two points in TensorBoard.
        jit_compile: Whether XLA compiles loss and gradients; by default if
            there is a GPU and all layers support it.
        fresh: Whether to remove the files of an earlier run from the folder.
        identity: Dict of strings, such as a hash of the vocabulary, that must
            be the same when a run is resumed.
        batches: Dict of strings on which the batches depend, such as whether
            XLA compiles; checked as `identity` is, except if the run has ended.
        progress_seconds: Seconds between two lines without a terminal.
        verbose: `False` for no progress.
    """

    steps: int | None = None
    epochs: int | None = None
    accumulate: int = 1
    targets: str = "target_ids"
    normalize: str = "tokens"
    clip_norm: float | None = None
    eval_every: int | None = None
    score: str | None = None
    lower_is_better: bool = False
    patience: int | None = None
    plateau: int | None = None
    average: str | None = None
    average_of: int = 5
    seed: int = 0
    save_every: int = 1000
    save_seconds: float = 600
    log_every: int = 50
    jit_compile: bool | None = None
    fresh: bool = False
    identity: dict = dataclasses.field(default_factory=dict)
    batches: dict = dataclasses.field(default_factory=dict)
    progress_seconds: float = 10
    verbose: bool = True

    def __post_init__(self):
        if self.steps is None and self.epochs is None:
            raise ValueError(
                "`steps` or `epochs` must be given. Received: neither."
            )
        if self.normalize not in ("tokens", "sentences", "examples"):
            raise ValueError(
                '`normalize` must be "tokens", "sentences" or "examples". '
                f"Received: normalize={self.normalize!r}."
            )
        if self.average not in (None, "last", "best"):
            raise ValueError(
                '`average` must be None, "last" or "best". '
                f"Received: average={self.average!r}."
            )
        for name in (
            "accumulate",
            "save_every",
            "log_every",
            "eval_every",
            "plateau",
            "average_of",
        ):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(
                    f"`{name}` must be at least 1. Received: {name}={value}."
                )


class Trainer:
    """Trainer of a model, for a number of updates or until it stops improving.

    A repeated command resumes its run: `fit` continues from the newest
    checkpoint in `<log_dir>/checkpoints`. It ends with the same weights as
    without interruption, bit for bit on a CPU. A finished run only loads its
    best weights.

    ```python
    trainer = training.Trainer(
        model, losses.marginal_copy_loss, training.Adam(1e-3), batches,
        epochs=2,
        log_dir="run", verbose=False,
    )
    result = trainer.fit()  # resumes if it was interrupted
    ```

    Args:
        model: Keras model of a dict of inputs that returns a
            `CopyDistribution`, built under the scope of the strategy.
        loss: Callable `(batch, distribution)` that returns the negative log
            likelihood of each target, of shape `(B, T)`; `(B, 1)` if each
            example has one target, which the option `targets` names. It may
            also return a pair of this and a penalty, as `LabelSmoothing` does.
        optimizer: Keras optimizer, made under the same scope, or its name.
        train_data: `tf.data.Dataset` of dicts of tensors, the batches of an
            epoch, each for one replica, the same in each epoch. Or a callable
            `(epoch, start_batch, context)` that returns such a dataset, from
            batch `start_batch` on. Epochs may then differ, and a resumed epoch
            begins in the middle. Neither shards.
        dev_data: Dataset of such batches, or a callable that returns one.
        log_dir: Folder for events and checkpoints; `None` for neither.
        metrics: Optional callable `(batch, distribution)` that returns a dict
            of scalars, means over the targets.
        score_predictions: Optional callable for scores that are not means over
            targets, such as the exact match of texts. It is called at each dev
            score with an iterator over `(batch, distribution)`, the predictions
            for all of `dev_data` in order (see `predict`), and returns a dict
            of numbers.
        on_eval: Optional callable `(update, writer)`, called after each dev
            score on the first worker; `writer` is a `tf.summary` writer.
        penalty: Optional callable like `loss`, added to the cost of each
            target. Dev scores are compared by the sum of both, unless `score`
            is set. The perplexity is computed from the loss only.
        phases: `Phase`s, in the order of their starts.
        **options: The fields of `Options`.
    """

    def __init__(
        self,
        model,
        loss,
        optimizer,
        train_data,
        dev_data=None,
        log_dir=None,
        metrics=None,
        on_eval=None,
        penalty=None,
        phases=(),
        score_predictions=None,
        **options,
    ):
        self.options = Options(**options)
        if self.options.average and dev_data is None:
            raise ValueError(
                "`average` needs `dev_data`: it averages the weights of dev "
                f"scores. Received: average={self.options.average!r}."
            )
        self.model = model
        self.loss = loss
        self.metrics = metrics
        self.on_eval = on_eval
        self.penalty = penalty
        self.train_data = _epochs(train_data)
        self.dev_data = dev_data
        self.state = State()
        self.replicas = Replicas(strategy_of(model))
        if isinstance(optimizer, str):
            with self.replicas.strategy.scope():
                optimizer = keras.optimizers.get(optimizer)
        self.seed_states = seed_states(model)
        self._log_dir = log_dir and os.fspath(log_dir)
        self._step = None
        self.optimizer = optimizer
        check_optimizer(optimizer, self.replicas.strategy)
        with self.replicas.strategy.scope():
            optimizer.build(model.trainable_variables)
        self.progress = Progress(
            total=self.options.steps,
            interval=self.options.progress_seconds,
            enabled=self.options.verbose and self.replicas.is_chief,
        )
        self.checkpoints = log_dir and Checkpoints(
            os.path.join(self._log_dir, "checkpoints"),
            report=self.progress.report,
        )
        self.scorer = Scorer(
            self.step_for,
            self.replicas,
            dev_data,
            score_predictions,
            self.options.score,
        )
        self.schedule = Schedule(
            self.options, phases, optimizer, has_dev_data=dev_data is not None
        )
        self.saver = Saver(
            self.checkpoints,
            model,
            optimizer,
            self.options,
            is_writer=self.replicas.is_chief,
            report=self.progress.report,
        )

    def fit(self):
        """Trains, or resumes training.

        Returns:
            A `Result`. The model has the weights of the best dev score, or
            the last ones without dev data; with the option `average` the mean
            of several. If the optimizer keeps a moving average (`use_ema`),
            each of these weights is the moving average.

        Raises:
            TrainingInterrupted: After Ctrl-C, SIGTERM or SIGHUP, once the run
                is saved.
            TrainingDiverged: If loss or gradients are not finite.
            CheckpointError: If a checkpoint cannot be used.
            RuntimeError: If another worker has ended or cannot be reached.
        """
        self.state = state = self.saver.resume() or self.state
        if self.dev_data is None:
            state.evaluation_due = False
        with self.replicas.others_needed(self.saver.last_checkpoint):
            is_finished = self.schedule.is_finished(state)
            if not is_finished:
                self.saver.check_batches()
                self.saver.forget_average(state)
            if (
                not is_finished
                or state.evaluation_due
                or self.schedule.is_average_due(state)
            ):
                with closing(self.progress), closing(self._events()) as events:
                    self._loop(events).run()
            # All workers wait until the first one has written its files.
            self.replicas.sum_over_workers(np.zeros(1))
        self.saver.use_final(state)
        return Result.from_state(state)

    def evaluate(self, data, cancelled=lambda: False):
        """Scores the model on a dataset of batches.

        Args:
            data: Dataset of batches, or a callable that returns one.
            cancelled: Optional callable; scoring ends once it returns `True`.

        Returns:
            An `Evaluation`, or `None` if cancelled.
        """
        return self.scorer.evaluate(data, cancelled)

    def predict(self, data):
        """Runs the model, without dropout, over a dataset of batches.

        Each process runs it over the whole dataset, on one device.

        Args:
            data: Dataset of batches, or a callable that returns one.

        Yields:
            `(batch, distribution)`, the model's input and output.
        """
        return self.scorer.predict(data)

    def step_for(self, element_spec):
        """Returns the `TrainStep`, which the first call makes.

        Args:
            element_spec: Dict of `tf.TensorSpec`, the spec of a batch.
        """
        if self._step is None:
            self._step = TrainStep(
                Objective(
                    self.model,
                    self.loss,
                    Targets(self.options.targets, element_spec),
                    self.penalty,
                    self.metrics,
                    by_example=self.options.normalize == "examples",
                ),
                self.optimizer,
                element_spec,
                self.replicas,
                self.options,
                self.seed_states,
                self.progress.report,
            )
        return self._step

    def _events(self):
        """Returns the event log of the run, written by the first worker."""
        return EventLog(
            self._log_dir if self.replicas.is_chief else None,
            # Dev scores that are due may have been logged before the end.
            first_step=self.state.update + (not self.state.evaluation_due),
            fresh=self.options.fresh,
            report=self.progress.report,
        )

    def _loop(self, events):
        """Returns the loop from the current state to the end."""
        on_eval = self.on_eval if self.replicas.is_chief else None
        reports = Reports(
            self.progress, events, self.options, self.optimizer, on_eval=on_eval
        )
        return TrainingLoop(
            self.state,
            Updates(
                self.train_data, self.step_for, self.replicas, self.options
            ),
            self.scorer,
            self.schedule,
            self.saver,
            reports,
        )


def _epochs(train_data):
    """Returns a callable for all epochs, if necessary from a dataset of one."""
    if not isinstance(train_data, tf.data.Dataset):
        return train_data
    return lambda epoch, start_batch, context: train_data.skip(start_batch)
