"""Processes that were forked from one in which a library had been started."""

import os

from tfcopy.serving.client_library.signatures import AskError

# The processes in which libraries were started, by their names.
_started = {}


def check(name: str, library: str):
    """Raises an AskError where a library would hang.

    Neither TensorFlow nor gRPC runs in a process that was forked after they
    were started: their threads are not there.

    Args:
        name: What is to be asked.
        library: What is about to be used.
    """
    process = _started.setdefault(library, os.getpid())
    if process != os.getpid():
        raise AskError(
            f"{name}: {library} was started in process {process}, before this "
            "one was forked from it, and would hang here. Load models after "
            "the fork only, or start processes by 'spawn'."
        )
