"""Files of texts, read and written in blocks of so many records.

A record is a line of text (`bytes`), or a dict: an object of JSON, a row of
Parquet, or a `tf.train.Example` whose features are single texts or numbers. A
line that is no object of JSON stays `bytes`.
"""

import dataclasses
import gzip
import itertools
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any

from tfcopy import atomic_files, filesystem
from tfcopy.serving.client_library import ask_texts
from tfcopy.serving.client_library.signatures import AskError

# Endings of names, and what is in such files; any other has lines of text.
_KINDS = {
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".tfrecord": "tfrecord",
    ".tfrecords": "tfrecord",
    ".parquet": "parquet",
}
ANSWER = "answer"


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


@dataclasses.dataclass(frozen=True)
class Block:
    """Consecutive records of a file.

    Attributes:
        path: The file.
        number: The number of the block in it, from 0.
        start: The number of its first record, from 0.
        records: List of `bytes` and dicts.
        schema: The schema of Parquet, otherwise `None`.
    """

    path: str
    number: int
    start: int
    records: list
    schema: Any = None


def kind_of(path) -> tuple[str, bool]:
    """What a file holds by its name, and whether it is compressed by gzip."""
    stem, end = os.path.splitext(os.path.basename(path))
    is_gzip = end == ".gz"
    if is_gzip:
        end = os.path.splitext(stem)[1]
    return _KINDS.get(end, "text"), is_gzip


def output_name(path, number: int) -> str:
    """The name of the file of a block's answers: `a-00003.jsonl.gz`."""
    name = os.path.basename(path)
    end = ".gz" if name.endswith(".gz") else ""
    stem, extension = os.path.splitext(name.removesuffix(".gz"))
    return f"{stem}-{number:05d}{extension}{end}"


def parts(path, size: int) -> list[Part]:
    """Parts of a file that can be read one without the other.

    Lines that are not compressed are read from any block on; all else from
    the start.
    """
    kind, is_gzip = kind_of(path)
    if is_gzip or kind not in ("text", "jsonl"):
        return [Part(path)]
    found, offset = [], 0
    with filesystem.open(path, "rb") as file:
        while lines := list(itertools.islice(file, size)):
            found.append(Part(path, len(found), offset, 1))
            offset += sum(map(len, lines))
    return found


def read(part: Part, size: int) -> Iterator[Block]:
    """The blocks of a part, each of `size` records but for a file's last.

    Raises:
        AskError: If the file cannot be read, naming it.
    """
    kind, is_gzip = kind_of(part.path)
    read_some = {"parquet": _read_parquet, "tfrecord": _read_tfrecord}.get(
        kind, _read_lines
    )
    blocks = read_some(part, size, is_gzip)
    number = part.number
    try:
        for records, schema in itertools.islice(blocks, part.blocks):
            if kind == "jsonl":
                records = list(map(_json_object, records))
            yield Block(part.path, number, number * size, records, schema)
            number += 1
    except AskError:
        raise
    except Exception as error:  # of three libraries
        raise AskError(
            f"{part.path}: cannot be read after record {number * size} "
            f"({error})."
        ) from error


def write(path, block: Block, answers: Sequence) -> None:
    """Writes a block's records with their answers, in the form of its file.

    Lines are answered by lines; other records get a field `answer`. A file is
    written as a whole or not at all.

    Args:
        path: The file to write.
        block: The records.
        answers: For each record a text, an object of JSON, or `None`.
    """
    kind, is_gzip = kind_of(block.path)
    with atomic_files.replacement(path) as new:
        if kind == "parquet":
            _write_parquet(new, block, answers)
        elif kind == "tfrecord":
            _write_tfrecord(new, block, answers, is_gzip)
        else:
            form = _text_line if kind == "text" else _json_line
            lines = map(form, block.records, answers)
            data = b"".join(line + b"\n" for line in lines)
            with open(new, "wb") as file:
                file.write(gzip.compress(data, 6, mtime=0) if is_gzip else data)


# === Lines ===


def _read_lines(part, size, is_gzip):
    with filesystem.open(part.path, "rb") as raw:
        raw.seek(part.offset)
        file = gzip.GzipFile(fileobj=raw, mode="rb") if is_gzip else raw
        while lines := list(itertools.islice(file, size)):
            yield [line.rstrip(b"\r\n") for line in lines], None


def _json_object(line):
    try:
        value = json.loads(line)
    except ValueError:
        return line
    return value if isinstance(value, dict) else line


def _text_line(record, answer):
    return (_as_text(answer) or "").encode("utf-8", "replace")


def _json_line(record, answer):
    row = record if isinstance(record, dict) else {}
    return ask_texts.to_json({**row, ANSWER: answer})


def _as_text(answer):
    """An answer for files whose fields are texts."""
    if answer is None or isinstance(answer, str):
        return answer
    return ask_texts.to_json(answer).decode()


# === Parquet ===


def _read_parquet(part, size, is_gzip):
    import pyarrow.parquet

    with (
        filesystem.open(part.path, "rb") as raw,
        pyarrow.parquet.ParquetFile(raw) as file,
    ):
        rows = (
            row
            for batch in file.iter_batches(batch_size=size)
            for row in batch.to_pylist()
        )
        while records := list(itertools.islice(rows, size)):
            yield records, file.schema_arrow


def _write_parquet(path, block, answers):
    import pyarrow
    import pyarrow.parquet

    table = pyarrow.Table.from_pylist(block.records, schema=block.schema)
    column = pyarrow.array(map(_as_text, answers), pyarrow.string())
    if ANSWER in table.column_names:
        table = table.drop_columns([ANSWER])
    pyarrow.parquet.write_table(table.append_column(ANSWER, column), path)


# === TFRecord ===


def _read_tfrecord(part, size, is_gzip):
    import tensorflow as tf

    records = iter(
        tf.data.TFRecordDataset(part.path, "GZIP" if is_gzip else None)
    )
    while some := list(itertools.islice(records, size)):
        yield [_of_example(x.numpy()) for x in some], None


def _of_example(data):
    import tensorflow as tf

    try:
        example = tf.train.Example.FromString(data)
    except Exception:  # the parser's own
        return data
    row = {}
    for name, feature in example.features.feature.items():
        kind = feature.WhichOneof("kind")
        values = list(getattr(feature, kind).value) if kind else []
        row[name] = [
            x.decode("utf-8", "replace") if isinstance(x, bytes) else x
            for x in values
        ]
    return {k: x[0] if len(x) == 1 else x for k, x in row.items()}


def _write_tfrecord(path, block, answers, is_gzip):
    import tensorflow as tf

    options = tf.io.TFRecordOptions("GZIP" if is_gzip else "")
    with tf.io.TFRecordWriter(path, options) as file:
        for record, answer in zip(block.records, answers):
            row = record if isinstance(record, dict) else {}
            example = tf.train.Example()
            for name, value in {**row, ANSWER: _as_text(answer)}.items():
                _set(example.features.feature[name], value)
            file.write(example.SerializeToString())


def _set(feature, value):
    values = value if isinstance(value, list) else [value]
    values = [x for x in values if x is not None]
    if all(isinstance(x, int) for x in values) and values:
        feature.int64_list.value.extend(values)
    elif all(isinstance(x, float) for x in values) and values:
        feature.float_list.value.extend(values)
    else:
        feature.bytes_list.value.extend(
            str(x).encode("utf-8", "replace") for x in values
        )
