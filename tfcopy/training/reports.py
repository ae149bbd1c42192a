"""Reports during training: on the terminal and in TensorBoard."""

import numpy as np

from tfcopy.training.progress import perplexity


class Reports:
    """Reports updates, dev scores and phases.

    Args:
        progress: `Progress`.
        events: `EventLog`.
        options: `Options`.
        optimizer: Keras optimizer, whose learning rate is reported.
        has_penalty: Whether the objective has a penalty.
        on_eval: Optional callable `(update, writer)`, called after each dev
            score.
    """

    def __init__(
        self,
        progress,
        events,
        options,
        optimizer,
        has_penalty=False,
        on_eval=None,
    ):
        self._progress = progress
        self._events = events
        self._options = options
        self._optimizer = optimizer
        self._has_penalty = has_penalty
        self._on_eval = on_eval

    def line(self, text):
        """Prints a separate line."""
        self._progress.report(text)

    def update(self, update, meter, targets):
        """Shows the progress after an `Update` that has ended."""
        self._progress.show(
            update.number,
            meter.loss,
            meter.targets_per_second,
            meter.seconds_per_update,
            targets.per_example,
        )

    def are_due(self, update):
        """Whether the scalars of an `Update` are to be logged."""
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
            + self._described(scores)
            + ("  (best)" if is_best else "")
        )
        values = _losses(scores.nll, scores.per_example)
        if self._has_penalty:
            values["penalty"] = scores.penalty
        values |= scores.metrics
        self._events.scalars(state.update, values, prefix="dev/")
        if self._on_eval:
            with self._events.tolerating():
                self._on_eval(state.update, self._events.writer)
        self._events.flush()

    def average(self, scores, updates):
        """Reports the dev scores of the mean of the weights after updates."""
        listed = ", ".join(f"{update:,}" for update in updates)
        self._progress.report(
            f"mean of the weights after updates {listed}  "
            + self._described(scores)
        )

    def _described(self, scores):
        """Dev scores as text."""
        name = self._options.score
        text = f"dev loss {scores.nll:.4f}"
        if not scores.per_example:
            text += f"  ppl {scores.perplexity:.4g}"
        if scores.penalty:
            text += f"  penalty {scores.penalty:.4f}"
        return text + (f"  {name} {scores.metrics[name]:.4g}" if name else "")

    def flush(self):
        """Writes what was logged so far."""
        self._events.flush()


def _losses(nll, per_example):
    """Names a loss; the loss of a word has a perplexity."""
    if per_example:
        return {"loss": nll}
    return {"loss": nll, "perplexity": perplexity(nll)}
