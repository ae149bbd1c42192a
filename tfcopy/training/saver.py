"""When a run is saved, and how it is resumed."""

import math
import time

from tfcopy.training import checkpoints as checkpointing
from tfcopy.training.checkpoints import CheckpointError
from tfcopy.training.training_state import State


class Saver:
    """Keeps a run on disk, and its best weights in memory as well.

    A full disk does not end training: the weights are safe in memory, and
    the next checkpoint may find room again.

    Args:
        checkpoints: `Checkpoints`, or `None` to keep nothing on disk.
        model: Keras model.
        optimizer: Keras optimizer.
        options: `Options`.
        is_writer: Whether this process writes; all of them read.
        report: Callable that prints a line.

    Attributes:
        best_weights: Weights of the best dev score, or `None`.
        is_writer: Whether this process writes checkpoints.
    """

    def __init__(
        self, checkpoints, model, optimizer, options, is_writer, report
    ):
        self.best_weights = None
        self._checkpoints = checkpoints
        self._model = model
        self._optimizer = optimizer
        self._options = options
        self.is_writer = is_writer and checkpoints is not None
        self._report = report
        self._best_is_written = True
        self._saved_update = 0
        self._saved_at = time.monotonic()

    def resume(self):
        """Goes back to the newest checkpoint.

        Returns:
            Its `State`, or `None` if there is none.

        Raises:
            CheckpointError: If there are checkpoints, but none is whole, or
                the newest is of another run.
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
        checkpointing.check_identity(path, info["identity"], self._identity())
        checkpointing.restore(self._model, self._optimizer, arrays, path)
        try:
            state = State.from_dict(info["state"])
        except ValueError as error:
            raise checkpointing.other_run(path, str(error)) from error
        self._saved_update = state.update
        self._report(f"Resuming from {path} after update {state.update:,}.")
        if math.isfinite(state.best_nll):
            self._read_best(state)
        return state

    def is_due(self, state):
        """Whether it is time for a checkpoint."""
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
            if not self._best_is_written:
                self._write_best(state)
            # A checkpoint must not refer to better weights than there are.
            if self._best_is_written:
                path = self._write(state)
        self._saved_at = time.monotonic()
        return path

    def keep_best(self, state):
        """Keeps the present weights as the best ones."""
        self.best_weights = self._model.get_weights()
        self._best_is_written = not self.is_writer
        if self.is_writer:
            self._write_best(state)

    def use_best(self):
        """Gives the model the best weights, if there are any."""
        if self.best_weights is not None:
            self._model.set_weights(self.best_weights)

    def forget_best(self):
        """Forgets the best weights; their file stays until it is replaced."""
        self.best_weights = None
        self._best_is_written = True

    def last_checkpoint(self):
        """A sentence that tells where the run would resume."""
        paths = self._checkpoints.paths() if self._checkpoints else []
        if not paths:
            return "There is no checkpoint yet."
        return f"The last good checkpoint is {paths[0]}."

    def _write(self, state):
        info = {"state": state.to_dict(), "identity": self._identity()}
        arrays = checkpointing.collect(self._model, self._optimizer)
        try:
            return self._checkpoints.save(state.update, info, arrays)
        except CheckpointError as error:
            self._report(f"Warning: {error}")
            return None

    def _write_best(self, state):
        info = {"phase": state.phase, "update": state.best_update}
        try:
            self._checkpoints.save_best(self.best_weights, info)
            self._best_is_written = True
        except CheckpointError as error:
            self._report(f"Warning: {error}")

    def _read_best(self, state):
        try:
            info, weights = self._checkpoints.load_best(self._model)
            if info.get("phase", state.phase) != state.phase:
                path = self._checkpoints.best_path
                raise CheckpointError(f"{path} is of another phase.")
            self.best_weights = weights
        except CheckpointError as error:
            self._report(
                f"Warning: {error} The search for the best weights starts anew "
                "from the checkpoint."
            )
            state.forget_best()
            state.evaluation_due = True

    def _identity(self):
        # The best values of two different scores cannot be compared.
        score = self._options.score
        return self._options.identity | ({"score": score} if score else {})
