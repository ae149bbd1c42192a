"""Atomic writes: readers see the old file or the new one, never a part.

A write that fails, because the disk is full or the process is killed, leaves
the old file unchanged. A file that has its final name survives a power failure.

Stores under URLs, such as `gs://`, cannot rename, but show only complete files:
a file for them is written locally, then copied.

A lock ends with its process, and so distinguishes the files of living processes
from leftovers of killed ones. On file systems without such locks (`flock`)
nothing counts as a leftover.
"""

import contextlib
import errno
import fcntl
import functools
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping

from tfcopy import filesystem

_PREFIX = ".writing-"
# Whole names, so that nothing of others is taken for ours.
_NEW_FILE = re.compile(r"\.writing-[0-9a-f]{8}-.+", re.DOTALL)
_RANDOM = "[a-z0-9_]{8}"  # as `tempfile` makes names


@contextlib.contextmanager
def replacement(path) -> Iterator[str]:
    """Yields the local path of a new file that replaces `path` at the end.

    Its name has the extension of `path`. Missing folders are made. If the body
    fails, the new file is removed.

    Raises:
        OSError: naming `path`, with the `errno` of the cause, if the file
            cannot be written. The old file at `path` is unchanged.
    """
    if filesystem.is_url(path):
        with _upload(path) as new:
            yield new
        return
    folder, name = os.path.split(os.fspath(path))
    folder = folder or "."

    def make():
        # Several processes may write the same file, each its own copy.
        copy = f"{_PREFIX}{secrets.token_hex(4)}-{name}"
        copy = os.path.join(folder, copy)
        open(copy, "xb").close()
        return copy

    new = held = None
    try:
        make_folder(folder)
        remove_leftovers(folder)
        new, held = _make_locked(make)
        yield new
        _sync(new)
        os.replace(new, path)
        _sync(folder)
    except BaseException as error:
        if new is not None:
            with contextlib.suppress(OSError):
                os.remove(new)
        if isinstance(error, OSError):
            raise _name_file(error, path) from error
        raise
    finally:
        if held is not None:
            os.close(held)


@contextlib.contextmanager
def _upload(url):
    """Yields a local file that is copied to a URL at the end."""
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
        new = os.path.join(folder, os.path.basename(url))
        try:
            yield new
            filesystem.makedirs(os.path.dirname(url))
            filesystem.copy(new, url)
        except OSError as error:
            raise _name_file(error, url) from error


def write_atomically(path, write: Callable) -> None:
    """Calls `write(file)` on a new binary file that then replaces `path`.

    Raises:
        OSError: As in `replacement`.
    """
    with replacement(path) as new, open(new, "wb") as file:
        write(file)


def make_folder(path) -> None:
    """Makes a folder and its parents, if they do not exist."""
    if filesystem.is_url(path):
        filesystem.makedirs(path)
        return
    path = os.path.abspath(path)
    if not os.path.isdir(path):
        parent = os.path.dirname(path)
        make_folder(parent)
        with contextlib.suppress(FileExistsError):
            os.mkdir(path)
        _sync(parent)


def check_writable(folder) -> None:
    """Makes a folder, and raises an OSError if it is not writable."""
    above = filesystem.abspath(folder)
    while not (filesystem.is_url(above) or os.path.exists(above)):
        _made.append(above)
        above = os.path.dirname(above)
    filesystem.makedirs(folder)
    if filesystem.is_url(folder):
        probe = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(4)}")
        with tempfile.NamedTemporaryFile() as empty:
            filesystem.copy(empty.name, probe)
        filesystem.remove(probe)
        return
    with tempfile.TemporaryFile(dir=folder):
        pass


@contextlib.contextmanager
def remove_empty_folders() -> Iterator[None]:
    """Removes at the end the folders that `check_writable` made for nothing."""
    _made.clear()
    try:
        yield
    finally:
        for folder in sorted(_made, reverse=True):  # inner ones first
            with contextlib.suppress(OSError):
                if os.listdir(folder) == [LOCK_NAME]:
                    os.remove(os.path.join(folder, LOCK_NAME))
                os.rmdir(folder)


