"""Suppression of messages while libraries start."""

import contextlib
import os
import sys


def hide_notes() -> None:
    """Has TensorFlow tell of errors only, if it is not imported yet.

    A command tells itself what matters; TF_CPP_MIN_LOG_LEVEL=0 shows the rest.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


@contextlib.contextmanager
def quiet():
    """Hides what the libraries write to standard error as they start.

    TensorFlow, if it is imported inside, also looks for devices, of which it
    tells. Set TF_CPP_MIN_LOG_LEVEL=0 to see it.
    """
    # Where standard error is closed, another file may have its number.
    if os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0" or sys.stderr is None:
        yield
        return
    sys.stderr.flush()
    kept = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
        if "tensorflow" in sys.modules:
            sys.modules["tensorflow"].config.list_physical_devices()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
