"""Files of texts, read in blocks of so many records."""

import dataclasses
import gzip
import itertools
import os
from collections.abc import Iterator

from tfcopy import file_forms, filesystem
from tfcopy.error_lines import one_line
from tfcopy.serving.batch_answers.record_blocks import (
    Block,
    ExampleBlock,
    JsonBlock,
    TableBlock,
)
from tfcopy.serving.client_library.signatures import AskError

# Endings of names, and what is in such files; any other has lines of text.
_KINDS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".parquet": "parquet",
}
_BUFFER = 1 << 20  # bytes


@dataclasses.dataclass(frozen=True)
class Part:
    """Some of the records of a file.

    Attributes:
        path: The file.
        number: The number of the first block, from 0.
        offset: The byte where it begins.
        blocks: How many blocks; `None` for all to the end of the file.
    """

    path: str
    number: int = 0
    offset: int = 0
    blocks: int | None = None


def kind_of(path) -> str:
    """What a file holds by its name, without that of its compression."""
    _, end = os.path.splitext(file_forms.plain_name(path))
    return _KINDS.get(end, "text")


def output_name(path, number: int) -> str:
    """The name of the file of a block's answers: `a-00003.jsonl.gz`.

    They are compressed by gzip if the file's name says that it is, and
    otherwise not.
    """
    name = os.path.basename(path)
    end = ".gz" * name.endswith(".gz")
    stem, extension = os.path.splitext(file_forms.plain_name(name))
    return f"{stem}-{number:05d}{extension}{end}"


def check(path) -> None:
    """Raises an AskError if a file is none of those that its name says."""
    kind = kind_of(path)
    try:
        with filesystem.open(path, "rb") as file:
            if kind in ("text", "jsonl"):
                file_forms.plain(file, path).close()
            elif kind == "parquet" and file.peek(4)[:4] != b"PAR1":
                raise AskError(f"{path}: no file of Parquet.")
    except file_forms.FormError as error:
        raise AskError(str(error)) from error
    except OSError as error:
        raise AskError(f"{path}: {error.strerror or error}.") from error


def parts(path, size: int) -> list[Part]:
    """Parts of a file that can be read one without the other.

    Plain lines are read from any block on; all else from the start.
    """
    if kind_of(path) not in ("text", "jsonl"):
        return [Part(path)]
    found, offset = [], 0
    with (
        filesystem.open(path, "rb") as raw,
        file_forms.plain(raw, path, keep_mark=True) as file,
    ):
        if file is not raw:
            return [Part(path)]
        while lines := list(itertools.islice(file, size)):
            found.append(Part(path, len(found), offset, 1))
            offset += sum(map(len, lines))
    return found


def read(part: Part, size: int) -> Iterator[Block]:
    """The blocks of a part, each of `size` records but for a file's last.

    Raises:
        AskError: If the file cannot be read, naming it.
    """
    read_some, block = {
        "text": (_read_lines, Block),
        "jsonl": (_read_lines, JsonBlock),
        "tfrecord": (_read_tfrecord, ExampleBlock),
        "parquet": (_read_parquet, TableBlock),
    }[kind_of(part.path)]
    blocks = read_some(part, size)
    number = part.number
    try:
        for records in itertools.islice(blocks, part.blocks):
            yield block(part.path, number, number * size, records)
            number += 1
    except (AskError, file_forms.FormError):
        raise
    except Exception as error:  # of three libraries
        raise AskError(
            f"{part.path}: cannot be read after record {number * size} "
            f"({one_line(error)})."
        ) from error


def _read_lines(part, size):
    with (
        filesystem.open(part.path, "rb") as raw,
        file_forms.plain(raw, part.path, keep_mark=True) as file,
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


def _read_tfrecord(part, size):
    import tensorflow as tf

    with filesystem.open(part.path, "rb") as file:
        is_gzip = file.peek(2)[:2] == b"\x1f\x8b"
        if is_gzip:  # For TensorFlow a file that is cut off just ends.
            whole = gzip.open(file)
            while whole.read(_BUFFER):
                pass
    records = iter(
        tf.data.TFRecordDataset(
            os.fsencode(part.path), "GZIP" if is_gzip else None
        )
    )
    while some := list(itertools.islice(records, size)):
        yield [x.numpy() for x in some]
