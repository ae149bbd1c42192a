"""JSON that others wrote: what cannot be read is one kind of error."""

import json
from typing import Any


class JsonError(ValueError):
    """A text is no JSON, or none that can be read; says why.

    Attributes:
        line: The number of the line, from 1, or `None` if it is no one line.
    """

    def __init__(self, reason: str, line: int | None = None):
        super().__init__(reason)
        self.line = line


def parse_json(text: str | bytes) -> Any:
    """The value of a text, as the module `json` reads it.

    So NaN and Infinity are numbers, and strings may hold half a character. An
    integer that is longer than Python reads is infinity, as 1e400 is.

    Args:
        text: The text, which may begin with a byte order mark if it is `bytes`
            (of UTF-8).

    Raises:
        JsonError: If it is not valid JSON, or nested too deep.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return json.loads(text, parse_int=_integer)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise JsonError("not valid UTF-8", line) from error
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at character {error.colno}"
        raise JsonError(reason, error.lineno) from error
    except RecursionError as error:
        raise JsonError("it is nested too deep") from error


def shortened(value, length: int) -> str:
    """A value of JSON as JSON, cut off after so many characters."""
    try:
        text = json.dumps(value)
    except RecursionError:  # almost too deep to be read
        return "a value that is nested too deep"
    return text if len(text) <= length else f"{text[:length]} ..."


def _integer(digits):
    try:
        return int(digits)
    except ValueError:
        return float(digits)