def check_files(
    outputs: Mapping[str, str | None],
    inputs: Mapping[str, Iterable[str | None]],
) -> None:
    """Checks the files of a command before it begins, and names wrong flags.

    The folders of outputs are made.

    Args:
        outputs: Files to write, by flag; `None` if the flag is not given.
        inputs: Files to read, by flag.

    Raises:
        OSError: If a file cannot be read or written.
        ValueError: If an output is also an input, or another output.
    """
    taken = [(flag, path) for flag, paths in inputs.items() for path in paths]
    for flag, path in taken:
        if path is not None:
            check_readable(flag, path)
    for flag, path in outputs.items():
        for other, used in taken:
            if path and used and _is_same(path, used):
                raise ValueError(
                    f"{flag}: {path} is the file of {other} as well. Choose "
                    "another."
                )
        taken.append((flag, path))
        if path is not None:
            _check_output(flag, path)


def check_readable(flag: str, path: str) -> None:
    """Raises an OSError that names the flag of a file that is not readable."""
    if not filesystem.exists(path):
        reason = os.strerror(errno.ENOENT)
    elif not (filesystem.is_url(path) or os.access(path, os.R_OK)):
        reason = os.strerror(errno.EACCES)
    else:
        return
    raise OSError(f"{flag}: cannot read {path} ({reason}).")


def _is_same(path, other):
    if filesystem.exists(path) and filesystem.exists(other):
        return filesystem.samefile(path, other)
    return filesystem.realpath(path) == filesystem.realpath(other)


def _check_output(flag, path):
    try:
        if not path:
            raise OSError("a file has a name")
        if filesystem.isdir(path):
            raise OSError("it is a folder")
        check_writable(os.path.dirname(path) or ".")
    except OSError as error:
        raise OSError(
            f"{flag}: cannot write {path} ({error.strerror or error})."
        ) from error


def publish_file(source, target) -> None:
    """Moves a finished file to its place, on its disk or under a URL."""
    if filesystem.is_url(target):
        filesystem.copy(source, target)
        return
    os.replace(source, target)
    _sync(os.path.dirname(target) or ".")


def publish_folder(source, target, last) -> None:
    """Moves a finished folder to a path where there is no folder with content.

    Args:
        source: The folder, on the disk of `target` unless that is a URL.
        target: The new path.
        last: The file that readers look for, at the top of the folder. Under a
            URL it is copied after all others.

    Raises:
        OSError: If there is such a folder, or it cannot be written.
    """
    if filesystem.is_url(target):
        _upload_folder(source, target, last)
        return
    for folder, _, names in os.walk(source):
        for name in names:
            _sync(os.path.join(folder, name))
        _sync(folder)
    os.rename(source, target)
    _sync(os.path.dirname(os.path.abspath(target)))


def _upload_folder(source, target, last):
    if filesystem.exists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), target)
    files = [
        os.path.join(folder, name)
        for folder, _, names in os.walk(source)
        for name in names
    ]
    marker = os.path.join(source, last)
    for file in sorted(files, key=lambda x: (x == marker, x)):
        copied = os.path.join(target, os.path.relpath(file, source))
        filesystem.makedirs(os.path.dirname(copied))
        filesystem.copy(file, copied)


def remove_leftovers(folder) -> None:
    """Removes the files of killed writers from a folder.

    Under a URL there are none.
    """
    if not filesystem.is_url(folder):
        _remove_unlocked(folder, _NEW_FILE, os.remove)


def _remove_unlocked(folder, pattern, remove):
    """Removes what matches a pattern, unless a process has locked it."""
    for name in filter(pattern.fullmatch, os.listdir(folder)):
        path = os.path.join(folder, name)
        try:
            held = lock(path)
        except OSError:
            continue
        try:
            # Before another process locks it.
            remove(path)
        finally:
            os.close(held)


def _make_locked(make):
    """Makes a file or folder, and locks it.

    Args:
        make: Function that makes one, and returns its path.

    Returns:
        `(path, descriptor)`, the file descriptor of the lock, or `None` on file
        systems without locks.
    """
    while True:
        path = make()
        try:
            return path, lock(path)
        except (BlockingIOError, FileNotFoundError):
            continue  # Another process took it for a leftover.
        except OSError:
            return path, None


