import bz2
import codecs
import gzip
import io
import json
import lzma
import math
import os
import sys
import tracemalloc
import zipfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcopy import checked_files, file_formats
from tfcopy.data import Dictionary, Vocabulary
from tfcopy.data.corpora import lcsts, squad
from tfcopy.data.corpora.tables import Table
from tfcopy.data.corpora.text_pairs import read_lines
from tfcopy.data.definitions import word_vectors
from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.text.glossary import Glossary
from tfcopy.file_formats import (
    FormError,
    check_plain,
    open_plain,
    open_text,
    parse_json,
    shorten_json,
)
from tfcopy.runtime import ask_texts, versions
from tfcopy.runtime.rest_transport import _error
from tfcopy.runtime.signatures import ModelError
from tfcopy.training import distribution


def zipped(*contents):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("__MACOSX/x", b"")
        for i, content in enumerate(contents):
            archive.writestr(f"{i}.txt", content)
    return file.getvalue()


COMPRESS = {
    "gzip": gzip.compress,
    "bzip2": bz2.compress,
    "xz": lzma.compress,
    "lzma": lambda data: lzma.compress(data, lzma.FORMAT_ALONE),
    "zip": zipped,
}
ENCODINGS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


def read(data):
    with open_text(io.BytesIO(data), "a") as file:
        return file.read()


@given(
    st.text().filter(lambda x: file_formats._form(x.encode()) is None),
    st.sampled_from([None, *COMPRESS]),
    st.sampled_from([None, *ENCODINGS]),
)
def test_text_is_the_same_in_all_forms(text, compression, encoding):
    text = text.removeprefix("\ufeff")
    if encoding == "utf-16-le":
        # With a zero after it, its mark is that of UTF-32.
        text = text.lstrip("\0")
    data = text.encode()
    if encoding is not None:
        data = ENCODINGS[encoding] + text.encode(encoding)
    if compression is not None:
        data = COMPRESS[compression](data)
    assert read(data) == text.encode()


@pytest.mark.parametrize("compress", COMPRESS.values(), ids=COMPRESS)
def test_large_and_joined_and_cut_off(compress, tmp_path):
    lines = [b"%d %d\n" % (i, hash(str(i))) for i in range(4_000)]
    data = compress(b"".join(lines))
    path = tmp_path / "a"
    path.write_bytes(data)
    with open_plain(path) as file:
        assert list(file) == lines
    if compress not in (zipped, COMPRESS["lzma"]):
        path.write_bytes(data + data)
        with open_plain(path) as file:
            assert list(file) == lines * 2
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(FormError) as caught, open_plain(path) as file:
        file.read()
    message = str(caught.value)
    assert message.startswith(f"{path}: ") and "\n" not in message
    assert "cut off after line" in message or "cannot be read" in message


def test_utf_16_that_is_cut_off_or_has_half_a_character():
    text = codecs.BOM_UTF16_LE + "ab\nc".encode("utf-16-le")
    with pytest.raises(FormError, match="UTF-16 data is damaged or cut off"):
        read(text[:-1])
    assert read(text + b"\0\xd8" + text[2:]) == b"ab\nc\xed\xa0\x80ab\nc"


@pytest.mark.parametrize(
    "data, message",
    [
        (b"\x28\xb5\x2f\xfd\x04\0", "compressed by zstd. Decompress it first"),
        (b"\x04\x22\x4d\x18d", "compressed by lz4"),
        (b"7z\xbc\xaf\x27\x1c\0", "compressed by 7-Zip"),
        (gzip.compress(gzip.compress(b"a")), "compressed by gzip. Decompress"),
        (gzip.compress(zipped(b"a")), "compressed by zip"),
        (zipped(b"a", b"b"), "a zip archive of 2 files. Unpack it first"),
        (zipped(), "a zip archive of 0 files"),
        (zipped(b"a")[:20], "a zip archive that cannot be read"),
        (b"PAR1\x15\0", "a file of Parquet, which is no text"),
        (b"\x0a" + bytes(7) + b"crc-", "a file of TFRecord"),
        (gzip.compress(b"\x0a" + bytes(7) + b"crc-"), "a file of TFRecord"),
        (b"x" * 257 + b"ustar\0", "compressed by tar"),
        (
            "ab\n".encode("utf-16-le"),
            "text in UTF-16 without a byte order mark",
        ),
        (
            "ab\n".encode("utf-16-be"),
            "text in UTF-16 without a byte order mark",
        ),
    ],
    ids="zstd lz4 7z twice zip2 members none cut parquet tfrecord tfrecord.gz "
    "tar le be".split(),
)
def test_what_is_not_read_is_named(data, message):
    with pytest.raises(FormError, match=f"^a.*: {message}"):
        read(data)


