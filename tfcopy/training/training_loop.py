"""Training loop: updates, and reports, scores and checkpoints after them."""

import math
import signal
import threading

from tfcopy.training.checkpoint_arrays import CheckpointError
from tfcopy.training.reports import Meter


class TrainingDiverged(RuntimeError):
    """Error: the loss or the gradients became infinite or not a number.

    ```python
    try:
        trainer.fit()
    except training.TrainingDiverged as error:
        print(error, "Lower the learning rate.")
    ```
    """

    exit_code = 2  # of a command: users can mend it


class TrainingLoop:
    """Loop of one run, from its current state to the end.

    The results of all updates are read before a checkpoint is written, so that
    no checkpoint contains NaN.

    Args:
        state: `State`, which is updated.
        updates: `Updates`.
        scorer: `Scorer` of the dev data.
        schedule: `Schedule`.
        saver: `Saver`, which has the best weights in the end.
        reports: `Reports`.
    """

    def __init__(self, state, updates, scorer, schedule, saver, reports):
        self._state = state
        self._updates = updates
        self._scorer = scorer
        self._schedule = schedule
        self._saver = saver
        self._reports = reports
        self._meter = Meter(state)
        self._interruption = Interruption()
        self._stop_is_agreed = False

    def run(self):
        """Trains to the end, and saves the run.

        Raises:
            TrainingInterrupted: After Ctrl-C, SIGTERM or SIGHUP, once the run
                is saved.
            TrainingDiverged: If loss or gradients are not finite.
            CheckpointError: If the last checkpoint cannot be written.
        """
        state, schedule = self._state, self._schedule
        with self._interruption:
            while True:
                if state.evaluation_due and not self._evaluate():
                    self._interrupt()
                phase = schedule.phase_due(state)
                if phase is not None:
                    self._begin(phase)
                    continue
                if schedule.is_finished(state):
                    break
                if self._saver.is_due(state):
                    self._save()
                update = self._updates.start(state, self._is_asked_to_stop())
                if update is None:  # too few batches left
                    schedule.count_end_of_data(state)
                    continue
                schedule.count_update(update, state)
                self._settle()
                if self._has_to_stop():
                    self._interrupt()
            if schedule.is_average_due(state):
                self._average()
            if self._save() is None and self._saver.is_writer:
                raise CheckpointError(
                    "Training has ended, but its last checkpoint could not be "
                    "written. Free some space, then repeat the command. "
                    f"{self._saver.last_checkpoint()}"
                )

    def _settle(self, wait=False):
        """Reads and reports the results of finished updates, or of all."""
        for update in self._updates.pop_finished(wait):
            if not (math.isfinite(update.nll) and math.isfinite(update.norm)):
                self._diverge(update)
            self._stop_is_agreed |= update.stop > 0
            targets = self._updates.targets
            self._meter.count(update.num_targets, update.nll)
            self._reports.update(update, self._meter, targets)
            if self._reports.are_due(update):
                metrics = self._updates.metrics(update)
                self._reports.scalars(update, self._meter, targets, metrics)
                self._meter.leave_out()

    def _evaluate(self):
        """Scores the dev data; returns `False` if cancelled."""
        self._settle(wait=True)
        state = self._state
        with self._saver.moving_average.apply_average():
            scores = self._dev_scores()
            if scores is None:
                return False
            is_best = self._schedule.count_scores(scores, state)
            self._saver.keep_scored(state, is_best)
            self._reports.scores(scores, state, is_best)
        self._meter.leave_out()
        return True

    def _average(self):
        """Scores the mean of the kept weights, and keeps the mean."""
        self._settle(wait=True)
        state, saver = self._state, self._saver
        with saver.mean_used(state) as updates:
            scores = self._dev_scores()
            if scores is not None:
                saver.keep_average(state, updates, scores)
                self._reports.average(scores, updates)
        if scores is None:
            self._interrupt()

    def _dev_scores(self):
        """Returns dev scores of the current weights, or `None` if cancelled."""
        scores = self._scorer.dev_scores(cancelled=self._has_to_stop)
        if scores is not None and not math.isfinite(scores.nll):
            raise TrainingDiverged(
                f"The dev score after update {self._state.update:,} is "
                f"{scores.nll}. {self._saver.last_checkpoint()}"
            )
        return scores

    def _begin(self, phase):
        self._settle(wait=True)
        state = self._state
        self._saver.use_best()
        self._schedule.begin(phase, state)
        self._saver.forget_best()
        self._reports.line(
            f"update {state.update:,}  phase {state.phase + 1} of "
            f"{self._schedule.num_phases} begins"
        )
        # Saved now, before new best weights replace the phase's first weights.
        self._save()

    def _save(self):
        """Writes a checkpoint; returns its path, or `None` if it failed."""
        self._settle(wait=True)
        self._reports.flush()
        path = self._saver.save(self._state)
        self._meter.leave_out()
        return path

    def _is_asked_to_stop(self):
        return self._interruption.signal_number is not None

    def _has_to_stop(self):
        # Workers agree on it, since all must stop after the same update.
        if self._updates.num_workers > 1:
            return self._stop_is_agreed
        return self._is_asked_to_stop()

    def _interrupt(self):
        number = self._interruption.signal_number or 15
        path = self._save()
        stopped = f"Stopped after update {self._state.update:,}"
        if path:
            message = (
                f"{stopped}, saved in {path}. Repeat the command to resume."
            )
        elif self._saver.is_writer:
            message = f"{stopped}. {self._saver.last_checkpoint()}"
        else:
            message = f"{stopped}."
        raise TrainingInterrupted(message, number)

    def _diverge(self, update):
        first = update.items[0]
        raise TrainingDiverged(
            f"Update {update.number:,} (epoch {first.epoch}, batch "
            f"{first.index}) has loss {update.nll} and gradient norm "
            f"{update.norm}. {self._saver.last_checkpoint()}"
        )


SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TrainingInterrupted(Exception):
    """Raised after a signal stopped training and the run was saved.

    `exit_code` follows the shell's convention for programs that a signal ended:
    130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.

    ```python
    try:
        trainer.fit()
    except training.TrainingInterrupted as stopped:
        raise SystemExit(stopped.exit_code)
    ```
    """

    def __init__(self, message, signal_number):
        super().__init__(message)
        self.exit_code = 128 + signal_number


class Interruption:
    """Context that notes `SIGNALS` instead of ending, but not ignored ones.

    `signal_number` is `None` until a signal arrives. A second signal acts as
    outside of the context. In threads other than the main one, which receive no
    signals, the context does nothing.
    """

    def __init__(self):
        self.signal_number = None
        self._previous = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # `nohup` ignores SIGHUP, to let programs outlive a terminal.
                if signal.getsignal(number) != signal.SIG_IGN:
                    previous = signal.signal(number, self._receive)
                    self._previous[number] = previous
        return self

    def __exit__(self, *exception):
        self._restore()

    def _receive(self, number, frame):
        self.signal_number = number
        self._restore()

    def _restore(self):
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous = {}
