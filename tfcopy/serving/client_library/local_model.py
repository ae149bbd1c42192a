"""An exported model, asked in this process with TensorFlow alone.

What the commands of `tfcopy.serving` ask is a model of three attributes: its
`name`, for messages; its `signatures`, a dict of `Signature`; and `ask`. Here
it is a folder; in `tfcopy.serving.client_library.remote_model` a server.
"""

import json
import logging
import os
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from tfcopy.quiet import quiet

# In the folder `assets.extra` of a version.
CONFIG_NAME = "tfcopy.json"


class AskError(Exception):
    """An error that is told to the user in one line."""


class Signature(NamedTuple):
    """What a function of a model takes and gives.

    Attributes:
        inputs: Dict from the names of its texts to their rank: 1 for one text
            an example, 2 for a row of texts.
        outputs: Names of what it gives.
    """

    inputs: dict[str, int]
    outputs: tuple[str, ...]


class LocalModel:
    """A SavedModel, loaded and ready to answer.

    Args:
        folder: The folder of one version, or of numbered versions.
        version: Which of them; the highest if not given.

    Raises:
        AskError: If there is no such model, or it cannot be loaded.
    """

    def __init__(self, folder, version: int | None = None):
        self.name = find_version(os.fspath(folder), version)
        self.config = read_config(self.name)
        try:
            with quiet():
                self._model = _load(self.name)
                self.signatures = {
                    name: _signature(function)
                    for name, function in self._model.signatures.items()
                }
                self._warm_up()
        except Exception as error:  # whatever a damaged file causes
            reason = str(error).strip().split("\n")[0]
            raise AskError(
                f"{self.name}: cannot be loaded ({reason})."
            ) from None

    def ask(self, signature: str, inputs: Mapping) -> dict[str, np.ndarray]:
        """What a signature answers.

        Args:
            signature: Its name.
            inputs: Dict of its inputs: lists of texts, `bytes` or `str`, or
                of rows of as many texts each.

        Returns:
            Dict of arrays; texts are `bytes`.
        """
        import tensorflow as tf

        ranks = self.signatures[signature].inputs
        tensors = {
            name: tf.constant(value, tf.string, _shape(value, ranks[name]))
            for name, value in inputs.items()
        }
        outputs = self._model.signatures[signature](**tensors)
        return {name: x.numpy() for name, x in outputs.items()}

    def _warm_up(self):
        # The first question would be slow, and print messages.
        for name, (inputs, _) in self.signatures.items():
            if inputs and all(inputs.values()):
                blank = {1: ["a"], 2: [["a"]]}
                self.ask(name, {key: blank[x] for key, x in inputs.items()})


def _load(folder):
    # Late: --help and errors need not wait for it.
    import tensorflow as tf

    logging.getLogger("absl").setLevel(logging.ERROR)
    if has_pieces(folder):
        import tensorflow_text  # noqa: F401 its operations
    return tf.saved_model.load(folder)


def _signature(function):
    specs = function.structured_input_signature[1]
    ranks = {
        name: spec.shape.rank if spec.dtype.name == "string" else 0
        for name, spec in specs.items()
    }
    return Signature(ranks, tuple(function.structured_outputs))


def _shape(value, rank):
    """The shape of a list of texts or rows, which may be empty."""
    rows = len(value)
    return [rows] if rank == 1 else [rows, len(value[0]) if rows else 0]


def find_version(folder, version=None):
    """The folder of one version of a model."""
    if not os.path.isdir(folder):
        raise AskError(f"{folder}: no such folder.")
    if _is_saved_model(folder):
        if version is not None:
            raise AskError(
                f"{folder} is a version itself: leave --version out."
            )
        return folder
    names = find_versions(folder)
    if not names:
        raise AskError(
            f"{folder}: no exported model in it. Expected folders named "
            "1, 2, ... with a saved_model.pb each."
        )
    number = version if version is not None else names[-1]
    if number not in names:
        versions = ", ".join(map(str, names))
        raise AskError(
            f"{folder}: no version {version}. Available: {versions}."
        )
    return os.path.join(folder, str(number))


def find_versions(folder) -> list[int]:
    """The numbers of the versions in a folder, in order."""
    return sorted(
        int(name)
        for name in os.listdir(folder)
        if name.isdecimal() and _is_saved_model(os.path.join(folder, name))
    )


def find_models(folder) -> dict[str, list[int]]:
    """The models below a folder: their names, and their versions."""
    models = {
        name: find_versions(os.path.join(folder, name))
        for name in sorted(os.listdir(folder))
        if os.path.isdir(os.path.join(folder, name))
    }
    return {name: versions for name, versions in models.items() if versions}


def has_pieces(folder) -> bool:
    """Whether a version needs TensorFlow Text's operations for pieces."""
    with open(os.path.join(folder, "saved_model.pb"), "rb") as file:
        return b"SentencepieceOp" in file.read()


def read_config(folder) -> dict:
    """What the export remembered; empty if it is not there."""
    try:
        path = os.path.join(folder, "assets.extra", CONFIG_NAME)
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (OSError, ValueError):
        return {}


def _is_saved_model(folder):
    return os.path.isfile(os.path.join(folder, "saved_model.pb"))
