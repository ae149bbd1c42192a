"""Loading the files of a finished run after one bit of them has changed.

Not a benchmark itself: `attacks` uses it.
"""

import contextlib
import io
import json
import os

import numpy as np

from tfcopy import checked_files
from tfcopy.serving.run_folder import RunError, RunFolder
from tfcopy.serving.servables.storage import (
    FILE_NAME,
    StorageError,
    StoredFiles,
)
from tfcopy.training.checkpoints import CheckpointError, Checkpoints

_ERRORS = (
    checked_files.DamagedFileError,
    CheckpointError,
    RunError,
    StorageError,
)


class FlippedFile:
    """A file of a run, whose bits are flipped one at a time.

    Args:
        path: The file.
        kind: What it holds, in words.
        load: Function of no arguments that gives the value in it, or another
            that is right as well, of which it prints a line.
        others: Values that are right as well.
    """

    def __init__(self, path, kind, load, others=()):
        self.path = path
        self.kind = kind
        self._load = load
        self._whole = path.read_bytes()
        self._value = _plain(load())
        self._others = [_plain(other) for other in others]

    def flip(self, rng):
        """Flips a bit, loads, and puts the bit back.

        Returns:
            `(outcome, problem)`: whether the value was "equal", "refused" or
            another that is "right as well"; and what is wrong, or `None`.
        """
        data = bytearray(self._whole)
        place, bit = rng.integers(len(data)), rng.integers(8)
        data[place] ^= 1 << int(bit)
        self.path.write_bytes(data)
        where = f"{self.path.name}, bit {bit} of byte {place}"
        told = io.StringIO()
        try:
            with contextlib.redirect_stdout(told):
                value = _plain(self._load())
        except _ERRORS as error:
            line = "\n" not in str(error) and str(self.path) in str(error)
            return "refused", None if line else f"{where}: says {error!r}"
        except Exception as error:
            return "error", f"{where}: {type(error).__name__}: {error}"
        finally:
            self.path.write_bytes(self._whole)
        if value == self._value:
            return "equal", None
        if value in self._others and told.getvalue().count("\n") == 1:
            return "right as well", None
        return "wrong", f"{where}: a wrong value"


def files_of(run):
    """The `FlippedFile`s of a finished `TinyRun`, all that are loaded."""
    config, results, servable = (
        run.run_folder / "config.json",
        run.run_folder / "results.json",
        run.system / FILE_NAME,
    )
    content = checked_files.read_json(servable)
    names = RunFolder(run.run_folder).results.keys()

    # An entry more, such as a checksum by another name, is not looked at.
    def load_folder():
        folder = RunFolder(run.run_folder)
        known = {k: x for k, x in folder.results.items() if k in names}
        return folder.recipe, folder.values, known

    def load_servable():
        found = checked_files.read_json(servable)
        return {k: x for k, x in found.items() if k in content}

    files = [
        FlippedFile(config, "config.json", load_folder),
        FlippedFile(results, "results.json", load_folder),
        FlippedFile(servable, FILE_NAME, load_servable),
    ]
    files += _weights(run)
    files += _stored(run, content)
    for path in (run.run_folder / "data").glob("*.npz"):

        def load_ids(path=path):
            return checked_files.read_arrays(path)

        files.append(FlippedFile(path, "corpus as ids", load_ids))
    return files


def _weights(run):
    checkpoints = Checkpoints(run.system / "checkpoints")
    newest, before = map(checked_files.read_arrays, checkpoints.paths())

    def load():
        _, info, arrays = checkpoints.load()
        header = np.frombuffer(json.dumps(info).encode(), np.uint8)
        return {"info": header, **arrays}

    path, older = ((run.system / x) for x in checkpoints.paths())
    yield FlippedFile(path, "newest checkpoint", load, [before])
    yield FlippedFile(
        older, "older checkpoint", lambda: checked_files.read_arrays(older)
    )
    best = run.system / checkpoints.best_path
    yield FlippedFile(
        best, "best weights", lambda: checked_files.read_arrays(best)
    )


def _stored(run, content):
    """Vocabularies and other files that a servable refers to."""
    stored = StoredFiles(run.system)
    for reference in _references(content):
        path = run.system / reference["file"]

        def load(reference=reference):
            with open(stored.path(reference), "rb") as file:
                return file.read()

        yield FlippedFile(path.resolve(), "vocabulary", load)


def _references(value):
    if isinstance(value, dict):
        if {"file", "sha256"} <= value.keys():
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for one in value:
            yield from _references(one)


def _plain(value):
    """A value that can be compared by `==`, arrays by their bits."""
    if isinstance(value, dict):
        # What JSON gives has no order that counts.
        return {name: _plain(x) for name, x in value.items()}
    if isinstance(value, np.ndarray):
        return value.dtype.str, value.shape, value.tobytes()
    return value


def flip_one(path, rng):
    """Flips a bit of a file; says which."""
    data = bytearray(path.read_bytes())
    if not data:
        return f"{os.path.basename(path)}, which is empty"
    place, bit = rng.integers(len(data)), rng.integers(8)
    data[place] ^= 1 << int(bit)
    path.write_bytes(data)
    return f"{os.path.basename(path)}, bit {bit} of byte {place}"
