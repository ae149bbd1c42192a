"""Signals that are requests to stop after the current update.

Ctrl-C, SIGTERM, and SIGHUP, which a terminal sends that is closed.
"""

import signal
import threading

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class TrainingInterrupted(Exception):
    """Training was asked to stop, and has saved what it had.

    `exit_code` is what the shell expects of a program that a signal ended:
    130 after Ctrl-C, 143 after SIGTERM, 129 after SIGHUP.
    """

    def __init__(self, message, signal_number):
        super().__init__(message)
        self.exit_code = 128 + signal_number


class Interruption:
    """Context in which `SIGNALS` are only noted, but for ignored ones.

    `signal_number` is `None` until one arrives. A second one acts as if this
    context were not there. Signals reach the main thread only; in any other
    this does nothing.
    """

    def __init__(self):
        self.signal_number = None
        self._previous = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            for number in SIGNALS:
                # As `nohup` starts programs: they outlive their terminal.
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
