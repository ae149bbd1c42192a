"""Shared parts of the serving commands: flags, printing, exit statuses."""

import contextlib
import dataclasses
import gc
import os
import sys
from typing import Literal

from tfcopy.flags import File, NonNegativeInt, PositiveFloat, PositiveInt
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import hide_notes, one_line


@dataclasses.dataclass(kw_only=True)
class LoadingOptions:
    """Flags of how an export is loaded, as in `LocalModel`.

    Attributes:
        engine: what searches: litert or tensorflow; if not given litert, where
            the export has its programs, LiteRT is installed, and it is faster
        trust: run even operations that no export has, such as writing files
    """

    engine: Literal["litert", "tensorflow"] | None = None
    trust: bool = False

    @property
    def loading(self) -> dict:
        return {"engine": self.engine, "trust": self.trust}


def start(main):
    """Runs a command as the process, and ends it.

    Answers come from several batches at once, which share the cores best if
    each computes with one thread, as TensorFlow's variable says.
    """
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    status = main()
    # Python would look for garbage among all objects of TensorFlow, seconds.
    gc.freeze()
    sys.exit(status)


def run(program, work) -> int:
    """Does the work of a command; returns its exit status.

    Errors are one line; TFCOPY_DEBUG=1 shows where they come from.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # closed, or none of Python's
            # Names of files may have bytes that are no text.
            stream.reconfigure(errors="backslashreplace")
    hide_notes()
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
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


@dataclasses.dataclass(kw_only=True)
class ConnectionOptions:
    """Flags of the connection to a server.

    Attributes:
        version: version to ask (default: the highest)
        label: label of the version to ask, instead of --version
        at_once: concurrent requests, of --batch_size lines each
        deadline: seconds until a request fails, retries included
        retries: retries of a request if the server is not ready
        tls: use TLS for gRPC (for REST: https://)
        root_certificate: PEM file of certificates to verify the server;
            implies --tls
    """

    version: PositiveInt | None = None
    label: str | None = None
    at_once: PositiveInt = 4
    deadline: PositiveFloat = 60.0
    retries: NonNegativeInt = 5
    tls: bool = False
    root_certificate: File | None = None

    def __post_init__(self):
        if self.version is not None and self.label is not None:
            raise ValueError("--label: not allowed with --version")


def connection_options(options) -> dict:
    """Returns the arguments of a `Connection` that the flags give, by name."""
    names = {field.name for field in dataclasses.fields(ConnectionOptions)}
    return {name: getattr(options, name) for name in names - {"at_once"}}
