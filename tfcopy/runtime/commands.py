"""Shared parts of the serving commands: flags, output, exit statuses."""

import contextlib
import dataclasses
import gc
import os
import sys
from typing import Literal

from tfcopy.flags import File, NonNegativeInt, PositiveFloat, PositiveInt
from tfcopy.runtime.signatures import AskError, server_of
from tfcopy.terminal import hide_notes, one_line


@dataclasses.dataclass(kw_only=True)
class LoadingOptions:
    """Flags for loading an export, as in `LocalModel`.

    Attributes:
        engine: engine of the search, litert or tensorflow; by default litert,
            if the export has its programs, it is installed, and it is faster
        trust: allow operations that no export has, such as writing files
    """

    engine: Literal["litert", "tensorflow"] | None = None
    trust: bool = False

    @property
    def loading(self) -> dict:
        return {"engine": self.engine, "trust": self.trust}


def start(main):
    """Runs a command as the process, and exits with its status.

    Several batches run concurrently, and share the cores best if each uses one
    thread, which TensorFlow's environment variable sets.
    """
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    status = main()
    # A last garbage collection over TensorFlow's objects would take seconds.
    gc.freeze()
    sys.exit(status)


def run(program, work) -> int:
    """Runs the work of a command, and returns its exit status.

    Errors are printed in one line; TFCOPY_DEBUG=1 shows the traceback.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # closed, or replaced
            # File names may have bytes that are not UTF-8.
            stream.reconfigure(errors="backslashreplace")
    hide_notes()
    try:
        work()
        write(b"")  # flushes earlier prints
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:  # The reader has closed the pipe.
        return 0
    except Exception as error:
        if os.environ.get("TFCOPY_DEBUG"):
            raise
        # Nothing to print to if standard error is closed.
        if sys.stderr is not None:
            with contextlib.suppress(OSError):
                print(f"{program}: {one_line(error)}", file=sys.stderr)
        return 2
    return 0


def write(answer: bytes):
    """Writes to standard output and flushes it.

    Raises:
        AskError: If the disk is full, or standard output is closed.
        BrokenPipeError: If the reader has closed the pipe.
    """
    if sys.stdout is None:
        raise AskError("standard output is closed.")
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(answer)
        sys.stdout.buffer.flush()
    except OSError as error:
        # On exit Python would try to write it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        raise AskError(f"standard output: {one_line(error)}.") from None


@dataclasses.dataclass(kw_only=True)
class ModelOptions(LoadingOptions):
    """Flags of the model: an exported folder, or a model on a server.

    Attributes:
        model: exported folder, or ADDRESS/MODEL on a server
        version: version of the model (default: the highest)
        label: label of the version, instead of --version
        at_once: concurrent batches (default: one for each core, or 4 for a
            server)
        deadline: seconds until a request to a server fails, retries included
            (default: 60)
        retries: retries of a request if the server is not ready (default: 5)
        root_certificate: PEM file of certificates to verify the server
    """

    positional = {"model": "MODEL"}

    model: str
    version: NonNegativeInt | None = None
    label: str | None = None
    at_once: PositiveInt | None = None
    deadline: PositiveFloat | None = None
    retries: NonNegativeInt | None = None
    root_certificate: File | None = None

    def __post_init__(self):
        if self.version is not None and self.label is not None:
            raise ValueError("--label: not allowed with --version")
        try:
            self.server, self.model = server_of(self.model)
        except AskError as error:
            raise ValueError(error) from error
        if self.server is None:
            for name in self.connection.keys() - {"version"}:
                raise ValueError(
                    f"--{name} is for a model on a server, ADDRESS/MODEL"
                )

    @property
    def connection(self) -> dict:
        """Returns the given arguments of a `Connection`, by name."""
        names = ("version", "label", "deadline", "retries", "root_certificate")
        given = {name: getattr(self, name) for name in names}
        return {name: x for name, x in given.items() if x is not None}

    def connect(self):
        """Returns a `Connection` to the model on a server.

        Raises:
            AskError: If the model is a folder.
        """
        # Imported late, so that --help is fast.
        from tfcopy.runtime.remote_model import Connection

        if self.server is None:
            raise AskError(
                f"{self.model}: --status is for a model on a server, "
                "ADDRESS/MODEL."
            )
        return Connection(self.server, self.model, **self.connection)

    def open(self):
        """Opens the model and returns an `ExportedModel`.

        Raises:
            AskError: If the model cannot be loaded.
        """
        # Imported late, so that --help is fast.
        from tfcopy.runtime.exported_model import open_model

        return open_model(
            *(self.server, self.model),
            batch_size=self.batch_size,
            at_once=self.at_once,
            **self.loading,
            **self.connection,
        )
