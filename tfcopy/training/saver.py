"""Saving and resuming a run, and averages of weights."""

import contextlib
import dataclasses
import math
import time

import numpy as np

from tfcopy import keras_internals
from tfcopy.training import checkpoint_arrays
from tfcopy.training.checkpoint_arrays import CheckpointError


class MovingAverage:
    """Moving average of a model's weights, from Keras's `use_ema`.

    Without `use_ema` there is no average. Its values are variables of the
    optimizer, which checkpoints contain, and they change with each update.

    Args:
        model: Keras model.
        optimizer: Its optimizer, built.
    """

    def __init__(self, model, optimizer):
        self._model = model
        self._optimizer = optimizer
        averages = keras_internals.get_moving_averages(optimizer)
        self._averages = dict(zip(map(id, model.trainable_variables), averages))

    @property
    def exists(self):
        """`True` if there are averages; `False` before the first update."""
        return bool(self._averages) and self._optimizer.iterations.numpy() > 0

    def variables(self):
        """Returns the model's weights in order, averages if there are any."""
        averages = self._averages if self.exists else {}
        variables = checkpoint_arrays.get_variables(self._model)
        return [averages.get(id(x), x) for x in variables]

    @contextlib.contextmanager
    def apply_average(self):
        """Returns a context in which the model has its averaged weights."""
        if not self.exists:
            yield
            return
        with replace(self._model, [x.numpy() for x in self.variables()]):
            yield

    def use(self):
        """Sets the model's weights to their average, if there is one."""
        values = [x.numpy() for x in self.variables()]
        checkpoint_arrays.set_values(self._model, values)


@contextlib.contextmanager
def replace(model, weights):
    """Returns a context in which a model has other weights."""
    original = checkpoint_arrays.get_values(model)
    checkpoint_arrays.set_values(model, weights)
    try:
        yield
    finally:
        checkpoint_arrays.set_values(model, original)


def mean_weights(several):
    """Computes the mean of several lists of weights, in float64.

    Integer weights are taken from the last list.

    Args:
        several: Lists of arrays, all with the same shapes.
    """

    def mean(arrays):
        last = arrays[-1]
        if last.dtype.kind in "iub":
            return last
        total = sum(array.astype(np.float64) for array in arrays)
        return (total / len(arrays)).astype(last.dtype)

    return [mean(arrays) for arrays in zip(*several, strict=True)]


@dataclasses.dataclass
class State:
    """State of training in a checkpoint, besides weights and optimizer.

    The names with `tokens` count targets of any kind.
    """

    update: int = 0
    epoch: int = 0
    batch: int = 0
    seconds: float = 0.0
    target_tokens: int = 0
    timed_tokens: int = 0
    timed_seconds: float = 0.0
    best_nll: float = math.inf
    best_penalty: float = 0.0
    best_score: float | None = None
    best_update: int = 0
    bad_evaluations: int = 0
    stopped_early: bool = False
    evaluation_due: bool = False
    phase: int = 0
    # Dev scores whose weights will be averaged: update, and cost (lower is
    # better).
    kept: list[list] = dataclasses.field(default_factory=list)
    # Updates and scores of the mean of these weights.
    average: dict | None = None
    # Update and loss of each dev score.
    dev_history: list[list] = dataclasses.field(default_factory=list)

    @classmethod
    def from_dict(cls, values):
        """Restores a state from the result of `to_dict`."""
        unknown = values.keys() - {f.name for f in dataclasses.fields(cls)}
        if unknown:
            raise ValueError(f"its state has unknown fields {sorted(unknown)}")
        return cls(**values)

    def to_dict(self):
        """Returns the fields as JSON values, without empty ones."""
        fields = dataclasses.asdict(self)
        return {k: v for k, v in fields.items() if v is not None}

    def move_behind(self, item):
        """Counts an update whose last batch is the `Item`."""
        self.update += 1
        self.epoch, self.batch = item.epoch, item.index + 1
        if item.last_of_epoch:
            self.epoch, self.batch = item.epoch + 1, 0

    def forget_best(self):
        """Resets the best score, so that the next one becomes the best."""
        self.best_nll, self.best_penalty = math.inf, 0.0
        self.best_score = None
        self.best_update = self.bad_evaluations = 0
        self.stopped_early = False


