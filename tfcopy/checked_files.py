"""Files with checksums, whose damage is noticed when they are read.

Arrays are stored as a NumPy archive, which has a CRC-32 of each array; objects
as JSON with a SHA-256 of their content. Both are written atomically. Checksums
of files of other formats are in a separate file, which is written last.
"""

import contextlib
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Sequence

import numpy as np

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.file_formats import parse_json

CHECKSUM = "sha256"
# Of an integer; a larger one is no number in floating point.
_MOST_BITS = 1024
_NOUNS = {
    **{str: "text", int: "an integer", float: "a number"},
    **{bool: "true or false", list: "a list", dict: "an object"},
}


class DamagedFileError(ValueError):
    """A file is damaged, or cannot be read; the message says which."""


def write_arrays(path, arrays) -> None:
    """Writes a dict of arrays, which `numpy.load` can read as well.

    Raises:
        OSError: As in `atomic_files.replacement`.
    """

    def write(file):
        with zipfile.ZipFile(_UntilFailure(file), "w") as archive:
            for name, array in arrays.items():
                with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                    np.lib.format.write_array(part, array, allow_pickle=False)
            # Damage can hide the last parts of an archive.
            archive.comment = str(len(arrays)).encode()

    write_atomically(path, write)


def read_arrays(path, names=None) -> dict[str, np.ndarray]:
    """Reads the arrays of `write_arrays` or `numpy.savez`.

    Args:
        path: Path of the file.
        names: Names of the arrays to read, which must exist; by default all.

    Raises:
        FileNotFoundError: If there is no such file.
        DamagedFileError: If it is damaged, or cannot be read.
    """
    with (
        damage_of(path),
        filesystem.open(path, "rb") as file,
        zipfile.ZipFile(file) as archive,
    ):
        there = dict.fromkeys(archive.namelist())
        # A damaged name may be the name of another array.
        if archive.comment and int(archive.comment) != len(there):
            raise ValueError("an array is missing")
        if names is None:
            names = [x.removesuffix(".npy") for x in there]
        # A whole part is read, or its checksum would not be looked at.
        return {name: _array(archive.read(f"{name}.npy")) for name in names}


def write_json(path, content) -> None:
    """Writes a dict as JSON, with its checksum as the last entry.

    Raises:
        OSError: As in `atomic_files.replacement`.
    """
    content = {**content, CHECKSUM: _checksum(content)}
    text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    data = text.encode("utf-8", "surrogatepass")
    write_atomically(path, lambda file: file.write(data))


def read_json(path, data: bytes | None = None) -> dict:
    """Reads an object of `write_json`, or one without a checksum.

    Args:
        path: Path of the file.
        data: Its content, if it has been read.

    Raises:
        FileNotFoundError: If there is no such file.
        DamagedFileError: If it is damaged, or cannot be read.
    """
    with damage_of(path):
        if data is None:
            data = filesystem.read_bytes(path)
        content = parse_json(data.decode("utf-8", "surrogatepass"))
        if not isinstance(content, dict):
            raise ValueError(f"it holds no object but {type(content).__name__}")
        if isinstance(content.get(CHECKSUM), int):
            return content  # A vocabulary has it as a subword.
        checksum = content.pop(CHECKSUM, None)
        if checksum is not None and checksum != _checksum(content):
            raise ValueError(
                f'if you have changed it yourself, remove "{CHECKSUM}" from it'
            )
        return content


def write_checksums(record, paths: Sequence) -> None:
    """Writes the checksums of files, in the format of `sha256sum`.

    Raises:
        OSError: As in `atomic_files.replacement`.
    """
    write_atomically(record, lambda file: file.write(_checksums(paths)))


def match_checksums(record, paths: Sequence) -> bool:
    """Returns whether all files are unchanged since they were sealed."""
    try:
        return filesystem.read_bytes(record) == _checksums(paths)
    except OSError:
        return False


