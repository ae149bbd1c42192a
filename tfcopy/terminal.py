"""Output of commands: start, exit status, errors in one line, progress.

A closed pipe or terminal, or a full disk, loses the text that cannot be
written, but does not end the work.
"""

import contextlib
import errno
import gc
import os
import re
import sys

from tfcopy import atomic_files

# What terminals may obey instead of showing it, and ends of line.
_CONTROLS = dict.fromkeys([*range(32), *range(127, 160), 0x2028, 0x2029], " ")
_LONGEST, _NEAR = 1000, 100
_NO_MEMORY = "Out of memory"
# Errors that the user can mend: wrong input, files, packages. A disk that is
# full, or broken, is a failure.
_MENDABLE = (ImportError, OSError, ValueError)
_FULL = {errno.EDQUOT, errno.EIO, errno.ENOSPC}
# Type and step that Beam adds to an error's message.
_BEAM = re.compile(r"^tfcopy\.[\w.]+: | \[while running '.*", re.DOTALL)
# Text around the reason in a TensorFlow error.
_AROUND = re.compile(
    r"\{\{[^{}\n]*\}\}|\[\[[^\[\]\n]*\]\]|\[Op:.*|\(\d+\) [A-Z_]+: "
    r"|\b\d+ root error\(s\) found\.|^Hint: .*|^Graph execution error:"
    r"|^Detected at node .*|^<stack traces unavailable>|^  File .*",
    re.MULTILINE,
)
# Extras, and the packages that they install and not everything needs.
_EXTRAS = {
    "train": "huggingface_hub keras keras_hub rouge_score sacrebleu "
    "tensorboard tensorflow tensorflow_datasets tensorflow_text yaml",
    "serve": "fastapi_offline limits prometheus_client py3langid "
    "python_multipart regex",
    "beam": "apache_beam",
    "catalogs": "rapidfuzz",
    "demo": "uvicorn",
    "jieba": "jieba",
    "projection": "sklearn",
}
_EXTRA_OF = {x: extra for extra, xs in _EXTRAS.items() for x in xs.split()}
_TENSOR = re.compile(r"OOM when allocating tensor with (shape\[[\d,]*\])")


def one_line(error) -> str:
    """Returns an error's message in one line, without control characters.

    It names the extra that installs a missing package.

    Args:
        error: An exception, or a text.
    """
    if isinstance(error, MemoryError):
        text = f"{_NO_MEMORY}: {error}" if str(error) else f"{_NO_MEMORY}."
    elif isinstance(error, UnicodeEncodeError):
        # A name is shown in full, a page around the place.
        near = slice(max(0, error.start - _NEAR), error.end + _NEAR)
        text = f"{error.object[near]}: not UTF-8."
    elif type(error).__module__.startswith("tensorflow"):
        text = _tensorflow_reason(str(error))
    elif isinstance(error, ModuleNotFoundError) and error.name in _EXTRA_OF:
        how = how_to_install(_EXTRA_OF[error.name])
        text = f"{error.name} is not installed: {how}"
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}"
        if error.filename is not None:
            text = f"{error.filename}: {text}"
    else:
        text = _BEAM.sub("", str(error))
    text = " ".join(printable(text).split())
    if not text and not isinstance(error, str):
        text = type(error).__name__
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ..."
    return text


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


