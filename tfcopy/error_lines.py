"""Errors in one line, as the commands tell them."""

import argparse
import os
import re
import sys

from tfcopy.quiet import hide_notes
from tfcopy.tolerant_output import tolerant_output

# What terminals may obey instead of showing it.
_CONTROLS = dict.fromkeys([*range(32), *range(127, 160)], " ")
_LONGEST = 1000
_NO_MEMORY = "Out of memory"
# What TensorFlow says around the reason of an error.
_AROUND = re.compile(
    r"\{\{[^{}\n]*\}\}|\[\[[^\[\]\n]*\]\]|\[Op:.*|\(\d+\) [A-Z_]+: "
    r"|\b\d+ root error\(s\) found\.|^Hint: .*|^Graph execution error:"
    r"|^Detected at node .*|^<stack traces unavailable>|^  File .*",
    re.MULTILINE,
)
_TENSOR = re.compile(r"OOM when allocating tensor with (shape\[[\d,]*\])")


def one_line(error) -> str:
    """What an error says, in one line, without control characters.

    Args:
        error: An exception, or a text.
    """
    if isinstance(error, MemoryError):
        text = f"{_NO_MEMORY}: {error}" if str(error) else f"{_NO_MEMORY}."
    elif isinstance(error, UnicodeEncodeError):
        text = f"{error.object}: not UTF-8."
    elif type(error).__module__.startswith("tensorflow"):
        text = _tensorflow_reason(str(error))
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}"
        if error.filename is not None:
            text = f"{error.filename}: {text}"
    else:
        text = str(error)
    text = " ".join(printable(text).split())
    # Names of files may have bytes that are no text.
    text = text.encode("utf-8", "backslashreplace").decode()
    if not text and not isinstance(error, str):
        text = type(error).__name__
    if len(text) > _LONGEST:
        text = f"{text[:_LONGEST]} ..."
    return text


def status_of(work, reason=one_line) -> int:
    """Does the work of a command; returns its exit status.

    Errors are one line; TFCOPY_DEBUG=1 shows where they come from. Output that
    cannot be written ends nothing.

    Args:
        work: Function without arguments.
        reason: Function of an error, which gives that line.
    """
    hide_notes()
    with tolerant_output():
        try:
            work()
        except KeyboardInterrupt:
            print("\nInterrupted.", file=sys.stderr)
            return 130
        except Exception as error:
            if os.environ.get("TFCOPY_DEBUG"):
                raise
            print(f"Error: {reason(error)}", file=sys.stderr)
            return 1
    return 0


def positive(text: str) -> int:
    """The number that a flag is given."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return int(text)


def printable(text: str) -> str:
    """A text with a blank in the place of each control character."""
    return text.translate(_CONTROLS)


def shown(text: str) -> str:
    """A text of the data in one line, without what a terminal might obey."""
    return printable(" ".join(text.splitlines()))


def _tensorflow_reason(text):
    """The line that says why, of an error with the way there around it."""
    tensor = _TENSOR.search(text)
    if tensor:
        return f"{_NO_MEMORY}: there is none for a tensor of {tensor[1]}."
    lines = (line.strip() for line in _AROUND.sub("", text).splitlines())
    return next(filter(None, lines), "")
