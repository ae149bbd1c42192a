"""Files of texts as blocks of records, and files of answers.

A block keeps its records byte for byte. Texts for a model are read from them,
and the same bytes are written with the answer.
"""

import dataclasses
import functools
import gzip
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any

from tfcopy import file_formats, filesystem
from tfcopy.file_formats import FormError, parse_json
from tfcopy.runtime import ask_texts
from tfcopy.runtime.signatures import ModelError
from tfcopy.terminal import one_line

DICTIONARY = "dictionary"  # field of a list of texts
_UTF_8_MARK = b"\xef\xbb\xbf"


@dataclasses.dataclass(frozen=True)
class Block:
    """Consecutive records of a file: here lines of text.

    Attributes:
        path: Path of the file.
        number: Number of the block in the file, from 0.
        start: Number of its first record, from 0.
        records: The records; lines with their ends.
    """

    path: str
    number: int
    start: int
    records: Any

    def __len__(self) -> int:
        return len(self.records)

    def raw(self, i: int) -> bytes:
        """Returns the bytes of a record; lines without their ends."""
        return self.records[i].rstrip(b"\r\n")

    def rows(self, names: Sequence[str]) -> Iterator[dict | None]:
        """Yields the fields of each record, or `None` if it has none.

        Args:
            names: Names of the fields to read. A text is `str`, or `bytes`
                that may not be UTF-8.
        """
        if len(names) > 1:
            yield from map(_json_object, self.records)
            return
        for i in range(len(self)):
            line = self.raw(i)
            if self.start + i == 0:
                line = line.removeprefix(_UTF_8_MARK)
            yield {names[0]: line}

    def check_name(self, name: str) -> None:
        """Raises an ModelError if a record already has this field."""
        if self._has(name):
            raise ModelError(
                f"{self.path}: there is a field {name!r} already. Name the "
                "field of the answers by --answer_field, and a new --output."
            )

    def _has(self, name):
        return False

    def write(self, path, answers: Sequence, name: str) -> None:
        """Writes the records with their answers.

        Args:
            path: Path of the file to write, compressed by gzip if the name of
                the input says so.
            answers: For each record a text, a JSON object, or `None`.
            name: Name of the field of the answer.
        """
        lines = self._lines(answers, name)
        with open(path, "wb") as file:
            if not self.path.endswith(".gz"):
                file.writelines(lines)
                return
            with gzip.GzipFile("", "wb", 6, file, mtime=0) as packed:
                packed.writelines(lines)

    def _lines(self, answers, name):
        for answer in answers:
            yield (_as_text(answer) or "").encode("utf-8", "replace") + b"\n"


class JsonBlock(Block):
    """Lines of JSON; a line that is not an object has no fields."""

    @functools.cached_property
    def _objects(self):
        return list(map(_json_object, self.records))

    def rows(self, names):
        return iter(self._objects)

    def _has(self, name):
        return any(row is not None and name in row for row in self._objects)

    def _lines(self, answers, name):
        for line, row, answer in zip(self.records, self._objects, answers):
            added = ask_texts.to_json({name: answer})
            if row is None:
                yield added + line[len(line.rstrip(b"\r\n")) :]
                continue
            end = line.rindex(b"}")
            comma = b", " if row else b""
            yield line[:end] + comma + added[1:-1] + line[end:]


class TableBlock(Block):
    """Rows of Parquet, as a `pyarrow.Table`."""

    def raw(self, i):
        """Returns a row as a stream of Arrow."""
        import pyarrow

        sink = pyarrow.BufferOutputStream()
        with pyarrow.ipc.new_stream(sink, self.records.schema) as stream:
            stream.write_table(self.records.slice(i, 1))
        return sink.getvalue().to_pybytes()

    def rows(self, names):
        there = [x for x in names if x in self.records.column_names]
        try:
            columns = [_values(self.records.column(name)) for name in there]
        except KeyError as error:  # columns of the same name
            raise ModelError(f"{self.path}: {error.args[0]}.") from error
        for i in range(len(self)):
            yield {x: column[i] for x, column in zip(there, columns)}

    def _has(self, name):
        return name in self.records.column_names

    def write(self, path, answers, name):
        import pyarrow
        import pyarrow.parquet

        column = pyarrow.array(map(_as_text, answers), pyarrow.string())
        table = self.records.append_column(name, column)
        pyarrow.parquet.write_table(table, path)


def _json_object(line):
    try:
        value = parse_json(line)
    except FormError:
        return None
    return value if isinstance(value, dict) else None


