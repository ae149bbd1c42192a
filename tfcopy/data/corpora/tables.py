"""Columns of tables: CSV, TSV and JSON Lines, plain or compressed."""

import csv
import dataclasses
import os
from collections.abc import Iterator
from typing import Any

from tfcopy import file_formats
from tfcopy.data.corpora import corpus
from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.file_formats import FormError, parse_json, shorten_json

_SUFFIXES = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_LONGEST_CELL = 1 << 24  # characters; Python's own limit is 131,072

PathLike = str | os.PathLike


def load(
    train: PathLike,
    validation: PathLike | None = None,
    test: PathLike | None = None,
    *,
    source_column: str | int,
    target_column: str | int,
    **options,
) -> corpus.TranslationCorpus:
    """Reads a corpus from two columns of tables in UTF-8.

    - CSV as in RFC 4180: commas, and quotes around cells that hold commas,
      quotes (doubled) or line ends.
    - TSV: cells separated by tabs, one row per line; quotes are text.
    - JSON Lines: an object per line; its keys are the columns, the two texts
      are strings, and `null` is an empty text.

    The name of each file shows its format. The first row of CSV and TSV holds
    names if a column is given by name.

    Every file is checked from its first row to its last before anything is
    returned. All rows must have the same number of cells. A row with a blank
    side is skipped and counted.

    Args:
        train: The file of the training pairs.
        validation: The file of the validation pairs. If `None`, pairs spread
            evenly over `train` are held out.
        test: The file of the test pairs; held out as well if `None`.
        source_column: Name of the column of the sources, or in CSV and TSV
            its number, from 1 (`"1"` is a number, too).
        target_column: Name or number of the column of the targets.
        **options: `source_language`, `target_language`, `num_held_out` (for
            each split that has no file), `seed`, `tokenized`: as in
            `translation_corpus`.
    """
    columns = (source_column, target_column)

    def check(path):
        return path and corpus.CheckedPairs.check(
            str(path),
            Table.open(path, columns).read,
            "Give tables with one pair of texts a row.",
        )

    return corpus.translation_corpus(
        map(check, (train, validation, test)),
        os.path.basename(train),
        **options,
    )


@dataclasses.dataclass(frozen=True)
class Node:
    """A value of a JSON text.

    Args:
        path: The file, and the line if it has a value on each.
        place: Position in the text, such as `data[0].paragraphs`; `""` is the
            top.
        value: The value, as read by the module `json`.
    """

    path: PathLike
    place: str
    value: Any

    @classmethod
    def parse(
        cls, path: PathLike, text: str, line: int | None = None
    ) -> "Node":
        """Parses a text.

        Args:
            path: The file.
            text: Text of the file or of one line.
            line: Number of that line.

        Raises:
            CorpusError: naming the line.
        """
        try:
            place = f"{path}, line {line}" if line else path
            return cls(place, "", parse_json(text))
        except FormError as error:
            number = line or error.line
            place = f"{path}, line {number}" if number else path
            advice = "Mend it, or fetch the file again"
            if line:
                advice = "Expected an object a line"
            raise corpus.CorpusError(
                f"{place}: not valid JSON ({error}). {advice}."
            ) from error

    def nodes(self, key: str) -> Iterator["Node"]:
        """Yields the values of the list under this key."""
        place = f"{self.place}.{key}" if self.place else key
        for i, value in enumerate(self._get(key, list, "a list")):
            yield Node(self.path, f"{place}[{i}]", value)

    def text(self, key: str, null: str | None = None) -> str:
        """Returns the string under this key, which is valid Unicode.

        Args:
            key: The key.
            null: The string to return for a `null`, which is refused if `None`.
        """
        if null is not None and self.object.get(key, "") is None:
            return null
        text = self._get(key, str, "a string")
        try:
            text.encode()
        except UnicodeEncodeError:  # "\ud800", half a character
            raise self.error(
                f"{key}: not valid Unicode, half a character"
            ) from None
        return text

    def integer(self, key: str) -> int:
        """Returns the integer under this key."""
        return self._get(key, int, "an integer")

    def error(self, message: str) -> corpus.CorpusError:
        """Returns an error whose message names the file and position."""
        place = f"{self.place}: " if self.place else ""
        return corpus.CorpusError(f"{self.path}: {place}{message}.")

    @property
    def object(self) -> dict:
        """The value, which must be an object."""
        if not isinstance(self.value, dict):
            raise self.error(
                f"expected an object. Received: {shorten_json(self.value, 200)}"
            )
        return self.value

    def _get(self, key, kind, noun):
        if key not in self.object:
            names = ", ".join(self.object) or "none"
            raise self.error(f"no {key!r}; the object has: {names[:200]}")
        value = self.value[key]
        if not isinstance(value, kind) or isinstance(value, bool):
            raise self.error(
                f"{key}: expected {noun}. Received: {shorten_json(value, 200)}"
            )
        return value


