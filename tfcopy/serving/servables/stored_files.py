"""Files that the systems of a run share, each known by its checksum."""

import hashlib
import os

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically


class StoredFileError(ValueError):
    """A file is missing or is not the one that was stored."""


class StoredFiles:
    """The files that a system's folder refers to.

    They lie in the folder `data` beside it, so that the systems of a run keep
    one copy together. A file is named by its checksum, unless there is one
    with this very content already.

    Args:
        folder: The folder of a system.
    """

    def __init__(self, folder):
        self.folder = filesystem.abspath(os.fspath(folder))
        self.shared = os.path.join(os.path.dirname(self.folder), "data")

    def write(self, data: bytes, name: str, existing=None) -> dict:
        """Stores a file.

        Args:
            data: Its content.
            name: Its name, with `{}` for the checksum.
            existing: Path of a file that may hold it already.

        Returns:
            A reference: the `file`, relative to the system's folder, and its
            `sha256`.

        Raises:
            OSError: naming the file, if it cannot be written.
        """
        checksum = _checksum(data)
        path = os.path.join(self.shared, name.format(checksum))
        if existing is not None:
            existing = filesystem.abspath(os.fspath(existing))
            if os.path.dirname(existing) == self.shared:
                if _read(existing) == data:
                    path = existing
        if _read(path) != data:
            write_atomically(path, lambda file: file.write(data))
        # References work on any system.
        relative = filesystem.relpath(path, self.folder).replace(os.sep, "/")
        return {"file": relative, "sha256": checksum}

    def path(self, reference: dict) -> str:
        """The path of a file that was stored.

        Raises:
            StoredFileError: If it is missing, or its content has changed.
        """
        path = filesystem.abspath(os.path.join(self.folder, reference["file"]))
        if os.path.dirname(path) != self.shared:
            raise StoredFileError(f"{path}: not a file of {self.shared}.")
        data = _read(path)
        if data is None:
            raise StoredFileError(f"{path}: no such file, or not readable.")
        if _checksum(data) != reference["sha256"]:
            raise StoredFileError(
                f"{path} is damaged or has changed since the run began."
            )
        return path


def _checksum(data):
    return hashlib.sha256(data).hexdigest()[:16]


def _read(path):
    try:
        with filesystem.open(path, "rb") as file:
            return file.read()
    except OSError:
        return None
