"""Files under local paths and under URLs, such as `gs://bucket/run`.

What names a scheme is left to TensorFlow's file systems (`tf.io.gfile`), which
also write checkpoints of events and SavedModels there: `gs://` is built in,
others such as `s3://` come with `tensorflow-io`, and `ram://` is the memory of
the process. Everything else is a local path, for which TensorFlow is not
imported. The functions behave as those of `os`, `os.path` and `glob` that have
their names, and raise `OSError`s under URLs, too. (`os.path.join`, `basename`,
`dirname` and `splitext` work on URLs as they are.)

What a store of objects lacks: locks, so that two commands must not write the
same run; and renames, so that files are written elsewhere and copied as a whole
(see `atomic_files`).
"""

import builtins
import contextlib
import errno
import fnmatch
import glob as local_glob
import io
import os
import re
import shutil
import tempfile
from collections.abc import Iterator

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(path) -> bool:
    """Returns whether a path is a URL, such as `gs://bucket/run`."""
    return isinstance(path, str) and _URL.match(path) is not None


def open(path, mode="r", **options):
    """A file, buffered; under a URL it is read or written, not appended to."""
    if not is_url(path):
        return builtins.open(path, mode, **options)
    kind = mode.replace("b", "").replace("t", "")
    if kind not in ("r", "w"):
        raise ValueError(f"{path}: no mode {mode!r} under a URL.")
    with _os_errors(path):
        if kind == "w":
            _clear_memory(path)
        raw = _RawFile(_gfile().GFile(path, f"{kind}b"), kind)
        if kind == "r":
            raw.begin()
    buffered = io.BufferedReader(raw) if kind == "r" else io.BufferedWriter(raw)
    return buffered if "b" in mode else io.TextIOWrapper(buffered, **options)


def exists(path) -> bool:
    if not is_url(path):
        return os.path.exists(path)
    with _os_errors(path):
        return _gfile().exists(path)


def isdir(path) -> bool:
    if not is_url(path):
        return os.path.isdir(path)
    with _os_errors(path):
        is_folder = _gfile().isdir(path)
        if not is_folder:
            _gfile().exists(path)  # A store that cannot be asked is an error.
    return is_folder


def isfile(path) -> bool:
    if not is_url(path):
        return os.path.isfile(path)
    return exists(path) and not isdir(path)


def listdir(path) -> list[str]:
    if not is_url(path):
        return os.listdir(path)
    with _os_errors(path):
        # Some stores end the names of folders with a slash.
        return [name.rstrip("/") for name in _gfile().listdir(path)]


def walk(path) -> Iterator[tuple[str, list[str], list[str]]]:
    """Folders, each before what is in it; the lists may be changed."""
    if not is_url(path):
        yield from os.walk(path)
        return
    if not isdir(path):
        return
    folders, files = [], []
    for name in sorted(listdir(path)):
        is_folder = isdir(os.path.join(path, name))
        (folders if is_folder else files).append(name)
    yield path, folders, files
    for name in folders:
        yield from walk(os.path.join(path, name))


def glob(pattern) -> list[str]:
    """Paths that match; `**` for folders of any depth."""
    if not is_url(pattern):
        return local_glob.glob(pattern, recursive=True)
    if not local_glob.has_magic(pattern):
        return [pattern] if exists(pattern) else []
    # The folder before the first wildcard: a store is not listed from its root.
    parts = pattern.split("/")
    fixed = next(i for i, x in enumerate(parts) if local_glob.has_magic(x))
    expression = re.compile(
        "".join(
            "(?:.*/)?" if part == "**" else _one_part(part) + ("/" if i else "")
            for i, part in zip(range(len(parts) - fixed)[::-1], parts[fixed:])
        )
    )
    root = "/".join(parts[:fixed])
    found = [
        os.path.join(where, name)
        for where, folders, files in walk(root)
        for name in (*folders, *files)
    ]
    return [x for x in found if expression.fullmatch(x[len(root) + 1 :])]


def escape(path) -> str:
    """The pattern for `glob` that stands for this very path."""
    return local_glob.escape(path)


def check_utf8(path) -> None:
    """Raises an OSError if a path is none that TensorFlow can write to."""
    try:
        abspath(path).encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "its name is not UTF-8", path) from None


def makedirs(path) -> None:
    """Makes a folder and those it is in, if they are not there."""
    if not is_url(path):
        os.makedirs(path, exist_ok=True)
        return
    with _os_errors(path):
        _gfile().makedirs(path)


def remove(path) -> None:
    if not is_url(path):
        os.remove(path)
        return
    with _os_errors(path):
        _gfile().remove(path)


def rmtree(path) -> None:
    if not is_url(path):
        shutil.rmtree(path)
        return
    with _os_errors(path):
        _gfile().rmtree(path)


def copy(source, target) -> None:
    """Copies a file as a whole, over what is there."""
    with _os_errors(target):
        _clear_memory(target)
        _gfile().copy(os.fspath(source), os.fspath(target), overwrite=True)


