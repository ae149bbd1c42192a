"""One line that shows the progress of training."""

import math
import sys
import time

import tqdm

from tfcopy.tolerant_output import TolerantStream


class Progress:
    """A bar on a terminal; elsewhere a plain line every few seconds.

    A stream that cannot be written does not end training.

    Args:
        total: Number of updates to make, or `None` if unknown.
        stream: Defaults to the standard error.
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
        """Shows the state of training, if it is time to.

        Args:
            update: Number of updates made.
            loss: Negative log likelihood of a target token, in nats.
            targets_per_second: Target tokens trained on per second; 0 if that
                is not known yet, as after the first update.
            seconds_per_update: Seconds per update, to estimate the time left.
            per_example: Whether examples are counted instead of tokens; their
                loss has no perplexity.
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
        # The rates are ours: tqdm's would count the time of dev scores, too.
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
        """Leaves the bar as it stands and goes to the next line."""
        if self._bar is not None:
            self._bar.close()
        self._bar = None


def perplexity(nll):
    """Returns `exp(nll)`, infinite where that is too large."""
    return math.exp(nll) if nll < 700 else math.inf


def clock(seconds):
    """Formats seconds as `1:02:03`, or `2:03` below an hour."""
    minutes, seconds = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{seconds:02d}"
    return f"{minutes}:{seconds:02d}"
