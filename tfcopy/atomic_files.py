"""Files that are replaced as a whole: readers see the old or the new one.

A write that fails, because the disk is full or the process is killed, leaves
the old file unchanged. What has its name outlives a power failure.

Stores under URLs, such as `gs://`, cannot rename, but show a file only when all
of it is there: what is written for them is a local file until it is copied.

Locks, which the end of their process ends as well, tell what a living process
uses from what a killed one has left. On file systems without such locks
(`flock`) nothing is ever taken for a leftover.
"""

import contextlib
import errno
import fcntl
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
        OSError: If the file cannot be written, naming `path`; its `errno` is
            that of the cause. What was at `path` before is still there.
    """
    if filesystem.is_url(path):
        with _upload(path) as new:
            yield new
        return
    folder, name = os.path.split(os.fspath(path))
    folder = folder or "."
    new = held = None
    try:
        make_folder(folder)
        remove_leftovers(folder)
        while True:
            # Several processes may write the same file, each its own copy.
            copy = f"{_PREFIX}{secrets.token_hex(4)}-{name}"
            new = os.path.join(folder, copy)
            try:
                # Others see that it is no leftover.
                held = lock(new, make=True)
            except BlockingIOError:
                continue  # Another process takes it for one.
            except OSError:
                pass  # A file system without locks.
            break
        yield new
        _sync(new)
        os.replace(new, path)
        _sync(folder)
    except BaseException as error:
        if new is not None:
            with contextlib.suppress(OSError):
                os.remove(new)
        if isinstance(error, OSError):
            raise _named(error, path) from error
        raise
    finally:
        if held is not None:
            os.close(held)


@contextlib.contextmanager
def _upload(url):
    """`replacement` for a store."""
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
        new = os.path.join(folder, os.path.basename(url))
        try:
            yield new
            filesystem.makedirs(os.path.dirname(url))
            filesystem.copy(new, url)
        except OSError as error:
            raise _named(error, url) from error


def write_atomically(path, write: Callable) -> None:
    """Calls `write(file)` on a new binary file that then replaces `path`.

    Raises:
        OSError: As in `replacement`.
    """
    with replacement(path) as new, open(new, "wb") as file:
        write(file)


def make_folder(path) -> None:
    """Makes a folder and those it is in, if they are not there."""
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
    """Makes a folder; an OSError says why if nothing can be written there."""
    filesystem.makedirs(folder)
    if filesystem.is_url(folder):
        probe = os.path.join(folder, f"{_PREFIX}{secrets.token_hex(4)}")
        with filesystem.open(probe, "wb"):
            pass
        filesystem.remove(probe)
        return
    with tempfile.TemporaryFile(dir=folder):
        pass


def check_not_read(
    outputs: Mapping[str, str | None],
    inputs: Mapping[str, Iterable[str | None]],
) -> None:
    """Raises a ValueError if a file to write is read, or written twice.

    Args:
        outputs: Files by their flags; `None` where a flag is not given.
        inputs: Files that are read, by their flags.
    """
    taken = [(flag, path) for flag, paths in inputs.items() for path in paths]
    for flag, path in outputs.items():
        for other, used in taken:
            if path and used and _is_same(path, used):
                raise ValueError(
                    f"{flag}: {path} is the file of {other} as well. Choose "
                    "another."
                )
        taken.append((flag, path))


def _is_same(path, other):
    if filesystem.exists(path) and filesystem.exists(other):
        return filesystem.samefile(path, other)
    return filesystem.realpath(path) == filesystem.realpath(other)


def check_outputs(outputs: Mapping[str, str | None]) -> None:
    """Raises an OSError if a file cannot be written; makes its folder.

    Args:
        outputs: As in `check_not_read`.
    """
    for flag, path in outputs.items():
        if path is None:
            continue
        folder = os.path.dirname(path) or "."
        try:
            if not path:
                raise OSError("a file has a name")
            if filesystem.isdir(path):
                raise OSError("it is a folder")
            check_writable(folder)
        except OSError as error:
            raise OSError(
                f"{flag}: cannot write {path} ({error.strerror or error})."
            ) from error


def publish_file(source, target) -> None:
    """Gives a finished file another name on its disk; a copy under a URL."""
    if filesystem.is_url(target):
        filesystem.copy(source, target)
        return
    os.replace(source, target)
    _sync(os.path.dirname(target) or ".")


def publish_folder(source, target, last) -> None:
    """Gives a finished folder a name that no folder with content has.

    Args:
        source: The folder, on the disk of `target` if that is no URL.
        target: The new path.
        last: The file at the top of the folder that readers look for: where
            the folder has to be copied, it is copied after all others.

    Raises:
        OSError: If there is one, or the folder cannot be written.
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
    """Removes files that killed writers have left in a folder.

    None are ever left under a URL.
    """
    if filesystem.is_url(folder):
        return
    for name in os.listdir(folder):
        path = os.path.join(folder, name)
        if _NEW_FILE.fullmatch(name):
            with contextlib.suppress(FileNotFoundError):
                is_left_over(path, os.remove)


