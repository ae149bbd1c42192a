"""Decompressing, decoding and parsing of users' files.

The format of a file is recognised by its first bytes, not by its name. gzip,
bzip2, xz and a zip archive of one file are decompressed as they are read.
UTF-16 and UTF-32 with a byte order mark become UTF-8. Errors name the format of
files that are not text.
"""

import contextlib
import csv
import importlib
import io
import json
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterator
from typing import Any

from tfcopy import filesystem

_UTF_8_MARK = b"\xef\xbb\xbf"
_FIRST_BYTES = re.compile(
    rb"""(?sx)
    (?P<gzip>\x1f\x8b)
    |(?P<bzip2>BZh[1-9](?:1AY&SY|\x17rE8P\x90))
    |(?P<xz>\xfd7zXZ\0|\x5d\0\0)
    |(?P<zip>PK(?:\x03\x04|\x05\x06|\x07\x08))
    |(?P<UTF_32>\xff\xfe\0\0|\0\0\xfe\xff)
    |(?P<UTF_16>\xff\xfe|\xfe\xff)
    |(?P<zstd>\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18)
    |(?P<lz4>\x04\x22\x4d\x18)
    |(?P<lzip>LZIP\x01)
    |(?P<compress>\x1f\x9d)
    |(?P<rar>Rar!\x1a\x07)
    |(?P<sevenzip>7z\xbc\xaf\x27\x1c)
    |(?P<tar>.{257}ustar)
    |(?P<Parquet>PAR[1E][\0-\x08\x0e-\x1f])
    |(?P<Arrow>ARROW1\0\0)
    |(?P<Avro>Obj\x01)
    |(?P<PDF>%PDF-)
    |(?P<TFRecord>(?!\0{3}).{3}\0{5})
    |(?P<UTF_16_without_mark>[^\0]\0[^\0]\0|\0[^\0]\0[^\0])
    """
)
# The modules of Python whose `open` decompresses.
_MODULES = {"gzip": "gzip", "bzip2": "bz2", "xz": "lzma"}
_COMPRESSED = (*_MODULES, "zip", "zstd", "lz4", "lzip", "compress")
_COMPRESSED += ("rar", "sevenzip", "tar")
_ENDING = re.compile(r"\.(gz|bz2|xz|zip)$")
_ENCODINGS = ("UTF_16", "UTF_32")
_BUFFER = 1 << 16  # bytes
# Bytes of a line that are decompressed: few bytes may be made of endless ones.
_LONGEST = 1 << 30


class FormError(ValueError):
    """A file cannot be read as text, or a text as JSON; the message says why.

    Attributes:
        line: The number of the line, from 1, or `None` if it is no one line.
    """

    def __init__(self, reason: str, line: int | None = None):
        super().__init__(reason)
        self.line = line


def open_plain(path):
    """Opens a file by its path, as `open_text` does.

    Args:
        path: Path, or `zipfile.Path` of a member of an archive.

    Raises:
        FormError: As in `open_text`.
        OSError: If it cannot be opened.
    """
    if isinstance(path, zipfile.Path):
        with _zip_errors(path):
            member = path.open("rb")
        file = _buffer(member.read1, "zip", path, member)
    else:
        file = filesystem.open(path, "rb")
    try:
        return open_text(file, path)
    except BaseException:
        file.close()
        raise


def check_regular(path) -> None:
    """Raises a FormError if a path is a pipe or a device."""
    if filesystem.is_url(path):
        return
    mode = os.stat(path).st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise FormError(
            f"{path}: a pipe or a device, which cannot be read again. Write "
            "its content to a file first."
        )


def read_regular(path, most: int) -> bytes:
    """Returns the content of a regular file of bounded size.

    Args:
        path: The file.
        most: The most bytes that it may have.

    Raises:
        FormError: If it is larger, or a pipe or a device.
        OSError: If it cannot be read.
    """
    check_regular(path)
    if filesystem.size(path) > most:
        raise FormError(f"{path}: expected a file of at most {most:,} bytes.")
    return filesystem.read_bytes(path)


