"""Checks of the files that a command is to write, before its work."""

import os
from collections.abc import Iterable, Mapping

from tfcopy import atomic_files, filesystem


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


def check_writable(outputs: Mapping[str, str | None]) -> None:
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
            atomic_files.check_writable(folder)
        except OSError as error:
            raise OSError(
                f"{flag}: cannot write {path} ({error.strerror or error})."
            ) from error