def checksum_of(path) -> str:
    """Returns the SHA-256 of a file."""
    with filesystem.open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def local_cache(path, checksum: str, read=checksum_of) -> str:
    """Returns a local path of a file that never changes, to map it into memory.

    A file under a URL is copied once, to the folder `tfcopy` of
    `$XDG_CACHE_HOME`, by default `~/.cache`. A copy with another checksum is
    made again.

    Args:
        path: The file.
        checksum: SHA-256 of the file.
        read: Function that computes the SHA-256 of a local file, once for each
            copy.

    Raises:
        DamagedFileError: If the file under a URL has another checksum.
        OSError: If it cannot be copied.
    """
    if not filesystem.is_url(path):
        return path
    name = f"{checksum}-{os.path.basename(path)}"
    cached = os.path.join(filesystem.cache(), name)
    if not os.path.exists(cached) or read(cached) != checksum:
        os.makedirs(os.path.dirname(cached), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(cached)) as folder:
            part = os.path.join(folder, "part")
            filesystem.copy(path, part)
            if read(part) != checksum:
                raise DamagedFileError(
                    f"{path} is damaged (its SHA-256 is another)."
                )
            os.replace(part, cached)
    return cached


def _checksums(paths):
    lines = (f"{checksum_of(x)}  {os.path.basename(x)}\n" for x in paths)
    return os.fsencode("".join(lines))


def check_fields(path, content, required={}, optional={}) -> None:
    """Checks the types in an object of JSON.

    Args:
        path: The file that the object is from.
        content: The object, a dict.
        required: Dict from the names of fields to their kinds: a type, `[kind]`
            for a list, or a dict of the optional fields of an object, in which
            `...` is the kind of all others.
        optional: The same, for fields that may be missing or null.

    Raises:
        DamagedFileError: naming the file and the field.
    """
    missing = [name for name in required if content.get(name) is None]
    if missing:
        raise DamagedFileError(f'{path} is damaged (it has no "{missing[0]}").')
    for place, value, kind in _iter_mistyped(content, required | optional, ""):
        raise DamagedFileError(
            f'{path} is damaged ("{place}" must be {_NOUNS[kind]}. Received: '
            f"{json.dumps(value)[:80]})."
        )


def check_inside(path, names) -> None:
    """Raises a DamagedFileError if a file names a path outside its folder.

    Args:
        path: The file.
        names: Paths in it, relative to its folder.
    """
    for name in names:
        if os.path.isabs(name) or ".." in name.split("/"):
            raise DamagedFileError(
                f"{path} is damaged ({name!r} is not within its folder)."
            )


def _iter_mistyped(value, kind, place):
    """Yields `(place, value, type)` of values of another type."""
    expected = kind if isinstance(kind, type) else type(kind)
    if value is None or kind is object:
        return
    actual = type(value)
    if kind is float and actual is int and value.bit_length() < _MOST_BITS:
        actual = float
    if actual is not expected:
        yield place, value, expected
    elif isinstance(kind, dict):
        for name, part in value.items():
            part_kind = kind.get(name, kind.get(..., object))
            inner = f"{place}.{name}" if place else name
            yield from _iter_mistyped(part, part_kind, inner)
    elif isinstance(kind, list):
        for i, part in enumerate(value):
            yield from _iter_mistyped(part, kind[0], f"{place}[{i}]")


class _UntilFailure:
    """A file that ignores writes after one that failed.

    An archive writes its end when it is closed, even after an error.
    """

    def __init__(self, file):
        self._file = file
        self._has_failed = False

    def write(self, data):
        if not self._has_failed:
            self._has_failed = True
            self._file.write(data)
            self._has_failed = False
        return len(data)

    def flush(self):
        if not self._has_failed:
            self._file.flush()


def _array(data):
    stream = io.BytesIO(data)
    array = np.lib.format.read_array(stream, allow_pickle=False)
    if stream.read(1):
        raise ValueError("an array is shorter than its part of the archive")
    return array


def _checksum(content):
    # Parsed again, since JSON has fewer types than Python.
    content = json.loads(json.dumps(content))
    text = json.dumps(content, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


@contextlib.contextmanager
def damage_of(path, state: str = "is damaged"):
    """Raises the many errors of parsers as errors that name the file."""
    try:
        yield
    except (FileNotFoundError, MemoryError):
        raise
    except Exception as error:
        if isinstance(error, (PermissionError, IsADirectoryError)):
            state = "cannot be read"
        reason = getattr(error, "strerror", None) or str(error)
        reason = " ".join(reason.split()) or type(error).__name__
        raise DamagedFileError(f"{path} {state} ({reason}).") from error