@pytest.mark.parametrize(
    "text", [b"", b"BZh, he said", b"PAR1 is a gene", b"PK", b"]", b"\xff"]
)
def test_text_that_begins_as_others_do(text):
    assert read(text) == text
    check_plain(text, "a")


def test_readable_forms_are_named_where_none_is_read():
    with pytest.raises(FormError, match="a.po: compressed by gzip"):
        check_plain(gzip.compress(b""), "a.po")
    with pytest.raises(FormError, match="text in UTF-16. Convert"):
        check_plain(codecs.BOM_UTF16_LE, "a.po")


def test_a_plain_file_is_itself_and_others_are_closed(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(codecs.BOM_UTF8 + b"a\n")
    with open(path, "rb") as raw:
        assert open_text(raw, path, keep_mark=True) is raw
        assert raw.read() == codecs.BOM_UTF8 + b"a\n"
    for data in (zipped(b"a"), lzma.compress(codecs.BOM_UTF16_LE)):
        path.write_bytes(data)
        with open(path, "rb") as raw:
            open_text(raw, path).close()
            assert raw.closed


def test_few_bytes_that_are_endless(tmp_path, monkeypatch):
    monkeypatch.setattr(file_formats, "_LONGEST", 1 << 22)
    path = tmp_path / "a.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(64):
            file.write(bytes(1 << 20))
    tracemalloc.start()
    try:
        with open_plain(path) as file:
            with pytest.raises(FormError, match="line 1 has more than"):
                next(file)
            assert tracemalloc.get_traced_memory()[1] < 3 << 22
    finally:
        tracemalloc.stop()


def test_a_pipe_is_read_as_it_comes():
    """A line that is typed is there before the next one is."""
    source, target = os.pipe()
    with open(source, "rb") as raw, open(target, "wb", 0) as typed:
        typed.write(b"one\n")
        file = open_text(raw, "standard input")
        assert file.readline() == b"one\n"
        typed.write(b"two\n")
        assert file.readline() == b"two\n"


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_nothing_stays_open(tmp_path):
    path = tmp_path / "a"
    path.write_bytes(b"\x28\xb5\x2f\xfd\x04\0")
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with pytest.raises(FormError):
            open_plain(path)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def vectors_of(path):
    return word_vectors.load(path, Vocabulary.build({"é": 1}), 2).num_found


ANSWER = '{"text": "é", "answer_start": 0}'
QUESTION = f'{{"id": "1", "question": "é", "answers": [{ANSWER}]}}'
PARAGRAPH = f'{{"context": "é x", "qas": [{QUESTION}]}}'
SQUAD = f'{{"data": [{{"paragraphs": [{PARAGRAPH}]}}]}}'
READERS = {
    "lines": (lambda path: list(read_lines(path)), "a\nb\n"),
    "table": (lambda path: list(Table.open(path, (1, 2)).read()), "a\tb\n"),
    "tree": (lambda path: squad._read(path).articles, SQUAD),
    "vectors": (vectors_of, "é 1 2\n"),
    "glossary": (lambda path: Glossary.load(path).terms, "é\tx\n"),
    "dictionary": (lambda path: Dictionary.load(path).to_bytes(), "é\tx\t1\n"),
    "vocabulary": (
        lambda path: Vocabulary.load(path).words,
        "<pad>\n<unk>\n<s>\n</s>\né\n",
    ),
    "definitions": (lambda path: Definitions.load(path).headwords, "é\tx y\n"),
    "requested": (ask_texts.read_dictionary, "é\tx\n"),
    "lcsts": (
        lambda path: list(lcsts.read_records(path)),
        "<doc id=0>\n<summary>\né\n</summary>\n</doc>\n",
    ),
}


@pytest.mark.parametrize("name", READERS)
def test_all_readers_read_all_forms(tmp_path, name):
    read, text = READERS[name]
    path = tmp_path / "a.tsv"
    path.write_bytes(text.encode())
    expected = read(path)
    assert expected
    for compress in (bytes, bz2.compress, zipped):
        for encoding in ("utf-8-sig", "utf-16"):
            path.write_bytes(compress(text.encode(encoding)))
            assert read(path) == expected
    path.write_bytes(b"\x28\xb5\x2f\xfd\x04\0")
    with pytest.raises(Exception, match="a.tsv: compressed by zstd") as caught:
        read(path)
    assert "\n" not in str(caught.value)


DEEP = "[" * 100_000
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda x: st.lists(x) | st.dictionaries(st.text(), x),
    max_leaves=8,
)


