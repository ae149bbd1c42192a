"""The stand-in trained in a process of its own, to be killed or to be many.

TensorFlow is imported once, in a server that a new process is forked from.
"""

import contextlib
import json
import multiprocessing
import os
import signal
import socket
import time

from tests.training import standin

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["tests.training.standin"])


class TrainingProcess:
    """A process that trains.

    Args:
        log: Path of a file for what it prints.
        environment: Variables that are set in it.
        main: What it runs, a function of a dict of options.
        **options: The options.
    """

    def __init__(self, log, environment=None, main=standin.main, **options):
        self._log = log
        log.write_text("")
        self._process = _CONTEXT.Process(
            target=_train,
            args=(str(log), environment or {}, main, options),
            daemon=True,
        )
        self._process.start()

    @property
    def text(self):
        """The output so far."""
        return self._log.read_text(errors="replace")

    def wait_for_updates(self, count):
        """Returns after so many updates, or when the process has ended."""

        def number():
            lines = self.text.splitlines()
            return sum(
                x.startswith("update ") and "dev" not in x for x in lines
            )

        while self._process.is_alive() and number() < count:
            time.sleep(0.01)

    def send(self, number):
        """Sends a signal."""
        os.kill(self._process.pid, number)

    def is_alive(self):
        return self._process.is_alive()

    def _processor_seconds(self):
        """Returns the seconds used so far, whole; `None` once it is gone."""
        try:
            with open(f"/proc/{self._process.pid}/stat") as file:
                fields = file.read().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            return None
        return sum(map(int, fields[11:13])) // os.sysconf("SC_CLK_TCK")

    def finish(self, seconds=100):
        """Returns the exit code, as `subprocess` does.

        Raises:
            TimeoutError: If it does nothing for so long, on a machine however
                busy; the process is killed.
        """
        # It may have ended just before it is looked at.
        spent, end = None, time.monotonic() + seconds
        while self.is_alive():
            if spent != (spent := self._processor_seconds()):
                end = time.monotonic() + seconds
            elif time.monotonic() > end:
                self.kill()
                raise TimeoutError(f"Idle for {seconds} seconds: {self.text}")
            self._process.join(0.2)
        return self._process.exitcode

    def kill(self):
        """Ends it, if it has not ended."""
        if self._process.is_alive():
            with contextlib.suppress(ProcessLookupError):  # just ended
                self.send(signal.SIGKILL)
            self._process.join()


def _train(log, environment, main, options):
    descriptor = os.open(log, os.O_WRONLY)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.environ.update(environment)
    main(options)


def environments_of_workers():
    """The variables of two workers on this machine."""
    with socket.create_server(("localhost", 0)) as a:
        with socket.create_server(("localhost", 0)) as b:
            ports = a.getsockname()[1], b.getsockname()[1]
    cluster = {"worker": [f"localhost:{port}" for port in ports]}
    return [
        {"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}
        for task in [{"type": "worker", "index": index} for index in range(2)]
    ]