def run(program, work, *, tolerant=False) -> int:
    """Runs the work of a command, and returns its exit status.

    Errors are printed in one line, `PROGRAM: message`; TFCOPY_DEBUG=1 shows the
    traceback. The status is 2 for what the user can mend, 1 for a failure, an
    exception's `exit_code` if it has one, and 130 for an interruption. Folders
    that the work made and left empty are removed.

    Args:
        program: Name of the command in its messages.
        work: Function without arguments.
        tolerant: Whether output that cannot be written is dropped. Otherwise
            it ends the command, quietly if its reader has closed the pipe.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError):  # closed, or replaced
            # File names may have bytes that are not UTF-8.
            stream.reconfigure(errors="backslashreplace")
    # TensorFlow's notes and warnings; 0 shows them.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    with tolerant_output() if tolerant else contextlib.nullcontext():
        try:
            with atomic_files.remove_empty_folders():
                work()
            if not tolerant:
                write(b"")  # flushes earlier prints
        except (Exception, KeyboardInterrupt) as error:
            if isinstance(error, BrokenPipeError) and not tolerant:
                return 0
            status = _status(error)
            if status in (1, 2) and os.environ.get("TFCOPY_DEBUG"):
                raise
            if str(error) or not isinstance(error, KeyboardInterrupt):
                report(program, error)
            return status
    return 0


def report(program, error):
    """Prints an error in one line to standard error, if that can be written."""
    if sys.stderr is not None:
        with contextlib.suppress(OSError):
            print(f"{program}: {one_line(error)}", file=sys.stderr)


def _status(error):
    """Returns the exit status of a command that an exception ends."""
    if isinstance(error, KeyboardInterrupt) or hasattr(error, "exit_code"):
        return getattr(error, "exit_code", 130)
    is_full = getattr(error, "errno", None) in _FULL
    return 2 if isinstance(error, _MENDABLE) and not is_full else 1


def write(answer: bytes):
    """Writes to standard output and flushes it.

    Raises:
        OSError: If the disk is full, or standard output is closed.
        BrokenPipeError: If the reader has closed the pipe.
    """
    if sys.stdout is None:
        raise OSError("standard output is closed.")
    try:
        sys.stdout.flush()
        if answer:
            sys.stdout.buffer.write(answer)
            sys.stdout.buffer.flush()
    except OSError as error:
        # On exit Python would try to write it again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):
            raise
        reason = f"standard output: {one_line(error)}."
        raise OSError(error.errno, reason) from None


def how_to_install(extra: str) -> str:
    """Returns how to install an extra: no package index has this project."""
    return f'pip install -e ".[{extra}]" in a clone of tfcopy'


def quantify(number: int, noun: str) -> str:
    """Returns a number of things, such as `1 file` or `2,000 files`."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def align_rows(rows, left: int = 1) -> list[str]:
    """Returns the lines of a table, two blanks between its columns.

    Args:
        rows: Lists of equally many texts.
        left: Number of columns that begin alike; the others end alike.
    """
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        cells = [x.ljust(width) for x, width in zip(row[:left], widths)]
        cells += [x.rjust(w) for x, w in zip(row[left:], widths[left:])]
        lines.append("  ".join(cells))
    return lines


def printable(text: str) -> str:
    """Replaces control characters and ends of line by blanks.

    The rest is `encodable`.
    """
    return encodable(text.translate(_CONTROLS))


def encodable(text: str) -> str:
    """Escapes halves of characters, such as `\\ud800`, which no file can hold.

    Bytes in names of files that are no text are such halves, too.
    """
    return text.encode("utf-8", "backslashreplace").decode()


def to_one_line(text: str) -> str:
    """Returns a text of the data in one line, without control characters."""
    return printable(" ".join(text.splitlines()))


def _tensorflow_reason(text):
    """Returns the line of a TensorFlow error that holds the reason."""
    tensor = _TENSOR.search(text)
    if tensor:
        return f"{_NO_MEMORY}: there is none for a tensor of {tensor[1]}."
    lines = (line.strip() for line in _AROUND.sub("", text).splitlines())
    return next(filter(None, lines), "")


@contextlib.contextmanager
def quiet():
    """Hides what the libraries write to standard error as they start.

    If TensorFlow is imported inside, it also looks for devices, which prints
    more. TF_CPP_MIN_LOG_LEVEL=0 shows all of it.
    """
    if not _may_hide():
        yield
        return
    kept = os.dup(2)
    hide_errors()
    try:
        yield
        if "tensorflow" in sys.modules:
            sys.modules["tensorflow"].config.list_physical_devices()
    finally:
        os.dup2(kept, 2)
        os.close(kept)


def hide_errors() -> None:
    """Drops what is written to standard error from here on."""
    if _may_hide():
        sys.stderr.flush()
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 2)


def _may_hide():
    # Where standard error is closed, another file may have its number.
    wanted = os.environ.get("TF_CPP_MIN_LOG_LEVEL") == "0"
    return not wanted and sys.stderr is not None


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
    """Replaces standard output and error by tolerant streams."""
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
    """Suppresses errors from flushing closed streams at exit."""
    try:
        stream.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, stream.fileno())
            os.close(nowhere)
    except AttributeError:
        pass  # There is none.
