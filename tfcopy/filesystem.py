"""Files under local paths and under URLs, such as `gs://bucket/run`.

Paths that name a scheme are left to TensorFlow's file systems (`tf.io.gfile`),
which also write events and SavedModels there. `gs://` is built in, others such
as `s3://` come with `tensorflow-io`; `ram://` is the memory of the process. All
other paths are local, and TensorFlow is not imported for them. The functions
behave like their namesakes in `os`, `os.path`, `shutil` and `glob`, and raise
`OSError`s under URLs, too. (`join`, `basename`, `dirname` and `splitext` of
`os.path` work on URLs as they are.)

Object stores have no locks: nothing keeps two commands from writing the same
run. They cannot rename either: files are written locally and copied as a whole
(see `atomic_files`).
"""

import builtins
import contextlib
import errno
import glob as local_glob
import io
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://")


def is_url(path) -> bool:
    """Returns whether a path is a URL, such as `gs://bucket/run`."""
    return isinstance(path, str) and _URL.match(path) is not None


def open(path, mode="r", **options):
    """Opens a file, buffered; under a URL only to read it."""
    if not is_url(path):
        return builtins.open(path, mode, **options)
    if mode not in ("r", "rb"):
        raise ValueError(f"{path}: no mode {mode!r} under a URL.")
    buffered = io.BufferedReader(_RemoteFile(path))
    return buffered if "b" in mode else io.TextIOWrapper(buffered, **options)


def read_bytes(path) -> bytes:
    """Returns the content of a file."""
    with open(path, "rb") as file:
        return file.read()


def _local_or_remote(local: Callable, remote: Callable) -> Callable:
    """Makes a function of a path.

    Args:
        local: Function of a local path.
        remote: Function of `tf.io.gfile` and a URL.
    """

    def function(path):
        if not is_url(path):
            return local(path)
        with _os_errors(path):
            return remote(_gfile(), path)

    return function


def _is_folder(gfile, url):
    if gfile.isdir(url):
        return True
    gfile.exists(url)  # raises the errors of a store, which `isdir` hides
    return False


exists = _local_or_remote(os.path.exists, lambda gfile, x: gfile.exists(x))
isdir = _local_or_remote(os.path.isdir, _is_folder)
isfile = _local_or_remote(
    os.path.isfile, lambda gfile, x: gfile.exists(x) and not gfile.isdir(x)
)
# Some stores end the names of folders with a slash.
listdir = _local_or_remote(
    os.listdir, lambda gfile, x: [y.rstrip("/") for y in gfile.listdir(x)]
)
makedirs = _local_or_remote(
    lambda x: os.makedirs(x, exist_ok=True), lambda gfile, x: gfile.makedirs(x)
)
remove = _local_or_remote(os.remove, lambda gfile, x: gfile.remove(x))
rmtree = _local_or_remote(shutil.rmtree, lambda gfile, x: gfile.rmtree(x))
# Bytes, and seconds since 1970.
size = _local_or_remote(os.path.getsize, lambda gfile, x: gfile.stat(x).length)
getmtime = _local_or_remote(
    os.path.getmtime, lambda gfile, x: gfile.stat(x).mtime_nsec / 1e9
)


def walk(path, onerror=None) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yields folders, each before its content; the lists may be changed."""
    if not is_url(path):
        yield from os.walk(path, onerror=onerror)
        return
    with _os_errors(path):
        for folder, folders, files in _gfile().walk(path):
            folders[:] = sorted(x.rstrip("/") for x in folders)
            yield folder, folders, sorted(files)


def glob(pattern) -> list[str]:
    """Returns the paths that match; `**` matches folders of any depth."""
    if not is_url(pattern):
        return local_glob.glob(pattern, recursive=True)
    root, is_deep, rest = pattern.partition("/**/")
    if local_glob.has_magic(root):
        with _os_errors(root):
            found = _gfile().glob(root)
    else:
        found = [root] if exists(root) else []
    if not is_deep:
        return found
    return [
        path
        for top in found
        for folder, _, _ in walk(top)
        for path in glob(os.path.join(local_glob.escape(folder), rest))
    ]


def check_utf8(path) -> None:
    """Raises an OSError if TensorFlow cannot write to a path."""
    try:
        abspath(path).encode()
    except UnicodeEncodeError:
        raise OSError(errno.EILSEQ, "its name is not UTF-8", path) from None


def copy(source, target) -> None:
    """Copies a file as a whole, and replaces the one at `target`."""
    source, target = os.fspath(source), os.fspath(target)
    with _os_errors(target):
        if not target.startswith("ram://"):
            # One call, which no signal interrupts: a file that is closed half
            # written is complete for a store.
            _gfile().copy(source, target, overwrite=True)
            return
        # TensorFlow's memory appends where it should replace, and `gfile.copy`
        # loses a file named `checkpoint` beside a folder `checkpoints` there.
        with contextlib.suppress(FileNotFoundError):
            remove(target)
        with open(source, "rb") as read:
            with _gfile().GFile(target, "wb") as write:
                write.write(b"")  # makes the file, even an empty one
                shutil.copyfileobj(read, write)


def abspath(path) -> str:
    """Returns a path in one form, independent of the current folder."""
    path = os.fspath(path)
    if not is_url(path):
        return os.path.abspath(path)
    scheme, rest = path.split("://", 1)
    rest = os.path.normpath(f"/{rest}").lstrip("/")
    return f"{scheme}://{rest}"


def realpath(path) -> str:
    """Returns `abspath` without symbolic links."""
    path = os.fspath(path)
    return abspath(path) if is_url(path) else os.path.realpath(path)


def relpath(path, start=os.curdir) -> str:
    """Returns a path relative to a folder of the same store."""
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
    """Yields a local path of a file, or of a copy of it under a URL."""
    path = os.fspath(path)
    if not is_url(path):
        yield path
        return
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
        local = os.path.join(folder, os.path.basename(path))
        copy(path, local)
        yield local


def cache() -> str:
    """Returns the cache folder, which may not exist.

    It is `tfcopy` in `$XDG_CACHE_HOME`, by default in `~/.cache`.
    """
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "tfcopy")


def _gfile():
    import tensorflow as tf  # late: local paths need no TensorFlow

    return tf.io.gfile


@contextlib.contextmanager
def _os_errors(path):
    """Raises TensorFlow's errors as `OSError`s that name the path."""
    import tensorflow as tf

    try:
        yield
    except tf.errors.OpError as error:
        number = {
            tf.errors.NotFoundError: errno.ENOENT,
            tf.errors.AlreadyExistsError: errno.EEXIST,
            tf.errors.PermissionDeniedError: errno.EACCES,
            tf.errors.UnauthenticatedError: errno.EACCES,
            tf.errors.ResourceExhaustedError: errno.ENOSPC,
        }.get(type(error), errno.EIO)
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


class _RemoteFile(io.RawIOBase):
    """A file under a URL to read, for Python's buffers."""

    def __init__(self, url):
        self._url = url
        with _os_errors(url):
            self._file = _gfile().GFile(url, "rb")
            # Reads nothing: a missing file, or a folder, fails now.
            self._file.size()
            self._file.read(0)

    def readable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):
        with _os_errors(self._url):
            data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def seek(self, offset, whence=os.SEEK_SET):
        with _os_errors(self._url):
            self._file.seek(offset, whence)
            return self._file.tell()

    def close(self):
        self._file.close()
        super().close()
