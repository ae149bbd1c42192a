"""The loop over updates: what is due after each of them, and in which order."""

import collections
import math
import time

import numpy as np
import tensorflow as tf

from tfcopy.training.batch_stream import BatchStream
from tfcopy.training.checkpoints import CheckpointError
from tfcopy.training.interruption import Interruption, TrainingInterrupted
from tfcopy.training.progress import perplexity
from tfcopy.training.seeds import draw_seeds

Launched = collections.namedtuple(
    "Launched", "update items num_targets nll norm stop"
)


class TrainingDiverged(RuntimeError):
    """The loss or the gradients became infinite or not a number."""


class TrainingLoop:
    """One run of a `Trainer`, from where its state stands to the end.

    Results of an update are read one update later where there is a GPU, so
    that it need not wait for the host; all of them are read before anything is
    saved, and a checkpoint never holds weights that are not numbers.

    Args:
        trainer: `Trainer`, whose state and weights are carried on.
        events: `EventLog`.
        best_weights: Those of the best dev score so far, or `None`.
    """

    def __init__(self, trainer, events, best_weights=None):
        self._trainer = trainer
        self._events = events
        self._state = trainer.state
        self._options = trainer.options
        self._interruption = Interruption()
        self._stream = BatchStream(
            trainer.train_data,
            self._state.epoch,
            self._state.batch,
            trainer.strategy.num_replicas_in_sync,
            self._options.epochs,
        )
        self._step = None
        self._launched = collections.deque()
        self._lag = 1 if tf.config.list_physical_devices("GPU") else 0
        self._stop_agreed = False
        self._seconds_before = self._state.seconds
        self._started = self._saved_at = self._settled_at = time.monotonic()
        self._timed = False
        self._recent_loss = 0, 0  # nll, targets
        self._recent_time = 0, 0, 0  # targets, seconds, updates
        self._best_weights = best_weights
        self._best_is_written = True

    def run(self):
        """Trains; returns the best weights, or `None` if none were found."""
        state = self._state
        with self._interruption:
            groups = self._groups()
            while True:
                if state.evaluation_due and not self._evaluate():
                    self._interrupt()
                phase = self._trainer.next_phase()
                if phase is not None:
                    self._settle(0)
                    self._trainer.begin_phase(phase, self._best_weights)
                    self._best_weights, self._best_is_written = None, True
                    self._report_phase()
                    # Before other best weights replace those it began with.
                    self._save()
                    continue
                if self._trainer.is_finished():
                    break
                if self._saving_is_due():
                    self._save()
                group = next(groups, None)
                if group is None:  # too few batches left for an update
                    state.epoch, state.batch = self._options.epochs, 0
                    state.evaluation_due = self._has_dev_data()
                    continue
                self._update(group)
                self._settle(self._lag)
                if self._stop_requested():
                    self._interrupt()
            self._save()
        return self._best_weights

    def _groups(self):
        """Yields the items of one update after the other."""
        size = (
            self._options.accumulate
            * self._trainer.strategy.num_replicas_in_sync
        )
        group = []
        for item in self._stream:
            group.append(item)
            if len(group) == size:
                yield group
                group = []

    def _update(self, group):
        """Starts one update, and moves the state behind it."""
        state, options = self._state, self._options
        if self._step is None:
            self._step = self._trainer.step_for(self._stream.element_spec)
        counts = [self._trainer.targets.count(item.batch) for item in group]
        num_targets, num_sentences = np.sum(counts, axis=0).tolist()
        by_tokens = options.normalize == "tokens"
        divisor = num_targets if by_tokens else num_sentences
        scale = tf.constant(1 / max(divisor, 1), tf.float32)
        asked = self._interruption.signal_number is not None
        nlls = []
        rounds = self._rounds(group)
        for batches, seeds in rounds[:-1]:
            nlls.append(self._step.accumulate(batches, scale, seeds))
        batches, seeds = rounds[-1]
        nll, norm, stop = self._step.update(
            batches, scale, seeds, tf.constant(float(asked))
        )
        nlls.append(nll)
        state.update += 1
        last = group[-1]
        epoch_ends = last.last_of_epoch
        state.epoch = last.epoch + 1 if epoch_ends else last.epoch
        state.batch = 0 if epoch_ends else last.index + 1
        if options.eval_every is None:
            due = any(item.last_of_epoch for item in group)
        else:
            due = state.update % options.eval_every == 0
        state.evaluation_due = self._has_dev_data() and (
            due or self._trainer.is_finished()
        )
        self._launched.append(
            Launched(state.update, group, num_targets, nlls, norm, stop)
        )

    def _rounds(self, group):
        """Splits an update into this worker's batches and their seeds."""
        trainer = self._trainer
        size = trainer.strategy.num_replicas_in_sync
        count = len(trainer.seed_states)
        rounds = []
        for start in range(0, len(group), size):
            places = trainer.share(list(range(start, start + size)))
            seeds = [
                draw_seeds(count, self._options.seed, self._state.update, place)
                for place in places
            ]
            batches = tuple(group[place].batch for place in places)
            rounds.append((batches, tf.constant(np.stack(seeds))))
        return rounds

    def _settle(self, lag):
        """Reads the results of all updates but the last `lag`."""
        while len(self._launched) > lag:
            done = self._launched.popleft()
            nll = sum(float(value) for value in done.nll)
            norm = float(done.norm)
            if not (math.isfinite(nll) and math.isfinite(norm)):
                self._diverge(done, nll, norm)
            self._stop_agreed |= float(done.stop) > 0
            now = time.monotonic()
            self._account(done, nll, now - self._settled_at)
            self._settled_at = now
            if done.update % self._options.log_every == 0:
                self._log(done, norm)

    def _account(self, done, nll, seconds):
        state = self._state
        state.target_tokens += done.num_targets
        state.seconds = self._seconds_before + time.monotonic() - self._started
        self._recent_loss = _fade(self._recent_loss, (nll, done.num_targets))
        # The first update of a process is mostly the tracing of its graph.
        if self._timed:
            state.timed_tokens += done.num_targets
            state.timed_seconds += seconds
            self._recent_time = _fade(
                self._recent_time, (done.num_targets, seconds, 1)
            )
        self._timed = True
        _, seconds, updates = self._recent_time
        self._trainer.progress.show(
            done.update,
            self._loss(),
            self._speed(),
            seconds / max(updates, 1),
            self._trainer.targets.per_example,
        )

    def _loss(self):
        nll, num_targets = self._recent_loss
        return nll / max(num_targets, 1)

    def _speed(self):
        num_targets, seconds, _ = self._recent_time
        return num_targets / max(seconds, 1e-9)

    def _log(self, done, norm):
        trainer = self._trainer
        if not trainer.is_chief:
            return
        targets = trainer.targets
        values = _losses(self._loss(), targets.per_example) | {
            "gradient_norm": norm,
            f"{targets.unit}_per_second": self._speed(),
            "learning_rate": float(np.array(trainer.optimizer.learning_rate)),
        }
        if trainer.metrics:
            values |= trainer.score_group([done.items[0].batch]).metrics
        self._events.scalars(done.update, values, prefix="train/")
        self._settled_at = time.monotonic()

    def _evaluate(self):
        """Scores the dev data; returns whether it came to the end of them."""
        self._settle(0)
        trainer, state = self._trainer, self._state
        scores = trainer.dev_scores(cancelled=self._stop_requested)
        if scores is None:
            return False
        if not math.isfinite(scores.nll):
            raise TrainingDiverged(
                f"The dev score after update {state.update:,} is {scores.nll}. "
                f"{self._last_good()}"
            )
        state.evaluation_due = False
        per_example = trainer.targets.per_example
        score = self._score_of(scores)
        better = self._is_better(scores, score)
        if better:
            state.best_nll, state.best_penalty = scores.nll, scores.penalty
            state.best_score = score
            state.best_update = state.update
            state.bad_evaluations = 0
            self._best_weights = trainer.model.get_weights()
            self._best_is_written = False
            self._write_best()
        else:
            state.bad_evaluations += 1
        patience = self._options.patience
        state.stopped_early = (
            patience is not None and state.bad_evaluations >= patience
        )
        trainer.progress.report(
            f"update {state.update:,}  epoch {state.epoch}  dev loss "
            f"{scores.nll:.4f}"
            + ("" if per_example else f"  ppl {scores.perplexity:.4g}")
            + (f"  penalty {scores.penalty:.4f}" if scores.penalty else "")
            + ("" if score is None else f"  {self._options.score} {score:.4g}")
            + ("  (best)" if better else "")
        )
        if trainer.is_chief:
            values = _losses(scores.nll, per_example)
            if trainer.penalty:
                values["penalty"] = scores.penalty
            self._events.scalars(
                state.update, values | scores.metrics, prefix="dev/"
            )
            if trainer.on_eval:
                with self._events.tolerating():
                    trainer.on_eval(state.update, self._events.writer)
            self._events.flush()
        self._settled_at = time.monotonic()
        return True

    def _score_of(self, scores):
        """Returns what to compare weights by; `None` for the losses."""
        name = self._options.score
        if name is not None and name not in scores.metrics:
            raise ValueError(
                "`score` must be one of the dev scores, "
                f"{sorted(scores.metrics)}. Received: score={name!r}."
            )
        return None if name is None else scores.metrics[name]

    def _is_better(self, scores, score):
        """Whether these dev scores are better than the best so far."""
        state = self._state
        if score is None:
            cost = scores.nll + scores.penalty
            return cost < state.best_nll + state.best_penalty
        if state.best_score is None:
            return not math.isnan(score)
        if self._options.lower_is_better:
            return score < state.best_score
        return score > state.best_score

    def _report_phase(self):
        state = self._state
        self._trainer.progress.report(
            f"update {state.update:,}  phase {state.phase + 1} of "
            f"{len(self._trainer.phases) + 1} begins"
        )

    def _has_dev_data(self):
        return self._trainer.dev_data is not None

    def _saving_is_due(self):
        options, state = self._options, self._state
        if not state.update or not self._timed:
            return False
        waited = time.monotonic() - self._saved_at
        every = state.update % options.save_every == 0
        return every or waited >= options.save_seconds

    def _save(self):
        """Writes a checkpoint; returns its path, or `None` if it failed.

        A full disk does not end training: the weights are safe in memory, and
        the next checkpoint may find room again.
        """
        self._settle(0)
        trainer = self._trainer
        if not trainer.checkpoints or not trainer.is_chief:
            return None
        self._events.flush()
        path = None
        if not self._best_is_written:
            self._write_best()
        # A checkpoint must not tell of better weights than there are.
        if self._best_is_written:
            try:
                path = trainer.save()
            except CheckpointError as error:
                trainer.progress.report(f"Warning: {error}")
        self._saved_at = self._settled_at = time.monotonic()
        return path

    def _write_best(self):
        trainer = self._trainer
        if not trainer.checkpoints or not trainer.is_chief:
            return
        model = trainer.model
        current = None
        if self._state.best_update != self._state.update:
            current = model.get_weights()
            model.set_weights(self._best_weights)
        try:
            trainer.checkpoints.save_best(model)
            self._best_is_written = True
        except CheckpointError as error:
            trainer.progress.report(f"Warning: {error}")
        if current is not None:
            model.set_weights(current)

    def _stop_requested(self):
        # Workers have to stop after the same update, so they ask each other.
        if self._trainer.num_workers > 1:
            return self._stop_agreed
        return self._interruption.signal_number is not None

    def _interrupt(self):
        number = self._interruption.signal_number or 15
        path = self._save()
        update = self._state.update
        if path:
            message = (
                f"Stopped after update {update:,}, saved in {path}. Repeat "
                "the command to go on."
            )
        elif self._trainer.checkpoints and self._trainer.is_chief:
            message = f"Stopped after update {update:,}. {self._last_good()}"
        else:
            message = f"Stopped after update {update:,}."
        raise TrainingInterrupted(message, number)

    def _diverge(self, done, nll, norm):
        first = done.items[0]
        raise TrainingDiverged(
            f"Update {done.update:,} (epoch {first.epoch}, batch "
            f"{first.index}) has loss {nll} and gradient norm {norm}. "
            f"{self._last_good()}"
        )

    def _last_good(self):
        checkpoints = self._trainer.checkpoints
        paths = checkpoints.paths() if checkpoints else []
        if not paths:
            return "There is no checkpoint yet."
        return f"The last good checkpoint is {paths[0]}."


def _losses(nll, per_example):
    """Names a loss; that of a word has a perplexity."""
    if per_example:
        return {"loss": nll}
    return {"loss": nll, "perplexity": perplexity(nll)}


def _fade(sums, values, decay=0.98):
    """Adds values to sums that forget what is long past."""
    return tuple(decay * s + value for s, value in zip(sums, values))
