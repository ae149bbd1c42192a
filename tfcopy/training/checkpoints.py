"""Checkpoints that survive kills, full disks and damaged files.

A checkpoint and the best weights are files of arrays that have checksums (see
`checked_files`), so that damage is noticed, and a rename makes them visible in
whole or not at all.
"""

import contextlib
import json
import os
import re

import numpy as np

from tfcopy import atomic_files, checked_files, filesystem
from tfcopy.checked_files import DamagedFileError
from tfcopy.file_forms import parse_json
from tfcopy.training.checkpoint_arrays import (
    CheckpointError,
    as_arrays,
    weights_of,
)

_NAME = re.compile(r"checkpoint-(\d+)\.npz")
_BEST_NAME = "best.npz"
_AVERAGE_NAME = "average.npz"
_SCORED_NAME = re.compile(r"scored-\d+-\d+\.npz")
_INFO = {"identity": dict, "state": dict, "averages": dict}


class Checkpoints:
    """The newest checkpoints of a run, and its best weights, in a folder.

    Runs that average weights also keep those of the dev scores concerned, and
    the average in the end.

    Args:
        folder: Path; made when first written to.
        keep: How many checkpoints to keep. With two, a damaged newest one
            costs the updates since the one before, and no more.
        report: Callable that prints a line.
    """

    def __init__(self, folder, keep=2, report=print):
        self.folder = os.fspath(folder)
        self.keep = keep
        self.report = report
        self._damaged = []

    @property
    def best_path(self):
        """The path of the best weights."""
        return self._path(_BEST_NAME)

    def paths(self):
        """Returns the paths of the checkpoints, the newest first."""
        if not filesystem.isdir(self.folder):
            return []
        names = filter(_NAME.fullmatch, filesystem.listdir(self.folder))
        ordered = sorted(names, key=_update_of, reverse=True)
        return [os.path.join(self.folder, name) for name in ordered]

    def save(self, update, info, arrays):
        """Writes a checkpoint, then removes those that are too old or damaged.

        Args:
            update: Number of updates made.
            info: Dict of values that JSON can hold.
            arrays: Dict of NumPy arrays.

        Raises:
            CheckpointError: If it could not be written. Earlier checkpoints are
                left as they were.
        """
        path = self._path(f"checkpoint-{update:09d}.npz")
        self._write(path, info, arrays)
        damaged = {path for path in self._damaged if filesystem.exists(path)}
        whole = [x for x in self.paths() if x not in damaged - {path}]
        for old in {*whole[self.keep :], *damaged} - {path}:
            filesystem.remove(old)
        self._damaged = []
        return path

    def save_best(self, weights, info):
        """Writes the best weights.

        Args:
            weights: List of arrays, those of the model in their order.
            info: Dict of values that JSON can hold.

        Raises:
            CheckpointError: If they could not be written. Earlier ones are
                left as they were.
        """
        self._save_weights(_BEST_NAME, weights, info)

    def save_average(self, weights, info):
        """Writes the weights that training ends with instead of the best ones.

        Args, raises: As in `save_best`.
        """
        self._save_weights(_AVERAGE_NAME, weights, info)

    def save_scored(self, phase, update, weights):
        """Writes weights that are to be averaged.

        Args:
            phase: The phase of training that they were scored in.
            update: The update after which they were scored.
            weights: As in `save_best`.

        Raises:
            CheckpointError: As in `save_best`.
        """
        name = _scored_name(phase, update)
        self._save_weights(name, weights, {"phase": phase, "update": update})

    def remove_average(self):
        """Removes the average, as training goes on."""
        self._remove(_AVERAGE_NAME)

    def remove_scored(self, kept):
        """Removes weights that were to be averaged, but no more.

        Args:
            kept: `(phase, update)` of those that are kept.
        """
        kept = {_scored_name(phase, update) for phase, update in kept}
        if filesystem.isdir(self.folder):
            for name in filesystem.listdir(self.folder):
                if _SCORED_NAME.fullmatch(name) and name not in kept:
                    self._remove(name)

    def infos(self):
        """Yields the `info` of each checkpoint that is readable, newest first.

        Their arrays are neither read nor checked.
        """
        for path in self.paths():
            with contextlib.suppress(OSError, DamagedFileError):
                yield _read(path, ["info"])[0]

    def newest_info(self):
        """The first of `infos`, or `None`."""
        return next(self.infos(), None)

    def load_weights(self, model, newest=False):
        """Loads the weights of a run into a model, for use without training.

        Args:
            model: A model built like the one that was trained.
            newest: Whether to load the weights of the newest checkpoint instead
                of those with which training ends: their average if there is
                one, or else the best ones.

        Raises:
            CheckpointError: If there are none, or they are damaged or from
                another model.
        """
        if not newest:
            load = self.load_best
            if filesystem.exists(self._path(_AVERAGE_NAME)):
                load = self.load_average
            model.set_weights(load(model)[1])
            return
        loaded = self.load()
        if loaded is None:
            raise CheckpointError(f"{self.folder}: no checkpoint yet.")
        path, info, arrays = loaded
        averages = info.get("averages", {})
        arrays = {
            name: arrays[averages.get(name, name)]
            for name in arrays
            if name.startswith("model/")
        }
        model.set_weights(weights_of(model, arrays, path))

    def load_best(self, model):
        """Reads the best weights.

        Args:
            model: A model built like the one that was trained, which keeps its
                own weights.

        Returns:
            `(info, weights)`, as `save_best` got them.

        Raises:
            CheckpointError: If there are none, or they are damaged or from
                another model.
        """
        if not filesystem.exists(self.best_path):
            raise CheckpointError(
                f"{self.folder}: no best weights yet, as there was no dev "
                "score."
            )
        return self._load_named(_BEST_NAME, model)

    def load_average(self, model):
        """Reads the average; as `load_best`."""
        return self._load_named(_AVERAGE_NAME, model)

    def load_scored(self, phase, update, model):
        """Reads weights that are to be averaged; as `load_best`."""
        return self._load_named(_scored_name(phase, update), model)

    def load(self):
        """Reads the newest checkpoint that is whole.

        Returns:
            `(path, info, arrays)`, or `None` if there is no checkpoint.

        Raises:
            CheckpointError: If there are checkpoints, but none is whole.
        """
        self._damaged = []
        for path in self.paths():
            try:
                return path, *_read(path)
            except (FileNotFoundError, DamagedFileError) as error:
                self._damaged.append(path)
                self.report(f"{error} Trying the checkpoint before.")
        if self._damaged:
            raise CheckpointError(
                f"No checkpoint is whole: {', '.join(self._damaged)}. Remove "
                "them or pass --fresh to start afresh."
            )
        return None

    def clear(self):
        """Removes all checkpoints and the weights beside them."""
        self.remove_scored(())
        names = map(os.path.basename, self.paths())
        for name in [*names, _BEST_NAME, _AVERAGE_NAME]:
            self._remove(name)

    def _path(self, name):
        return os.path.join(self.folder, name)

    def _remove(self, name):
        with contextlib.suppress(FileNotFoundError):
            filesystem.remove(self._path(name))

    def _save_weights(self, name, weights, info):
        self._write(self._path(name), info, as_arrays(weights))

    def _load_named(self, name, model):
        path = self._path(name)
        try:
            info, arrays = _read(path)
        except DamagedFileError as error:
            raise CheckpointError(str(error)) from error
        except FileNotFoundError:
            raise CheckpointError(f"{path} is missing.") from None
        return info, weights_of(model, arrays, path)

    def _write(self, path, info, arrays):
        header = np.frombuffer(json.dumps(info).encode(), np.uint8)
        try:
            checked_files.write_arrays(path, {"info": header, **arrays})
        except OSError as error:
            cause = error.__cause__
            reason = cause.strerror or str(cause)
            if atomic_files.is_full(error):
                reason = "the disk is full"
            raise CheckpointError(
                f"Could not write {path}: {reason}. The checkpoint before it "
                "is still valid."
            ) from error


def is_weights(name):
    """Returns whether a file of this name holds weights."""
    return name == _BEST_NAME or bool(_NAME.fullmatch(name))


def _read(path, names=None):
    """The `info` of a file, and its arrays."""
    arrays = checked_files.read_arrays(path, names)
    try:
        info = parse_json(arrays.pop("info").tobytes())
    except (KeyError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}).") from error
    checked_files.check_fields(path, {"info": info}, {"info": _INFO})
    return info, arrays


def _scored_name(phase, update):
    return f"scored-{phase}-{update:09d}.npz"


def _update_of(name):
    return int(_NAME.fullmatch(name)[1])
