"""What the commands of `tfcopy.serving` share: flags, printing, the end."""

import argparse
import contextlib
import os
import sys

from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import hide_notes, one_line
from tfcopy.terminal import positive as positive


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


def add(parser: argparse.ArgumentParser):
    """Adds the flags to a parser."""
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--version",
        type=positive,
        metavar="V",
        help="version to ask (default: the highest)",
    )
    which.add_argument(
        "--label", metavar="L", help="label of the version to ask"
    )
    parser.add_argument(
        "--at_once",
        type=positive,
        default=4,
        metavar="N",
        help="concurrent requests, of B lines each (default: %(default)s)",
    )
    parser.add_argument(
        "--deadline",
        type=_seconds,
        default=60.0,
        metavar="S",
        help="seconds until a request fails, retries included "
        "(default: %(default)g)",
    )
    parser.add_argument(
        "--retries",
        type=_number,
        default=5,
        metavar="N",
        help="retries of a request if the server is not ready "
        "(default: %(default)s)",
    )
    parser.add_argument(
        "--tls",
        action="store_true",
        help="use TLS for gRPC (for REST: https://)",
    )
    parser.add_argument(
        "--root_certificate",
        metavar="FILE",
        help="PEM file of certificates to verify the server; implies --tls",
    )


def connection_options(options) -> dict:
    """What the flags say of a `Connection`, by the names of its arguments."""
    names = (
        "version",
        "label",
        "deadline",
        "retries",
        "tls",
        "root_certificate",
    )
    return {name: getattr(options, name) for name in names}


def _seconds(text):
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a positive number of seconds"
        )
    return seconds


def _number(text):
    return 0 if text == "0" else positive(text)