class Saver:
    """Saver of a run: checkpoints on disk, and scored weights also in memory.

    A full disk does not end training before its last checkpoint. The weights
    are still in memory, and there may be room for the next checkpoint. If the
    optimizer keeps a moving average of the weights, the average is scored, and
    kept as the best weights.

    Args:
        checkpoints: `Checkpoints`, or `None` to keep nothing on disk.
        model: Keras model.
        optimizer: Keras optimizer.
        options: `Options`.
        is_writer: Whether this process writes files; all processes read them.
        report: Callable that prints a line.

    Attributes:
        best_weights: Weights of the best dev score, or `None`.
        moving_average: `MovingAverage` of the weights.
        is_writer: Whether this process writes checkpoints.
    """

    def __init__(
        self, checkpoints, model, optimizer, options, is_writer, report
    ):
        self.best_weights = None
        self.moving_average = MovingAverage(model, optimizer)
        self._scored_weights = {}  # weights to average, by update
        self._average = None
        self._checkpoints = checkpoints
        self._model = model
        self._optimizer = optimizer
        self._options = options
        self.is_writer = is_writer and checkpoints is not None
        self._report = report
        self._unwritten = {}  # functions that write weights, by their kind
        self._resumed = None
        self._saved_update = 0
        self._saved_at = time.monotonic()

    def resume(self):
        """Restores the newest checkpoint.

        Returns:
            Its `State`, or `None` if there is no checkpoint.

        Raises:
            CheckpointError: If all checkpoints are damaged, or if the newest is
                from another run.
        """
        self._saved_at = time.monotonic()
        if not self._checkpoints:
            return None
        if self._options.fresh:
            if self.is_writer:
                self._checkpoints.clear()
            return None
        loaded = self._checkpoints.load()
        if loaded is None:
            return None
        path, info, arrays = loaded
        checkpoint_arrays.check_identity(
            path, info["identity"], self._identity()
        )
        checkpoint_arrays.restore(self._model, self._optimizer, arrays, path)
        try:
            state = State.from_dict(info["state"])
        except ValueError as error:
            raise checkpoint_arrays.other_run(path, str(error)) from error
        self._resumed = path, info.get("batches", {})
        self._saved_update = state.update
        self._report(f"Resuming from {path} after update {state.update:,}.")
        if math.isfinite(state.best_nll):
            self._read_best(state)
        self._read_averaged(state)
        return state

    def check_batches(self):
        """Raises a `CheckpointError` if a resumed run has other batches."""
        if self._resumed is not None:
            path, batches = self._resumed
            checkpoint_arrays.check_identity(
                path, batches, self._options.batches
            )

    def is_due(self, state):
        """Returns whether a checkpoint is due."""
        if state.update == self._saved_update:
            return False
        waited = time.monotonic() - self._saved_at
        every = state.update % self._options.save_every == 0
        return every or waited >= self._options.save_seconds

    def save(self, state):
        """Writes a checkpoint; returns its path, or `None` if it failed."""
        self._saved_update = state.update
        path = None
        if self.is_writer:
            self._write_weights()
            # A checkpoint must not refer to weights that were not written.
            if not self._unwritten:
                path = self._write(state)
            if path and self._options.average:
                self._remove_scored()
        self._saved_at = time.monotonic()
        return path

    def keep_scored(self, state, is_best):
        """Keeps the current weights, which a `State` has just scored.

        Args:
            state: The `State`; `kept` lists the weights to average.
            is_best: Whether the score is the best one.
        """
        update, averaged = state.update, [update for update, _ in state.kept]
        for other in self._scored_weights.keys() - set(averaged):
            del self._scored_weights[other]
            self._unwritten.pop(other, None)
        if not is_best and update not in averaged:
            return
        weights = checkpoint_arrays.get_values(self._model)
        phase = state.phase
        if is_best:
            self.best_weights = weights
            self._unwritten["best"] = lambda: self._checkpoints.save_best(
                weights, {"phase": phase, "update": update}
            )
        if update in averaged:
            self._scored_weights[update] = weights
            self._unwritten[update] = lambda: self._checkpoints.save_scored(
                phase, update, weights
            )
        self._write_weights()

    @contextlib.contextmanager
    def mean_used(self, state):
        """Returns a context in which the model has the mean of kept weights.

        Yields:
            The updates whose weights are averaged.
        """
        updates = [update for update, _ in state.kept]
        self._average = mean_weights([self._scored_weights[x] for x in updates])
        with replace(self._model, self._average):
            yield updates

    def keep_average(self, state, updates, scores):
        """Keeps the mean, and notes its `Evaluation` in a `State`."""
        name = self._options.score
        state.average = {
            "updates": updates,
            "nll": scores.nll,
            "penalty": scores.penalty,
            "score": name and scores.metrics[name],
        }
        weights, info = self._average, {"updates": updates}
        self._unwritten["average"] = lambda: self._checkpoints.save_average(
            weights, info
        )
        self._write_weights()

    def forget_average(self, state):
        """Removes the mean of weights, since training continues."""
        self._average = state.average = None
        self._unwritten.pop("average", None)
        if self.is_writer:
            self._checkpoints.remove_average()

    def use_final(self, state):
        """Sets the model's weights to those with which training ends."""
        if state.average is not None:
            checkpoint_arrays.set_values(self._model, self._average)
        elif self.best_weights is not None:
            self.use_best()
        else:
            self.moving_average.use()

    def use_best(self):
        """Sets the model's weights to the best ones, if there are any."""
        if self.best_weights is not None:
            checkpoint_arrays.set_values(self._model, self.best_weights)

    def forget_best(self):
        """Drops the best weights; their file stays until it is replaced."""
        self.best_weights = None
        self._scored_weights, self._unwritten = {}, {}

    def last_checkpoint(self):
        """Returns a sentence about where the run would resume."""
        paths = self._checkpoints.paths() if self._checkpoints else []
        if not paths:
            return "There is no checkpoint yet."
        return f"The last good checkpoint is {paths[0]}."

    def _write(self, state):
        info = {"state": state.to_dict(), "identity": self._identity()}
        info["batches"] = self._options.batches
        averages = checkpoint_arrays.average_names(
            self._model, self._optimizer, self.moving_average.variables()
        )
        if averages:
            info["averages"] = averages
        arrays = checkpoint_arrays.collect(self._model, self._optimizer)
        try:
            return self._checkpoints.save(state.update, info, arrays)
        except CheckpointError as error:
            self._report(f"Warning: {error}")
            return None

    def _write_weights(self):
        """Writes the weights that are not written yet; reports failures."""
        for key, write in list(self._unwritten.items()):
            try:
                if self.is_writer:
                    write()
                del self._unwritten[key]
            except CheckpointError as error:
                self._report(f"Warning: {error}")

    def _remove_scored(self):
        """Removes the files of weights that no checkpoint refers to."""
        self._checkpoints.remove_scored(
            (state["phase"], update)
            for state in [info["state"] for info in self._checkpoints.infos()]
            for update, _ in state.get("kept", ())
        )

    def _read_best(self, state):
        try:
            info, weights = self._checkpoints.load_best(self._model)
            if info.get("phase", state.phase) != state.phase:
                path = self._checkpoints.best_path
                raise CheckpointError(f"{path} is from another phase.")
            self.best_weights = weights
        except CheckpointError as error:
            self._report(
                f"Warning: {error} The search for the best weights starts over "
                "from the checkpoint."
            )
            state.forget_best()
            state.evaluation_due = True

    def _read_averaged(self, state):
        """Reads the average of the weights, and the weights to average."""
        for row in list(state.kept):
            update, _ = row
            try:
                _, self._scored_weights[update] = self._checkpoints.load_scored(
                    state.phase, update, self._model
                )
            except CheckpointError as error:
                self._report(f"Warning: {error} The others are averaged.")
                state.kept.remove(row)
        if state.average is not None:
            try:
                self._average = self._checkpoints.load_average(self._model)[1]
            except CheckpointError as error:
                self._report(f"Warning: {error} It is computed again.")
                state.average = None

    def _identity(self):
        # Values of two different scores cannot be compared.
        score = self._options.score
        return self._options.identity | ({"score": score} if score else {})
