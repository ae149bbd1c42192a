"""Folders of exports: versions, which are named by numbers, and their facts.

`001` is version 1, as in TensorFlow Serving.
"""

import os
from collections.abc import Iterator

from tfcopy import checked_files, filesystem
from tfcopy.runtime.litert_engine import FILE_NAME
from tfcopy.runtime.signatures import ModelError

# In the folder `assets.extra` of a version.
CONFIG_NAME = "tfcopy.json"
# Incremented with every incompatible change of the SavedModel.
FORMAT = 1
_FIGURES = {"right": float, "bleu": float, "chrf": float}
# Types of the scores of a test that are read, all optional.
SCORES = {
    **_FIGURES,
    "must_copy": _FIGURES,
    "texts": int,
    "calibration": [[float]],
    "held_out": [str],
}
# Types of the fields that are read, all optional.
_FIELDS = {
    **dict.fromkeys(("created", "engines", "system", "task"), str),
    **dict.fromkeys(("source_language", "target_language"), str),
    **dict.fromkeys(("max_source_length", "num_headwords"), int),
    **dict.fromkeys(("source_vocabulary_size", "text_vocabulary_size"), int),
    **{"texts": [str], "labels": [str], "examples": [dict], "pieces": dict},
    "source_tokenizer": {"protect": [str]},
    "search": {"num_beams": int},
    "litert": {"precision": str, "sha256": str, "texts": str},
    "scores": SCORES,
}


def iter_numbered(folder) -> Iterator[tuple[int, str]]:
    """Yields the numbers among the names in a folder, with their paths."""
    for name in filesystem.listdir(folder):
        if name.isascii() and name.isdecimal():
            yield int(name), os.path.join(folder, name)


def find_versions(folder) -> dict[int, str]:
    """Returns the versions of a model in a folder, in order, and their paths.

    Raises:
        ModelError: If two folders are the same version.
    """
    paths = {}
    for number, path in iter_numbered(folder):
        if not filesystem.isdir(path):
            continue
        other = paths.setdefault(number, path)
        if other != path:
            name = os.path.basename(path)
            raise ModelError(
                f"{folder}: {name} and {os.path.basename(other)} are the same "
                "version. Rename or remove one of them."
            )
    return {x: y for x, y in sorted(paths.items()) if is_saved_model(y)}


def find_version(folder, version: int | None = None) -> str:
    """Returns the folder of one version of a model.

    Args:
        folder: The folder of one version, or of numbered versions.
        version: Number of the version; the highest if not given.

    Raises:
        ModelError: If there is no such model.
    """
    folder = os.fspath(folder)
    try:
        is_folder = filesystem.isdir(folder)
    except OSError as error:
        raise ModelError(f"{folder}: {error.strerror}.") from error
    if not is_folder:
        raise ModelError(f"{folder}: no such folder.")
    if is_version(folder):
        if version is not None:
            raise ModelError(
                f"{folder} is a version itself: leave --version out."
            )
        return folder
    paths = find_versions(folder)
    models = () if paths else find_models(folder)
    if models:
        raise ModelError(
            f"{folder}: contains several models. Choose one: "
            + ", ".join(os.path.join(folder, name) for name in models)
            + "."
        )
    if not paths:
        raise ModelError(
            f"{folder}: no exported model in it. Expected folders named "
            "1, 2, ... with a saved_model.pb each."
        )
    number = max(paths) if version is None else version
    if number not in paths:
        versions = ", ".join(map(str, paths))
        raise ModelError(
            f"{folder}: no version {version}. Available: {versions}."
        )
    return paths[number]


def find_models(folder) -> dict[str, dict[int, str]]:
    """Returns the models in a folder by name, with their versions."""
    models = {
        name: find_versions(os.path.join(folder, name))
        for name in sorted(filesystem.listdir(folder))
        if filesystem.isdir(os.path.join(folder, name))
    }
    return {name: versions for name, versions in models.items() if versions}


def find_exports(folder) -> list[str]:
    """Returns a folder if it is an exported model, otherwise those in it.

    Raises:
        ModelError: If there is none.
    """
    if not filesystem.isdir(folder):
        raise ModelError(f"{folder}: no such folder.")
    if is_version(folder) or find_versions(folder):
        return [folder]
    exports = [os.path.join(folder, name) for name in find_models(folder)]
    if not exports:
        raise ModelError(
            f"{folder}: no exported models in it. Expected folders of folders "
            "named 1, 2, ... with a saved_model.pb each; recipes write them "
            "there."
        )
    return exports


def is_saved_model(folder) -> bool:
    """Returns whether a folder is a version of a model for TensorFlow."""
    return filesystem.isfile(os.path.join(folder, "saved_model.pb"))


def is_version(folder) -> bool:
    """Returns whether a folder is a version that an engine can answer from."""
    programs = os.path.join(folder, "assets.extra", FILE_NAME)
    return is_saved_model(folder) or filesystem.isfile(programs)


def read_config(folder) -> dict:
    """Reads the facts that an export stores; empty if there are none.

    Raises:
        ModelError: If the file is damaged, or of another release.
    """
    path = os.path.join(folder, "assets.extra", CONFIG_NAME)
    try:
        config = checked_files.read_json(path)
        number = config.get("format", FORMAT)
        if number != FORMAT:
            raise ModelError(
                f"{path} is of another release of tfcopy (format {number!r}; "
                f"this one reads format {FORMAT}). Update tfcopy."
            )
        checked_files.check_fields(path, config, optional=_FIELDS)
    except FileNotFoundError:
        return {}
    except checked_files.DamagedFileError as error:
        raise ModelError(str(error)) from None
    return {name: x for name, x in config.items() if x is not None}