def _values(column):
    """Returns a column of Parquet as Python's values, texts as `bytes`."""
    import pyarrow

    kind = column.type
    if pyarrow.types.is_dictionary(kind):
        column, kind = column.cast(kind.value_type), kind.value_type
    if pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind):
        # Not all writers ensure UTF-8.
        column = column.cast(pyarrow.large_binary())
    return column.to_pylist()


def _as_text(answer):
    """Returns an answer for files whose fields are texts."""
    if answer is None or isinstance(answer, str):
        return answer
    return ask_texts.to_json(answer).decode()


# Blocks of files by the ends of names; others have lines of text.
_BLOCKS = dict.fromkeys((".jsonl", ".ndjson", ".json"), JsonBlock)
_BLOCKS[".parquet"] = TableBlock


@dataclasses.dataclass(frozen=True)
class Part:
    """Some of the records of a file.

    Attributes:
        path: Path of the file.
        number: Number of the first block, from 0.
        offset: Byte at which it begins.
        blocks: Number of blocks; `None` for all to the end of the file.
    """

    path: str
    number: int = 0
    offset: int = 0
    blocks: int | None = None


def _block_of(path):
    """Returns the class of a file's blocks by its name, compressed or not."""
    _, end = os.path.splitext(file_formats.plain_name(path))
    return _BLOCKS.get(end, Block)


def output_name(path, number: int) -> str:
    """Returns the name of a file of answers, such as `a-00003.jsonl.gz`.

    It is compressed by gzip if the name of the input says so. The end of the
    name of a text may be its language, which is not the language of the
    answers: the answers to `t.en` are in `t.en-00003.txt`.
    """
    name = os.path.basename(path)
    end = ".gz" * name.endswith(".gz")
    stem, extension = os.path.splitext(file_formats.plain_name(name))
    if _block_of(path) is Block and extension not in ("", ".txt"):
        stem, extension = stem + extension, ".txt"
    return f"{stem}-{number:05d}{extension}{end}"


def check(path) -> None:
    """Raises an ModelError or a FormError if a file does not match its name."""
    try:
        with filesystem.open(path, "rb") as file:
            if _block_of(path) is not TableBlock:
                file_formats.open_text(file, path).close()
            elif file.peek(4)[:4] != b"PAR1":
                raise ModelError(f"{path}: not a Parquet file.")
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}.") from error


def parts(path, size: int) -> list[Part]:
    """Yields the parts of a file that can be read independently.

    Plain lines can be read from any block on; other files from the start.
    """
    if _block_of(path) is TableBlock:
        return [Part(path)]
    found, offset = [], 0
    with (
        filesystem.open(path, "rb") as raw,
        file_formats.open_text(raw, path, keep_mark=True) as file,
    ):
        if file is not raw:
            return [Part(path)]
        while lines := list(itertools.islice(file, size)):
            found.append(Part(path, len(found), offset, 1))
            offset += sum(map(len, lines))
    return found


def read(part: Part, size: int) -> Iterator[Block]:
    """Yields the blocks of a part, each of `size` records but the last.

    Raises:
        ModelError: If the file cannot be read; the message names it.
    """
    block = _block_of(part.path)
    read_some = _read_parquet if block is TableBlock else _read_lines
    blocks = read_some(part, size)
    number = part.number
    try:
        for records in itertools.islice(blocks, part.blocks):
            yield block(part.path, number, number * size, records)
            number += 1
    except (ModelError, file_formats.FormError):
        raise
    except Exception as error:  # of all kinds
        raise ModelError(
            f"{part.path}: cannot be read after record {number * size} "
            f"({one_line(error)})."
        ) from error


def _read_lines(part, size):
    with (
        filesystem.open(part.path, "rb") as raw,
        file_formats.open_text(raw, part.path, keep_mark=True) as file,
    ):
        if file is raw:
            file.seek(part.offset)
        while lines := list(itertools.islice(file, size)):
            yield lines


def _read_parquet(part, size):
    import pyarrow.parquet

    with (
        filesystem.open(part.path, "rb") as raw,
        pyarrow.parquet.ParquetFile(raw) as file,
    ):
        rows = file.schema_arrow.empty_table()
        for batch in file.iter_batches(batch_size=size):
            rows = pyarrow.concat_tables(
                [rows, pyarrow.Table.from_batches([batch])]
            )
            while len(rows) >= size:
                yield rows.slice(0, size)
                rows = rows.slice(size)
        if len(rows):
            yield rows