@contextlib.contextmanager
def scratch_folder(directory, prefix) -> Iterator[str]:
    """Yields a new folder in a directory, which is removed at the end.

    The folders of killed processes are removed first. For a directory under a
    URL, the folder is a local one.

    Args:
        directory: Path of the directory.
        prefix: Beginning of the names of such folders.
    """
    if filesystem.is_url(directory):
        with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
            yield folder
        return
    remove = functools.partial(shutil.rmtree, ignore_errors=True)
    _remove_unlocked(directory, re.compile(re.escape(prefix) + _RANDOM), remove)
    make = functools.partial(tempfile.mkdtemp, prefix=prefix, dir=directory)
    folder, held = _make_locked(make)
    try:
        yield folder
    finally:
        remove(folder)
        if held is not None:
            os.close(held)


def is_full(error: OSError) -> bool:
    """Returns whether a write failed for lack of space."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _name_file(error: OSError, path) -> OSError:
    """Returns an error whose message names the file and what to do."""
    reason = error.strerror or str(error)
    message = f"{path}: cannot be written ({reason})."
    if is_full(error):
        message += " Free some space, then repeat the command."
    named = OSError(message)
    named.errno = error.errno
    return named


def _sync(path):
    """Waits until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


LOCK_NAME = ".lock"
_locks: dict[str, int] = {}  # Descriptors of this process, by path.
_made: list[str] = []  # Folders that `check_writable` has made.


def lock(path, make: bool = False) -> int:
    """Locks a file or folder for this process.

    Args:
        path: The file or folder.
        make: Whether to make a file if the path does not exist.

    Returns:
        A file descriptor; closing it ends the lock.

    Raises:
        BlockingIOError: If the path is locked.
        FileNotFoundError: If the path does not exist.
        OSError: If the file system has no locks.
    """
    flags = os.O_RDONLY if os.path.isdir(path) else os.O_RDWR
    if make:
        flags |= os.O_CREAT
    while True:
        descriptor = os.open(path, flags, 0o666)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # It may have been removed or replaced before it was locked.
            if _is_at(descriptor, path):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def lock_folder(folder) -> None:
    """Locks a folder until `unlock_folder`, or until the process ends.

    Under a URL, and on file systems without locks, nothing is locked.

    Raises:
        BlockingIOError: If another process has locked it, which `strerror`
            names.
    """
    if filesystem.is_url(folder):
        return
    path = _lock_of(folder)
    unlock_folder(folder)
    try:
        _locks[path] = lock(path, make=True)
    except BlockingIOError as error:
        with open(path, encoding="utf-8", errors="replace") as file:
            error.strerror = file.read() or "another process"
        raise
    except OSError:
        return
    with contextlib.suppress(OSError):  # A full disk: nobody is named.
        os.truncate(path, 0)
        name = f"process {os.getpid()} of {socket.gethostname()}"
        os.write(_locks[path], name.encode())


def unlock_folder(folder) -> None:
    """Unlocks a folder, if `lock_folder` has locked it."""
    path = _lock_of(folder)
    if path in _locks:
        os.close(_locks.pop(path))


def _lock_of(folder):
    return os.path.join(filesystem.realpath(folder), LOCK_NAME)


@contextlib.contextmanager
def hold_lock(path, busy: Exception) -> Iterator[None]:
    """Holds the lock of a file, which need not exist.

    The lock is on a hidden file beside it, which is removed at the end. Where
    no file can be made, such as under a URL, nothing is locked.

    Args:
        path: The file.
        busy: The error to raise if another process has the lock.
    """
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".locked-{name}")
    descriptor = None
    try:
        descriptor = lock(beside, make=True)
    except BlockingIOError as error:
        raise busy from error
    except OSError:
        pass
    try:
        yield
    finally:
        if descriptor is not None:
            with contextlib.suppress(OSError):
                os.remove(beside)
            os.close(descriptor)


def _is_at(descriptor, path):
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
