"""JSON files whose values know their position."""

import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.corpora.text_lines import read_lines
from tfcopy.json_text import JsonError, parse_json, shortened


@dataclasses.dataclass(frozen=True)
class Node:
    """A value of a JSON file.

    Args:
        path: The file.
        place: Its position, such as `data[0].paragraphs`; `""` is the top.
        value: Its value, as read by the module `json`.
    """

    path: str | os.PathLike
    place: str
    value: Any

    @classmethod
    def read(cls, path: str | os.PathLike) -> "Node":
        """The top of a UTF-8 file, plain or compressed.

        Raises:
            CorpusError: naming the line.
        """
        text = "".join(read_lines(path, keep_ends=True))
        try:
            return cls(path, "", parse_json(text))
        except JsonError as error:
            place = f", line {error.line}" * (error.line is not None)
            raise CorpusError(
                f"{path}{place}: not valid JSON ({error}). Mend it, or fetch "
                "the file again."
            ) from error

    def nodes(self, key: str) -> Iterator["Node"]:
        """The values of the list under this key."""
        values = self._get(key, list, "a list")
        for i, value in enumerate(values):
            yield Node(self.path, f"{self._place_of(key)}[{i}]", value)

    def text(self, key: str) -> str:
        """The string under this key, which is valid Unicode."""
        text = self._get(key, str, "a string")
        try:
            text.encode()
        except UnicodeEncodeError:  # "\ud800", half a character
            raise self.error(
                f"{key}: not valid Unicode, half a character"
            ) from None
        return text

    def integer(self, key: str) -> int:
        """The integer under this key."""
        return self._get(key, int, "an integer")

    def error(self, message: str) -> CorpusError:
        """An error that names file and position."""
        return CorpusError(f"{self.path}: {self.place or 'top'}: {message}.")

    def _get(self, key, kind, noun):
        if not isinstance(self.value, dict):
            raise self.error(
                f"expected an object. Received: {shortened(self.value, 80)}"
            )
        if key not in self.value:
            names = ", ".join(self.value) or "none"
            raise self.error(f"no {key!r}; the object has: {names[:200]}")
        value = self.value[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(
                f"{key}: expected {noun}. Received: {shortened(value, 80)}"
            )
        return value

    def _place_of(self, key):
        return f"{self.place}.{key}" if self.place else key