@dataclasses.dataclass(frozen=True)
class Table:
    """Selected columns of a table file; made by `open`."""

    path: PathLike
    columns: tuple[str | int, ...]
    format: str
    is_ragged: bool = False

    @classmethod
    def open(
        cls,
        path: PathLike,
        columns: tuple[str | int, ...],
        format: str | None = None,
        is_ragged: bool = False,
    ) -> "Table":
        """Makes a table from the arguments of users.

        Args:
            path: The file.
            columns: Names or numbers of columns, as in `load`.
            format: `"csv"`, `"tsv"` or `"jsonl"`; by default according to the
                name of the file.
            is_ragged: Whether rows may lack the last cells of the first row, if
                these belong to none of `columns`.
        """
        columns = tuple(map(_column, columns))
        return cls(path, columns, format or _format(path), is_ragged)

    def read(self) -> Iterator[tuple[str, ...]]:
        """Yields the texts of all rows; the texts of a blank line are empty."""
        return (texts for _, texts in self.rows())

    def rows(self) -> Iterator[tuple[int, tuple[str, ...]]]:
        """Yields the texts of all rows with their line numbers, from 1."""
        if self.format == "jsonl":
            return self._read_objects()
        return self._read_cells()

    def names(self) -> list[str]:
        """Returns the cells of the first row, or the keys of an object."""
        if self.format != "jsonl":
            rows = (row for _, row in self._cells() if not _is_blank(row))
            return next(rows, [])
        return next((list(x.object) for _, x in self._objects() if x), [])

    def error(self, number: int, message: str) -> corpus.CorpusError:
        """Returns an error that names the file and the line."""
        return corpus.CorpusError(
            f"{self.path}, line {number}: {message.rstrip('.')}"
            + "." * (not message.endswith("?"))
        )

    def _read_objects(self):
        keys = list(map(str, self.columns))
        for number, row in self._objects():
            yield number, tuple(row.text(x, "") if row else "" for x in keys)

    def _objects(self):
        """Yields the number and `Node` of each line; `None` if it is blank."""
        for number, line in enumerate(read_lines(self.path), start=1):
            is_blank_line = not line.strip()
            yield (
                number,
                None if is_blank_line else Node.parse(self.path, line, number),
            )

    def _read_cells(self):
        places = width = None
        for number, row in self._cells():
            is_blank_line = _is_blank(row)
            if width is None and not is_blank_line:
                width = len(row)
                places = [self._place(number, row, c) for c in self.columns]
                if any(isinstance(column, str) for column in self.columns):
                    continue
            if is_blank_line:
                yield number, ("",) * len(self.columns)
                continue
            is_short = self.is_ragged and max(places) < len(row) < width
            if len(row) != width and not is_short:
                raise self.error(
                    number,
                    f"expected {width} columns, as in the first row. Received: "
                    f"{len(row)}. {self._hint()}",
                )
            yield number, tuple(row[place] for place in places)

    def _cells(self):
        return self._csv_rows() if self.format == "csv" else self._tsv_rows()

    def _place(self, number, first_row, column):
        """Returns the index of a column given by name or number."""
        if isinstance(column, int):
            if not 1 <= column <= len(first_row):
                raise self._missing_column(number, column, first_row)
            return column - 1
        if column not in first_row:
            raise self._missing_column(number, column, first_row)
        if first_row.count(column) > 1:
            raise self.error(
                number,
                f"several columns are called {column!r}. Give the number of "
                "the one you want, from 1",
            )
        return first_row.index(column)

    def _tsv_rows(self):
        for number, line in enumerate(read_lines(self.path), start=1):
            yield number, line.split("\t")

    def _csv_rows(self):
        # A limit of the whole process, which is never lowered.
        csv.field_size_limit(max(csv.field_size_limit(), _LONGEST_CELL))
        rows = csv.reader(read_lines(self.path, keep_ends=True), strict=True)
        number = 1
        try:
            for row in rows:
                yield number, row
                number = rows.line_num + 1  # A row may span several lines.
        except csv.Error as error:
            raise self.error(
                number, f"not valid CSV ({error}). {self._hint()}"
            ) from error

    def _hint(self):
        if self.format == "tsv":
            return "Is there a tabulator inside a text?"
        return "Is a quote or a comma inside a text not quoted?"

    def _missing_column(self, number, column, row):
        names = ", ".join(map(repr, row)) or "none"
        there = "there are"
        if isinstance(column, int):
            there += f" {len(row)}"
        return self.error(
            number, f"no column {column!r}; {there}: {_shorten(names)}"
        )


def _column(column):
    """Returns the number or the name of a column; all digits are a number."""
    is_number = isinstance(column, str) and column.isdecimal()
    return int(column) if is_number else column


def _is_blank(row):
    return row in ([], [""])


def _format(path):
    suffix = os.path.splitext(file_formats.plain_name(path))[1]
    if suffix not in _SUFFIXES:
        raise corpus.CorpusError(
            f"{path}: its name does not show its format. Its end must be one "
            f"of {', '.join(_SUFFIXES)}."
        )
    return _SUFFIXES[suffix]


def _shorten(text, length=200):
    return text if len(text) <= length else f"{text[:length]} ..."
