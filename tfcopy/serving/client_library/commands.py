"""How the commands of `tfcopy.serving` begin, print and end."""

import argparse
import contextlib
import os
import sys

from tfcopy.error_lines import one_line
from tfcopy.error_lines import positive as positive
from tfcopy.quiet import hide_notes
from tfcopy.serving.client_library.signatures import AskError


def add_trust(parser: argparse.ArgumentParser):
    """Adds the flag that lets an export do whatever it likes."""
    parser.add_argument(
        "--trust",
        action="store_true",
        help="run even operations that no export has, such as writing files",
    )


def start(main):
    """Runs a command as the process, and ends it.

    Answers come from several batches at once, which share the cores best if
    each computes with one thread, as TensorFlow's variable says.
    """
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    sys.exit(main())


def run(program, work) -> int:
    """Does the work of a command; returns its exit status.

    Errors are one line; TFCOPY_DEBUG=1 shows where they come from.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # closed, or none of Python's
            # Names of files may have bytes that are no text.
            stream.reconfigure(errors="backslashreplace")
    hide_notes()
    try:
        work()
        write(b"")  # what was printed
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # The reader has closed the pipe.
        return 0
    except Exception as error:
        if os.environ.get("TFCOPY_DEBUG"):
            raise
        # Where standard error is closed, it cannot be told.
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                print(f"{program}: {one_line(error)}", file=sys.stderr)
        return 2
    return 0


def write(answer: bytes):
    """Writes to standard output, and does not wait for more.

    Raises:
        AskError: If it is full or closed.
        BrokenPipeError: If nobody reads it any more.
    """
    if sys.stdout is None:
        raise AskError("standard output is closed.")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    except OSError as error:
        # Python would write it again as it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise AskError(f"standard output: {one_line(error)}.") from None
