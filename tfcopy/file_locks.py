"""Locks on files and folders, which the end of their process ends as well.

They tell what a living process uses from what a killed one has left. On file
systems without such locks (`flock`) nothing is ever taken for a leftover.
"""

import fcntl
import os


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


def _is_at(descriptor, path):
    try:
        return os.path.samestat(os.fstat(descriptor), os.stat(path))
    except FileNotFoundError:
        return False