def size(path) -> int:
    """Bytes of a file."""
    if not is_url(path):
        return os.path.getsize(path)
    with _os_errors(path):
        return _gfile().stat(path).length


def getmtime(path) -> float:
    """Seconds since 1970 when a file was last written."""
    if not is_url(path):
        return os.path.getmtime(path)
    with _os_errors(path):
        return _gfile().stat(path).mtime_nsec / 1e9


def abspath(path) -> str:
    """A path that a change of the current folder leaves valid, in one form."""
    path = os.fspath(path)
    if not is_url(path):
        return os.path.abspath(path)
    scheme, rest = path.split("://", 1)
    rest = os.path.normpath(f"/{rest}").lstrip("/")
    return f"{scheme}://{rest}"


def realpath(path) -> str:
    """`abspath` without symbolic links."""
    path = os.fspath(path)
    return abspath(path) if is_url(path) else os.path.realpath(path)


def relpath(path, start=os.curdir) -> str:
    """A path as seen from a folder, both on the same store."""
    if is_url(path) != is_url(start):
        raise ValueError(f"{path} has no path from {start}.")
    if not is_url(path):
        return os.path.relpath(path, start)
    path, start = (f"/{abspath(x)}" for x in (path, start))
    return os.path.relpath(path, start)


def samefile(path, other) -> bool:
    """Returns whether two existing paths name the same file."""
    if is_url(path) or is_url(other):
        return abspath(path) == abspath(other)
    return os.path.samefile(path, other)


@contextlib.contextmanager
def local_copy(path) -> Iterator[str]:
    """A local path of a file, for what reads no URLs; a copy if need be."""
    path = os.fspath(path)
    if not is_url(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
        local = os.path.join(folder, os.path.basename(path))
        copy(path, local)
        yield local


def local_cache(path, checksum) -> str:
    """A local path of a file that never changes, for what maps it into memory.

    What is under a URL is copied once, to the folder `tfcopy` of
    `$XDG_CACHE_HOME`, which is `~/.cache` by default.

    Args:
        path: The file.
        checksum: Of its content, which distinguishes copies.
    """
    if not is_url(path):
        return path
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    cached = os.path.join(
        home, "tfcopy", f"{checksum}-{os.path.basename(path)}"
    )
    if not os.path.exists(cached):
        os.makedirs(os.path.dirname(cached), exist_ok=True)
        with tempfile.TemporaryDirectory(dir=os.path.dirname(cached)) as folder:
            part = os.path.join(folder, "part")
            copy(path, part)
            os.replace(part, cached)
    return cached


def _one_part(pattern):
    """A regular expression of the names that one part of a pattern matches."""
    expression = fnmatch.translate(pattern).replace(".*", "[^/]*")
    return f"(?:{expression.removesuffix(chr(92) + 'Z')})"


def _clear_memory(path):
    """TensorFlow's memory appends where it should replace."""
    if str(path).startswith("ram://"):
        with contextlib.suppress(FileNotFoundError):
            remove(path)


def _gfile():
    import tensorflow as tf  # late: local paths need no TensorFlow

    return tf.io.gfile


@contextlib.contextmanager
def _os_errors(path):
    """TensorFlow's errors as those of `os`, which name the path."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        kinds = {
            tf.errors.NotFoundError: errno.ENOENT,
            tf.errors.AlreadyExistsError: errno.EEXIST,
            tf.errors.PermissionDeniedError: errno.EACCES,
            tf.errors.UnauthenticatedError: errno.EACCES,
            tf.errors.ResourceExhaustedError: errno.ENOSPC,
        }
        number = kinds.get(type(error), errno.EIO)
        reason = os.strerror(number)
        if isinstance(error, tf.errors.UnimplementedError):
            scheme = os.fspath(path).split("://")[0]
            reason = (
                f"TensorFlow knows no scheme {scheme}://; tensorflow-io may "
                "add it"
            )
        elif number == errno.EIO:
            reason = " ".join(error.message.split())
        raise OSError(number, reason, os.fspath(path)) from error


class _RawFile(io.RawIOBase):
    """A file of TensorFlow, for Python's buffers."""

    def __init__(self, file, kind):
        self._file, self._kind = file, kind

    def begin(self):
        """Reads nothing: what is not there, or a folder, fails now."""
        self._file.size()
        self._file.read(0)

    def readable(self):
        return self._kind == "r"

    def writable(self):
        return self._kind == "w"

    def seekable(self):
        return self._kind == "r"

    def readinto(self, buffer):
        with _os_errors(self._file.name):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def write(self, data):
        with _os_errors(self._file.name):
            self._file.write(bytes(data))
        return len(data)

    def seek(self, offset, whence=os.SEEK_SET):
        with _os_errors(self._file.name):
            self._file.seek(offset, whence)
            return self._file.tell()

    def tell(self):
        return self._file.tell()

    def flush(self):
        if self._kind == "w" and not self.closed:
            with _os_errors(self._file.name):
                self._file.flush()

    def close(self):
        if not self.closed:
            try:
                with _os_errors(self._file.name):
                    self._file.close()
            finally:
                super().close()
