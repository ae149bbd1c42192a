"""Reports of training: progress on the terminal, and TensorBoard."""

import math
import sys
import time

import numpy as np
import tqdm

from tfcopy.terminal import TolerantStream


class Meter:
    """Meter of recent losses and speeds, and of the total time of training.

    Args:
        state: `State`, whose sums of targets and seconds are updated.
    """

    def __init__(self, state):
        self._state = state
        self._seconds_before = state.seconds
        self._started = self._last = time.monotonic()
        self._is_traced = False
        self._loss = 0, 0  # nll, targets
        self._time = 0, 0, 0  # targets, seconds, updates

    def count(self, num_targets, nll):
        """Counts an update that has just finished."""
        state, now = self._state, time.monotonic()
        state.target_tokens += num_targets
        state.seconds = self._seconds_before + now - self._started
        self._loss = _fade(self._loss, (nll, num_targets))
        # Most of the first update of a process is the tracing of its graph.
        if self._is_traced:
            seconds = now - self._last
            state.timed_tokens += num_targets
            state.timed_seconds += seconds
            self._time = _fade(self._time, (num_targets, seconds, 1))
        self._is_traced = True
        self._last = now

    def leave_out(self):
        """Excludes the time since the last update."""
        self._last = time.monotonic()

    @property
    def loss(self):
        """Mean negative log likelihood of a target."""
        nll, num_targets = self._loss
        return nll / max(num_targets, 1)

    @property
    def targets_per_second(self):
        num_targets, seconds, _ = self._time
        return num_targets / max(seconds, 1e-9)

    @property
    def seconds_per_update(self):
        _, seconds, updates = self._time
        return seconds / max(updates, 1)


def _fade(sums, values, decay=0.98):
    """Adds values to sums that decay over time."""
    return tuple(decay * s + value for s, value in zip(sums, values))


class Progress:
    """Progress bar on a terminal, or else a plain line every few seconds.

    If the stream cannot be written, training continues.

    Args:
        total: Total number of updates, or `None` if unknown.
        stream: Text stream; by default standard error.
        interval: Seconds between two plain lines.
        enabled: `False` to print nothing, as on all workers but the first.
    """

    def __init__(self, total=None, stream=None, interval=10, enabled=True):
        self.total = total
        self._stream = TolerantStream(stream or sys.stderr)
        self._live = self._stream.isatty()
        self._interval = 0.2 if self._live else interval
        self._enabled = enabled
        self._shown_at = -math.inf
        self._bar = None

    def show(
        self,
        update,
        loss,
        targets_per_second,
        seconds_per_update,
        per_example=False,
    ):
        """Shows the progress, unless it was shown a moment ago.

        Args:
            update: Number of updates so far.
            loss: Mean negative log likelihood of a target token, in nats.
            targets_per_second: Target tokens per second; 0 if not known yet, as
                after the first update.
            seconds_per_update: Seconds per update, to estimate the time left.
            per_example: Whether targets are examples, not tokens; their loss
                has no perplexity.
        """
        now = time.monotonic()
        if not self._enabled or now - self._shown_at < self._interval:
            return
        self._shown_at = now
        parts = [f"loss {loss:.4f}"]
        if not per_example:
            parts.append(f"ppl {perplexity(loss):.4g}")
        unit = "examples" if per_example else "tok"
        if targets_per_second:
            parts.append(f"{targets_per_second:,.0f} {unit}/s")
        count = f"update {update:,}"
        if self.total:
            count = f"update {update:,}/{self.total:,}"
            left = (self.total - update) * seconds_per_update
            if targets_per_second:
                parts.append(f"{clock(left)} left")
        text = "  ".join(parts)
        if not self._live:
            print(f"{count}  {text}", file=self._stream, flush=True)
            return
        # Not tqdm's rates, which would include the time of dev scores.
        line = f"{count}  {{bar}}  {text}"
        if self._bar is None:
            self._bar = tqdm.tqdm(
                total=self.total,
                initial=update,
                file=self._stream,
                dynamic_ncols=True,
                bar_format=line,
            )
        self._bar.n, self._bar.bar_format = update, line
        self._bar.refresh()

    def report(self, text):
        """Prints a separate line above the bar."""
        if self._enabled:
            self.close()
            print(text, file=self._stream, flush=True)

    def close(self):
        """Closes the bar, and continues on the next line."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def perplexity(nll):
    """Returns `exp(nll)`, or infinity if it is too large."""
    return math.exp(nll) if nll < 700 else math.inf


def clock(seconds):
    """Formats seconds as `1:02:03`, or `2:03` below an hour."""
    minutes, seconds = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{minutes}:{seconds:02d}"


class Reports:
    """Reporter of updates, dev scores and phases.

    Args:
        progress: `Progress`.
        events: `EventLog`.
        options: `Options`.
        optimizer: Keras optimizer, for its learning rate.
        on_eval: Optional callable `(update, writer)`, called after each dev
            score.
    """

    def __init__(self, progress, events, options, optimizer, on_eval=None):
        self._progress = progress
        self._events = events
        self._options = options
        self._optimizer = optimizer
        self._on_eval = on_eval

    def line(self, text):
        """Prints a separate line."""
        self._progress.report(text)

    def update(self, update, meter, targets):
        """Shows the progress after a finished `Update`."""
        self._progress.show(
            update.number,
            meter.loss,
            meter.targets_per_second,
            meter.seconds_per_update,
            targets.per_example,
        )

    def are_due(self, update):
        """Returns whether to log the scalars of an `Update`."""
        is_due = update.number % self._options.log_every == 0
        return is_due and self._events.folder is not None

    def scalars(self, update, meter, targets, metrics):
        """Logs the scalars of an `Update`, and metrics of its batch."""
        values = _losses(meter.loss, targets.per_example) | {
            "gradient_norm": update.norm,
            f"{targets.unit}_per_second": meter.targets_per_second,
            "learning_rate": float(np.array(self._optimizer.learning_rate)),
        }
        self._events.scalars(update.number, values | metrics, prefix="train/")

    def scores(self, scores, state, is_best):
        """Reports the dev scores after the last update of a `State`."""
        self._progress.report(
            f"update {state.update:,}  epoch {state.epoch}  "
            + self._describe(scores)
            + ("  (best)" if is_best else "")
        )
        values = _losses(scores.nll, scores.per_example)
        if scores.penalty:
            values["penalty"] = scores.penalty
        values |= scores.metrics
        self._events.scalars(state.update, values, prefix="dev/")
        if self._on_eval:
            with self._events.tolerate_errors():
                self._on_eval(state.update, self._events.writer)
        self._events.flush()

    def average(self, scores, updates):
        """Reports the dev scores of the mean of several updates' weights."""
        listed = ", ".join(f"{update:,}" for update in updates)
        self._progress.report(
            f"mean of the weights after updates {listed}  "
            + self._describe(scores)
        )

    def _describe(self, scores):
        """Formats dev scores as text."""
        name = self._options.score
        text = f"dev loss {scores.nll:.4f}"
        if not scores.per_example:
            text += f"  ppl {scores.perplexity:.4g}"
        if scores.penalty:
            text += f"  penalty {scores.penalty:.4f}"
        return text + (f"  {name} {scores.metrics[name]:.4g}" if name else "")

    def flush(self):
        """Writes all events logged so far."""
        self._events.flush()


def _losses(nll, per_example):
    """Returns a loss by its name, and for tokens also the perplexity."""
    if per_example:
        return {"loss": nll}
    return {"loss": nll, "perplexity": perplexity(nll)}
