"""Where exported models are: folders of versions that are named by numbers.

As TensorFlow Serving does, `001` is taken for version 1.
"""

import os
from collections.abc import Iterator

from tfcopy import filesystem
from tfcopy.serving.client_library.signatures import AskError


def numbers_in(folder) -> Iterator[tuple[int, str]]:
    """Yields all numbers that are names, of folders or files, and paths."""
    for name in filesystem.listdir(folder):
        if name.isascii() and name.isdecimal():
            yield int(name), os.path.join(folder, name)


def numbered(folder) -> dict[int, str]:
    """The folders in a folder whose names are numbers, in order.

    Returns:
        Dict from the numbers to the paths.

    Raises:
        AskError: If two have the same number.
    """
    paths = {}
    for number, path in numbers_in(folder):
        if not filesystem.isdir(path):
            continue
        other = paths.setdefault(number, path)
        if other != path:
            name = os.path.basename(path)
            raise AskError(
                f"{folder}: {name} and {os.path.basename(other)} are the same "
                "version. Rename or remove one of them."
            )
    return dict(sorted(paths.items()))


def find_versions(folder) -> dict[int, str]:
    """The versions of a model in a folder, in order, and their paths."""
    return {
        number: path
        for number, path in numbered(folder).items()
        if _is_saved_model(path)
    }


def find_version(folder, version: int | None = None) -> str:
    """The folder of one version of a model.

    Args:
        folder: The folder of one version, or of numbered versions.
        version: Which of them; the highest if not given.

    Raises:
        AskError: If there is no such model.
    """
    folder = os.fspath(folder)
    try:
        is_folder = filesystem.isdir(folder)
    except OSError as error:
        raise AskError(f"{folder}: {error.strerror}.") from error
    if not is_folder:
        raise AskError(f"{folder}: no such folder.")
    if _is_saved_model(folder):
        if version is not None:
            raise AskError(
                f"{folder} is a version itself: leave --version out."
            )
        return folder
    paths = find_versions(folder)
    models = () if paths else find_models(folder)
    if models:
        raise AskError(
            f"{folder}: which of its models? Choose one: "
            + ", ".join(os.path.join(folder, name) for name in models)
            + "."
        )
    if not paths:
        raise AskError(
            f"{folder}: no exported model in it. Expected folders named "
            "1, 2, ... with a saved_model.pb each."
        )
    number = max(paths) if version is None else version
    if number not in paths:
        versions = ", ".join(map(str, paths))
        raise AskError(
            f"{folder}: no version {version}. Available: {versions}."
        )
    return paths[number]


def find_models(folder) -> dict[str, dict[int, str]]:
    """The models below a folder: their names, and their versions."""
    models = {
        name: find_versions(os.path.join(folder, name))
        for name in sorted(filesystem.listdir(folder))
        if filesystem.isdir(os.path.join(folder, name))
    }
    return {name: versions for name, versions in models.items() if versions}


def _is_saved_model(folder):
    return filesystem.isfile(os.path.join(folder, "saved_model.pb"))
