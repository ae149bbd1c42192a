"""Loss and speed of recent updates."""

import time


class Meter:
    """Means over recent updates, and the total time of training.

    Args:
        state: `State`, whose sums of targets and seconds are continued.
    """

    def __init__(self, state):
        self._state = state
        self._seconds_before = state.seconds
        self._started = self._last = time.monotonic()
        self._is_traced = False
        self._loss = 0, 0  # nll, targets
        self._time = 0, 0, 0  # targets, seconds, updates

    def count(self, num_targets, nll):
        """Counts an update that has just ended."""
        state, now = self._state, time.monotonic()
        state.target_tokens += num_targets
        state.seconds = self._seconds_before + now - self._started
        self._loss = _fade(self._loss, (nll, num_targets))
        # The first update of a process mostly traces its graph.
        if self._is_traced:
            seconds = now - self._last
            state.timed_tokens += num_targets
            state.timed_seconds += seconds
            self._time = _fade(self._time, (num_targets, seconds, 1))
        self._is_traced = True
        self._last = now

    def leave_out(self):
        """Leaves out the time since the last update."""
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
