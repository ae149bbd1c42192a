"""Locks on files and folders, which the end of their process ends as well.

They tell what a living process uses from what a killed one has left. On file
systems without such locks (`flock`) nothing is ever taken for a leftover.
"""

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator

from tfcopy import filesystem

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


def is_left_over(path) -> bool:
    """Whether no living process has locked what is at a path."""
    try:
        os.close(lock(path))
    except OSError:
        return False
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
