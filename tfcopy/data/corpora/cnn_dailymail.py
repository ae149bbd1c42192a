"""CNN/Daily Mail: news stories and their highlights (Hermann et al., 2015).

The corpus of the pointer-generator, not anonymised. Either TensorFlow Datasets
makes it from the stories, or it is read from published `.bin` files of
lower-cased, tokenised text.

The target has one sentence per line, as ROUGE needs it; tokenizers treat line
ends as blanks.

Reference:
    [See et al., 2017](https://arxiv.org/abs/1704.04368), section 4.
"""

import dataclasses
import functools
import glob
import os
import re
import struct
from collections.abc import Iterator

import tensorflow as tf

from tfcopy import filesystem
from tfcopy.data.corpora import tfds_corpora
from tfcopy.data.corpora.corpus import (
    CheckedPairs,
    CorpusError,
    TranslationCorpus,
    map_examples,
    name_unreadable,
    translation_corpus,
)

_LENGTH = struct.Struct("<q")
_FEATURES = ("article", "abstract")
_SENTENCE_MARKS = re.compile("</?s>")


def load(
    data_dir: str | os.PathLike | None = None, version: str = "3.*.*"
) -> TranslationCorpus:
    """Opens TFDS's `cnn_dailymail`, text as typed.

    Args:
        data_dir: TFDS's folder; by default `~/tensorflow_datasets`.
        version: The version, for example `"3.0.0"`; by default the newest that
            has the case of the original. A release of TFDS makes only its own
            version, but reads any that was prepared.
    """
    corpus = tfds_corpora.load(
        f"cnn_dailymail:{version}",
        data_dir,
        source="article",
        target="highlights",
        languages=("en", "en"),
    )
    splits = map_examples(corpus.splits, _join_highlights, "lines")
    return dataclasses.replace(corpus, splits=splits)


def load_bin(folder: str | os.PathLike) -> TranslationCorpus:
    """Reads `train_*.bin`, `val_*.bin` and `test_*.bin` of a folder.

    The chunks of a split are read in the order of their names; where there are
    none, `train.bin` and so on are read instead. Stories without an article or
    without a summary are skipped and counted (114 of the training split).

    All files are checked from their first byte to their last before anything
    is returned; no more than a thousand records are in memory at a time.

    Args:
        folder: The folder, usually called `chunked` or `finished_files`.
    """
    folder = os.fspath(folder)
    paths = {name: _paths(folder, name) for name in ("train", "val", "test")}
    return translation_corpus(
        [
            CheckedPairs.check(
                os.path.join(folder, f"{name}*.bin"),
                functools.partial(_read_all, of_split),
                "Give the folder with the chunked .bin files.",
            )
            for name, of_split in paths.items()
        ],
        "cnn_dailymail",
        source_language="en",
        target_language="en",
        tokenized=True,
    )


def read_bin(path: str | os.PathLike) -> Iterator[tuple[str, str]]:
    """Yields `(article, abstract)` of the records of a file.

    A record is its length in 8 bytes, little-endian, and a `tf.train.Example`
    with the bytes features `article` and `abstract`. The sentences of an
    abstract, marked as `<s> ... </s>`, come as lines.
    """
    with name_unreadable(path), filesystem.open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        number = 0
        while file.tell() < size:
            number += 1
            yield _parse(_record(file, size, path, number), path, number)


def _join_highlights(pair: tuple[str, str]) -> tuple[str, str]:
    article, highlights = pair
    return article, _lines(highlights.split("\n"))


def _paths(folder: str, name: str) -> list[str]:
    pattern = os.path.join(glob.escape(folder), f"{name}_*.bin")
    paths = sorted(filesystem.glob(pattern))
    whole = os.path.join(folder, f"{name}.bin")
    if not paths and filesystem.exists(whole):
        paths = [whole]
    if not paths:
        raise CorpusError(
            f"{folder}: there is neither a file {name}_*.bin nor {name}.bin. "
            "Give the folder that holds the .bin files of all three splits."
        )
    return paths


def _read_all(paths: list[str]) -> Iterator[tuple[str, str]]:
    for path in paths:
        yield from read_bin(path)


def _record(file, size: int, path, number: int) -> bytes:
    """Reads the bytes of the next record, after checking its length."""
    rest = size - file.tell()
    if rest < _LENGTH.size:
        raise _error(
            path, number, f"the file ends within its length, after {rest} bytes"
        )
    (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
    rest -= _LENGTH.size
    if not 0 <= length <= rest:
        raise _error(
            path,
            number,
            f"it should be {length:,} bytes long, but {rest:,} are left",
        )
    record = file.read(length)
    if len(record) < length:  # The file has been shortened in the meantime.
        raise _error(path, number, f"only {len(record):,} bytes can be read")
    return record


def _parse(record: bytes, path, number: int) -> tuple[str, str]:
    try:
        features = tf.train.Example.FromString(record).features.feature
    except Exception as error:  # DecodeError of the installed protobuf
        raise _error(path, number, "it is no tf.train.Example") from error
    texts = []
    for name in _FEATURES:
        values = features[name].bytes_list.value if name in features else ()
        if len(values) != 1:
            raise _error(
                path,
                number,
                f"expected one text {name!r}, found {len(values)}; its "
                f"features are: {', '.join(sorted(features)) or 'none'}",
            )
        try:
            texts.append(values[0].decode())
        except UnicodeDecodeError as error:
            raise _error(
                path, number, f"its {name} is not valid UTF-8"
            ) from error
    return texts[0], _lines(_SENTENCE_MARKS.split(texts[1]))


def _lines(sentences: list[str]) -> str:
    """Joins sentences, one per line, without those that have no text."""
    sentences = (" ".join(sentence.split()) for sentence in sentences)
    return "\n".join(sentence for sentence in sentences if sentence)


def _error(path, number, reason):
    return CorpusError(
        f"{path}, record {number:,}: damaged or cut off, {reason}. "
        "Fetch or make the file again."
    )