@contextlib.contextmanager
def scratch_folder(directory, prefix) -> Iterator[str]:
    """Yields a new folder in a directory, which is removed at the end.

    Those that killed processes have left there are removed first. For a
    directory under a URL the folder is a local one.

    Args:
        directory: Path of the directory.
        prefix: How names of such folders start.
    """
    if filesystem.is_url(directory):
        with tempfile.TemporaryDirectory(prefix="tfcopy-") as folder:
            yield folder
        return
    ours = re.compile(re.escape(prefix) + _RANDOM)
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        if ours.fullmatch(name):
            is_left_over(path, lambda x: shutil.rmtree(x, ignore_errors=True))
    held = None
    while True:
        folder = tempfile.mkdtemp(prefix=prefix, dir=directory)
        try:
            held = lock(folder)
        except (BlockingIOError, FileNotFoundError):
            continue  # Another process takes it for a leftover.
        except OSError:
            pass  # A file system without locks.
        break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if held is not None:
            os.close(held)


def is_full(error: OSError) -> bool:
    """Returns whether a write failed for lack of space."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT)


def _named(error: OSError, path) -> OSError:
    """The error with a message that names the file and what to do."""
    reason = error.strerror or str(error)
    message = f"{path}: cannot be written ({reason})."
    if is_full(error):
        message += " Free some space, then repeat the command."
    named = OSError(message)
    named.errno = error.errno
    return named


def _sync(path):
    """Waits until a file, or a folder's list of names, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


LOCK_NAME = ".lock"
_locks: dict[str, int] = {}  # Descriptors of this process, by path.


def lock(path, make: bool = False) -> int:
    """Locks a file or folder for this process.

    Args:
        path: The file or folder.
        make: Whether a file is made where there is nothing.

    Returns:
        A file descriptor, whose closing ends the lock.

    Raises:
        BlockingIOError: If somebody else has the lock.
        FileNotFoundError: If there is nothing to lock.
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


def is_left_over(path, remove: Callable = lambda path: None) -> bool:
    """Returns whether no living process holds the lock of a path.

    Args:
        path: The path.
        remove: Function that removes it if so, before another one locks it.
    """
    try:
        descriptor = lock(path)
    except OSError:
        return False
    try:
        remove(path)
    finally:
        os.close(descriptor)
    return True


def lock_folder(folder) -> None:
    """Makes a folder this process's own, until `unlock_folder` or its end.

    Under a URL, and on file systems without locks, nothing is locked.

    Raises:
        BlockingIOError: If another process has it; its `strerror` says which.
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
    """Gives back what `lock_folder` took, if it did."""
    path = _lock_of(folder)
    if path in _locks:
        os.close(_locks.pop(path))


def _lock_of(folder):
    return os.path.join(filesystem.realpath(folder), LOCK_NAME)


@contextlib.contextmanager
def locked(path, busy: Exception) -> Iterator[None]:
    """Context in which this process has the lock of a file, there or not.

    It is that of a hidden file beside it, which is removed at the end. Where
    none can be made, as under a URL, nothing is locked.

    Args:
        path: The file.
        busy: What is raised if another process has the lock.
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