def open_text(file, name, *, keep_mark: bool = False):
    """Opens a file's decompressed content as a buffered file of bytes.

    Args:
        file: A binary file, at its beginning. A plain file is returned itself;
            any other is closed with the returned file.
        name: Path, for messages.
        keep_mark: Whether to keep the byte order mark of UTF-8.

    Raises:
        FormError: If the file has another compression, or is not text. Reads
            raise it if the file is damaged or cut off.
    """
    if not hasattr(file, "peek"):
        file = io.BufferedReader(file)
    form = _form(file.peek(512))
    if form in (*_MODULES, "zip"):
        file = _decompress(file, form, name)
        form = _form(file.peek(512))
        if form in _COMPRESSED:
            check_plain(file.peek(512), f"{name}, once decompressed")
    if form in _ENCODINGS:
        text = io.TextIOWrapper(
            file, form.replace("_", ""), "surrogatepass", newline=""
        )

        def read(size):  # A character has at most 4 bytes.
            return text.read(size // 4).encode("utf-8", "surrogatepass")

        return _buffer(read, form, name, text)
    check_plain(file.peek(512), name)
    if not keep_mark and file.peek(3)[:3] == _UTF_8_MARK:
        file.read(3)
    return file


def check_plain(head: bytes, name) -> None:
    """Raises a FormError if a file does not begin like plain text.

    Args:
        head: The first 512 bytes of the file, or more.
        name: Path, for messages.
    """
    form = _form(head)
    if form in _COMPRESSED:
        shown = form.replace("sevenzip", "7-Zip")
        raise FormError(f"{name}: compressed by {shown}. Decompress it first.")
    if form is not None and form.startswith("UTF"):
        mark = " without a byte order mark" * form.endswith("mark")
        raise FormError(
            f"{name}: text in {form[:6].replace('_', '-')}{mark}. Convert the "
            "file to UTF-8, for example with iconv."
        )
    if form is not None:
        raise FormError(f"{name}: a file of {form}, which is no text.")


def plain_name(path) -> str:
    """Returns a path without the ending of compressed files."""
    return _ENDING.sub("", str(path))


def visible_members(archive: zipfile.ZipFile) -> list[str]:
    """Returns the names of an archive's files, sorted, without hidden ones."""
    return [
        name
        for name in sorted(archive.namelist())
        if not name.endswith("/") and is_visible(name.split("/"))
    ]


def is_visible(parts) -> bool:
    """Returns whether no part of a path is hidden."""
    return not any(part.startswith((".", "__MACOSX")) for part in parts)


def _form(head):
    found = _FIRST_BYTES.match(head)
    return found and found.lastgroup


def _decompress(file, form, name):
    if form != "zip":
        opened = importlib.import_module(_MODULES[form]).open(file)
        return _buffer(opened.read1, form, name, opened, file)
    with _zip_errors(name):
        archive = zipfile.ZipFile(file)
        members = visible_members(archive)
        if len(members) == 1:
            opened = archive.open(members[0])
            return _buffer(opened.read1, form, name, opened, archive, file)
    raise FormError(
        f"{name}: a zip archive of {len(members):,} files. Unpack it first."
    )


@contextlib.contextmanager
def _zip_errors(name):
    """Raises errors of `zipfile`, such as a missing password, as FormErrors."""
    try:
        yield
    except (OSError, ValueError, RuntimeError, zipfile.BadZipFile) as error:
        raise FormError(
            f"{name}: a zip archive that cannot be read ({error}). Unpack it "
            "first."
        ) from error


def _buffer(*arguments):
    return io.BufferedReader(_Plain(*arguments), _BUFFER)


class _Plain(io.RawIOBase):
    """Raw stream over a read function; closes its files in order."""

    def __init__(self, read, form, name, *files):
        self._read, self._form, self._name = read, form, name
        self._files = files
        self._lines = self._length = 0

    def readable(self):
        return True

    def readinto(self, buffer):
        try:
            data = self._read(len(buffer))
        except FormError:
            raise
        except Exception as error:  # of each module its own
            reason = str(error) or type(error).__name__
            raise FormError(
                f"{self._name}: the {self._form.replace('_', '-')} data is "
                f"damaged or cut off after line {self._lines:,} ({reason}). "
                "Fetch the file again."
            ) from error
        self._lines += data.count(b"\n")
        place = data.rfind(b"\n")
        self._length = len(data) - 1 - place + self._length * (place < 0)
        if self._length > _LONGEST:
            raise FormError(
                f"{self._name}: line {self._lines + 1:,} has more than "
                f"{_LONGEST:,} bytes when it is decompressed."
            )
        buffer[: len(data)] = data
        return len(data)

    def close(self):
        if not self.closed:
            super().close()
            for file in self._files:
                file.close()


# A language in the first row of terms whose languages are not known.
_CODE = re.compile(r"[a-z]{2}|[a-z]{2,3}[-_][a-z]{2,4}")


def read_csv_terms(
    path,
    languages: tuple[str | None, str | None],
    base: Callable[[str], str] = lambda code: re.split("[-_]", code)[0],
) -> Iterator[tuple[str, str, str]]:
    """Reads terms of CSV: a phrase, its translation, perhaps their languages.

    Commas, semicolons or tabs separate columns. A first row of the languages'
    codes, or of names such as `source` and `target`, is no term.

    Args:
        path: The file, plain or compressed.
        languages: Codes of source and target; `None` if unknown.
        base: Function from a code to the language alone: `en` for `en-us`.

    Yields:
        `(place, phrase, translation)`, the place for messages.

    Raises:
        OSError: If the file cannot be read.
        ValueError: naming the file and the line, if it is no such file.
    """
    with open_plain(path) as file:
        try:
            text = file.read().decode()
        except UnicodeDecodeError:
            raise ValueError(f"{path}: not valid UTF-8.") from None
    known = [base(x.lower()) for x in languages if x]
    for number, (place, row) in enumerate(_csv_rows(path, text)):
        codes = [x.strip().lower() for x in row]
        bases = [*map(base, codes)]
        is_named = [x[:6] for x in codes[:2]] == ["source", "target"]
        is_alike = not known and all(map(_CODE.fullmatch, codes[:2]))
        if number == 0 and (is_named or is_alike or bases[:2] == known):
            continue
        is_swapped = number == 0 and bases[:2] == known[::-1]
        given = bases[:2] if is_swapped else bases[2:]
        # An eng of four columns may be an en.
        if given != known and [*map(len, known + given)] == [2] * 4:
            raise ValueError(
                f"{place}: a term from {given[0]} to {given[1]}. Expected one "
                f"from {known[0]} to {known[1]}."
            )
        yield place, *row[:2]


def _csv_rows(path, text):
    """Returns rows with the delimiter that all of them have.

    If there are several, it is the one with the fewest blanks beside it: the
    comma is text in `Yes, all;Oui, tout`.
    """
    found, faults = [], []
    for delimiter in ",;\t":
        lines = io.StringIO(text, newline="")
        reader = csv.reader(lines, delimiter=delimiter, strict=True)
        try:
            rows = [
                (f"{path}, line {reader.line_num}", x) for x in reader if any(x)
            ]
        except csv.Error as error:
            place = f"{path}, line {reader.line_num}"
            faults.append(f"{place}: not valid CSV ({error}).")
            continue
        odd = next((x for x in rows if len(x[1]) not in (2, 4)), None)
        if odd is None:
            found.append(rows)
            continue
        faults.append(
            f"{odd[0]}: expected a phrase and its translation. Received: "
            f"{len(odd[1])} columns."
        )
    if not found:
        raise ValueError(faults[0])
    return min(
        found,
        key=lambda rows: sum(x != x.strip() for _, row in rows for x in row),
    )


def parse_json(text: str | bytes) -> Any:
    """Parses a text as the module `json` does.

    NaN and Infinity are numbers, and strings may hold half a character. An
    integer with more digits than Python parses is infinity, like 1e400.

    Args:
        text: The text, which may begin with a byte order mark if it is `bytes`
            (of UTF-8).

    Raises:
        FormError: If it is not valid JSON, or nested too deep.
    """
    try:
        if isinstance(text, bytes):
            text = text.decode("utf-8-sig")
        return json.loads(text, parse_int=_integer)
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise FormError("not valid UTF-8", line) from error
    except json.JSONDecodeError as error:
        reason = f"{error.msg} at character {error.colno}"
        raise FormError(reason, error.lineno) from error
    except RecursionError as error:
        raise FormError("it is nested too deep") from error


def shorten_json(value, length: int) -> str:
    """Returns a value as JSON, cut off after `length` characters."""
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
