"""Checkpoints that survive kills, full disks and damaged files.

Checkpoints and the best weights are files of arrays with checksums (see
`checked_files`), which detect damage. A rename makes each file visible only
once it is complete.
"""

import contextlib
import json
import os
import re

import numpy as np

from tfcopy import atomic_files, checked_files, filesystem
from tfcopy.checked_files import DamagedFileError
from tfcopy.file_formats import parse_json
from tfcopy.training.checkpoint_arrays import (
    CheckpointError,
    as_arrays,
    set_values,
    weights_of,
)

_NAME = re.compile(r"checkpoint-(\d+)\.npz")
_BEST_NAME = "best.npz"
_AVERAGE_NAME = "average.npz"
_SCORED_NAME = re.compile(r"scored-\d+-\d+\.npz")
_INFO = {"identity": dict, "state": dict, "averages": dict}


class Checkpoints:
    """Folder with the newest checkpoints of a run, and its best weights.

    For runs that average weights, it also contains the weights to average, and
    in the end the average.

    ```python
    checkpoints = training.Checkpoints("run/checkpoints")
    checkpoints.save_best(model.get_weights(), {"update": 100})
    ```

    Args:
        folder: Path, created when needed.
        keep: Number of checkpoints to keep. With two, damage to the newest one
            costs only the updates since the previous one.
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
        """Writes a checkpoint, then removes old and damaged ones.

        Args:
            update: Number of updates so far.
            info: Dict of JSON values.
            arrays: Dict of NumPy arrays.

        Returns:
            The path of the checkpoint.

        Raises:
            CheckpointError: If it could not be written. Earlier checkpoints are
                then unchanged.
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
            weights: List of arrays, in the order of the model's weights.
            info: Dict of JSON values.

        Raises:
            CheckpointError: If they could not be written. Earlier ones are then
                unchanged.
        """
        self._save_weights(_BEST_NAME, weights, info)

    def save_average(self, weights, info):
        """Writes the averaged weights of the end; see `save_best`."""
        self._save_weights(_AVERAGE_NAME, weights, info)

    def save_scored(self, phase, update, weights):
        """Writes weights that will be averaged.

        Args:
            phase: Phase of training in which they were scored.
            update: Update after which they were scored.
            weights: As in `save_best`.

        Raises:
            CheckpointError: As in `save_best`.
        """
        name = _name_scored(phase, update)
        self._save_weights(name, weights, {"phase": phase, "update": update})

    def remove_average(self):
        """Removes the average, since training continues."""
        self._remove(_AVERAGE_NAME)

    def remove_scored(self, kept):
        """Removes weights that will no longer be averaged.

        Args:
            kept: Pairs `(phase, update)` of the weights to keep.
        """
        kept = {_name_scored(phase, update) for phase, update in kept}
        if filesystem.isdir(self.folder):
            for name in filesystem.listdir(self.folder):
                if _SCORED_NAME.fullmatch(name) and name not in kept:
                    self._remove(name)

    def infos(self):
        """Yields the `info` of each readable checkpoint, the newest first.

        The arrays of the checkpoints are neither read nor checked.
        """
        for path in self.paths():
            with contextlib.suppress(OSError, DamagedFileError):
                yield _read(path, ["info"])[0]

    def newest_info(self):
        """Returns the first of `infos`, or `None`."""
        return next(self.infos(), None)

    def load_weights(self, model, newest=False):
        """Loads the weights of a run into a model, for use without training.

        Args:
            model: Model with the same architecture as the trained one.
            newest: Whether to load the newest checkpoint, instead of the
                average of weights if there is one, or else the best weights.

        Raises:
            CheckpointError: If the weights are missing, damaged or from another
                model.
        """
        if not newest:
            load = self.load_best
            if filesystem.exists(self._path(_AVERAGE_NAME)):
                load = self.load_average
            set_values(model, load(model)[1])
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
        set_values(model, weights_of(model, arrays, path))

    def load_best(self, model):
        """Reads the best weights.

        Args:
            model: Model with the same architecture as the trained one; it is
                not changed.

        Returns:
            `(info, weights)`, the arguments of `save_best`.

        Raises:
            CheckpointError: If the weights are missing, damaged or from another
                model.
        """
        if not filesystem.exists(self.best_path):
            raise CheckpointError(
                f"{self.folder}: no best weights yet; they need a dev score."
            )
        return self._load_named(_BEST_NAME, model)

    def load_average(self, model):
        """Reads the average of weights; see `load_best`."""
        return self._load_named(_AVERAGE_NAME, model)

    def load_scored(self, phase, update, model):
        """Reads weights that will be averaged; see `load_best`."""
        return self._load_named(_name_scored(phase, update), model)

    def load(self):
        """Reads the newest checkpoint that is not damaged.

        Returns:
            `(path, info, arrays)`, or `None` if there is no checkpoint.

        Raises:
            CheckpointError: If all checkpoints are damaged.
        """
        self._damaged = []
        for path in self.paths():
            try:
                return path, *_read(path)
            except (FileNotFoundError, DamagedFileError) as error:
                self._damaged.append(path)
                self.report(f"{error} Trying the previous checkpoint.")
        if self._damaged:
            raise CheckpointError(
                f"All checkpoints are damaged: {', '.join(self._damaged)}. "
                "Remove them, or pass --fresh to start over."
            )
        return None

    def clear(self):
        """Removes all checkpoints and weights."""
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
                f"Could not write {path}: {reason}. The previous checkpoint is "
                "still valid."
            ) from error


def is_weights(name):
    """Returns whether a file with this name contains weights."""
    return name == _BEST_NAME or bool(_NAME.fullmatch(name))


def _read(path, names=None):
    """Reads a file; returns its `info` and its arrays."""
    arrays = checked_files.read_arrays(path, names)
    try:
        info = parse_json(arrays.pop("info").tobytes())
    except (KeyError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}).") from error
    checked_files.check_fields(path, {"info": info}, {"info": _INFO})
    return info, arrays


def _name_scored(phase, update):
    return f"scored-{phase}-{update:09d}.npz"


def _update_of(name):
    return int(_NAME.fullmatch(name)[1])