@given(VALUES, st.booleans())
def test_values_are_those_of_json(value, is_ascii):
    text = json.dumps(value, ensure_ascii=is_ascii)
    expected = repr(json.loads(text))  # NaN is not itself
    assert repr(parse_json(text)) == expected
    assert repr(parse_json(b"\xef\xbb\xbf" + text.encode())) == expected


@given(st.binary() | st.text(alphabet='[]{}:,"\\u0dE-9 \n\ufeff') | st.text())
def test_whatever_is_no_json_is_one_error(text):
    try:
        parse_json(text)
    except FormError as error:
        assert str(error) and "\n" not in str(error)


@pytest.mark.parametrize(
    "text, message, line",
    [
        (DEEP, "nested too deep", None),
        ('{"a":' * 100_000, "nested too deep", None),
        (b'\n["\xff"]', "not valid UTF-8", 2),
        ('[\n"a"', "delimiter at character 4", 2),
        ("", "Expecting value at character 1", 1),
    ],
)
def test_an_error_tells_where(text, message, line):
    with pytest.raises(FormError, match=message) as caught:
        parse_json(text)
    assert caught.value.line == line


def test_a_number_without_end_is_infinity():
    assert parse_json("9" * 5000) == math.inf == parse_json("1e400")
    assert parse_json("-" + "9" * 5000) == -math.inf
    assert parse_json("9" * 4300) == int("9" * 4300)


def test_what_is_read_can_be_shown():
    """Writing a value needs more of the stack than reading it."""
    for depth in range(800, 1000):
        try:
            value = parse_json("[" * depth + "]" * depth)
        except FormError:
            break
        assert len(shorten_json(value, 40)) <= 44
    assert shorten_json([1, 2], 40) == "[1, 2]"


@pytest.mark.parametrize(
    "read, message",
    [
        (checked_files.read_json, "a.jsonl is damaged .it is nested too deep"),
        (squad._read, "a.jsonl: not valid JSON .it is nested too deep"),
        (
            lambda path: list(Table.open(path, ("x",)).read()),
            "a.jsonl, line 1:",
        ),
        (
            lambda path: ask_texts.parse_line(path.read_bytes(), 3, ["a", "b"]),
            "standard input, line 3: expected a JSON object",
        ),
        (lambda path: distribution._has_cluster(), "TF_CONFIG must be"),
    ],
    ids="checked tree table ask cluster".split(),
)
def test_all_that_read_it_name_the_place(tmp_path, monkeypatch, read, message):
    path = tmp_path / "a.jsonl"
    path.write_text(DEEP)
    monkeypatch.setenv("TF_CONFIG", DEEP)
    with pytest.raises(Exception, match=message) as caught:
        read(path)
    assert not isinstance(caught.value, RecursionError)


def test_what_is_read_in_part_may_be_damaged(tmp_path):
    folder = tmp_path / "assets.extra"
    folder.mkdir()
    for content in (DEEP, "[]", "\xff", ""):
        (folder / versions.CONFIG_NAME).write_text(content)
        with pytest.raises(ModelError, match="tfcopy.json is damaged"):
            versions.read_config(tmp_path)
    response = type("Response", (), {"status": 400, "reason": "Bad"})
    assert _error(response, DEEP).startswith("HTTP 400 Bad: [[[")
