"""Standard output and standard error whose failure ends nothing.

A pipe that is read no longer, a closed terminal and a full disk cost the text
that cannot be written, and not the work that it tells of.
"""

import contextlib
import os
import sys


class TolerantStream:
    """A text stream that drops what cannot be written.

    Args:
        stream: The stream behind it; `None` drops all.
    """

    def __init__(self, stream):
        self._stream = stream or open(os.devnull, "w")

    def write(self, text):
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            self.write(text.encode("ascii", "backslashreplace").decode())
        except (OSError, ValueError):
            pass  # It cannot take it, or is closed.
        return len(text)

    def flush(self):
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()

    def isatty(self):
        with contextlib.suppress(OSError, ValueError):
            return self._stream.isatty()
        return False

    def __getattr__(self, name):
        return getattr(self._stream, name)


@contextlib.contextmanager
def tolerant_output():
    """Context in which all that is printed goes to tolerant streams."""
    streams = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(TolerantStream, streams)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = streams
        for stream in streams:
            _settle(stream)


def open_missing_streams():
    """Opens the standard streams that the process was started without.

    The next file would get their number, and what a library prints.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # the lowest number that is free
    sys.stdout = sys.stdout or open(1, "w", closefd=False)
    sys.stderr = sys.stderr or open(2, "w", closefd=False)


def _settle(stream):
    """Has Python not complain, as it ends, of what cannot be written."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
    except AttributeError:
        pass  # There is none.
