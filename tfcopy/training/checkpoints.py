"""Checkpoints that survive kills, full disks and damaged files.

A checkpoint is one NumPy archive: every array carries a checksum, so that a
truncated or damaged file is noticed, and a rename makes it visible in whole or
not at all.
"""

import contextlib
import json
import os
import re
import warnings
import zipfile
import zlib

import numpy as np

from tfcopy import atomic_files

_NAME = re.compile(r"checkpoint-(\d+)\.npz")
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    OSError,
    EOFError,
    KeyError,
    ValueError,
    NotImplementedError,
)


class CheckpointError(RuntimeError):
    """A checkpoint cannot be written, read, or used for this model."""


class Checkpoints:
    """The newest checkpoints of a run, and its best weights, in a folder.

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
        self.best_path = os.path.join(self.folder, "best.weights.h5")

    def paths(self):
        """Returns the paths of the checkpoints, the newest first."""
        if not os.path.isdir(self.folder):
            return []
        names = filter(_NAME.fullmatch, os.listdir(self.folder))
        ordered = sorted(names, key=_update_of, reverse=True)
        return [os.path.join(self.folder, name) for name in ordered]

    def save(self, update, info, arrays):
        """Writes a checkpoint, then removes those that are too old.

        Args:
            update: Number of updates made.
            info: Dict of values that JSON can hold.
            arrays: Dict of NumPy arrays.

        Raises:
            CheckpointError: If it could not be written. Earlier checkpoints are
                left as they were.
        """
        path = os.path.join(self.folder, f"checkpoint-{update:09d}.npz")
        header = np.frombuffer(json.dumps(info).encode(), np.uint8)
        with self._writing(path) as new, open(new, "wb") as file:
            np.savez(file, info=header, **arrays)
        for old in self.paths()[self.keep :]:
            os.remove(old)
        atomic_files.remove_leftovers(self.folder)
        return path

    def save_best(self, model):
        """Writes the weights as a Keras weights file."""
        with self._writing(self.best_path) as new:
            model.save_weights(new)

    def newest_info(self):
        """The `info` of the newest checkpoint that can be read, or `None`.

        Its arrays are neither read nor checked.
        """
        for path in self.paths():
            try:
                with np.load(path, allow_pickle=False) as archive:
                    return json.loads(archive["info"].tobytes())
            except _DAMAGE:
                continue
        return None

    def load_weights(self, model, newest=False):
        """Loads the weights of a run into a model, for use without training.

        Args:
            model: A model built like the one that was trained.
            newest: Whether to load the weights of the newest checkpoint instead
                of the best ones, with which training ends.

        Raises:
            CheckpointError: If there are none, or they are damaged or of
                another model.
        """
        if newest:
            loaded = self.load()
            if loaded is None:
                raise CheckpointError(f"{self.folder}: no checkpoint yet.")
            path, _, arrays = loaded
            variables = _named_variables(model)
            arrays = {k: x for k, x in arrays.items() if "model/" in k}
            difference = _difference(variables, arrays)
            if difference:
                raise CheckpointError(
                    f"{path} is from another model: {difference}."
                )
            for name, variable in variables:
                variable.assign(_from_array(arrays[name], variable))
            return
        if not os.path.exists(self.best_path):
            raise CheckpointError(
                f"{self.folder}: no best weights yet, as there was no dev "
                "score."
            )
        try:
            with warnings.catch_warnings(record=True) as left_out:
                warnings.simplefilter("always", UserWarning)
                model.load_weights(self.best_path)
            # For some weights that it leaves out, Keras only warns.
            for warning in left_out:
                if issubclass(warning.category, UserWarning):
                    raise RuntimeError(warning.message)
        except (*_DAMAGE, RuntimeError) as error:
            reason = re.split("List of objects|Target var", str(error))[0]
            raise CheckpointError(
                f"{self.best_path} is damaged or from another model "
                f"({' '.join(reason.split())})."
            ) from error

    def load(self):
        """Reads the newest checkpoint that is whole.

        Returns:
            `(path, info, arrays)`, or `None` if there is no checkpoint.

        Raises:
            CheckpointError: If there are checkpoints, but none is whole.
        """
        damaged = []
        for path in self.paths():
            try:
                with np.load(path, allow_pickle=False) as archive:
                    arrays = {name: archive[name] for name in archive.files}
                info = json.loads(arrays.pop("info").tobytes())
            except _DAMAGE as error:
                damaged.append(path)
                self.report(
                    f"Checkpoint {path} is damaged ({error}); "
                    "trying the one before."
                )
                continue
            return path, info, arrays
        if damaged:
            raise CheckpointError(
                f"No checkpoint is whole: {', '.join(damaged)}. Remove them or "
                "pass --fresh to start afresh."
            )
        return None

    def clear(self):
        """Removes all checkpoints and the best weights."""
        for path in [*self.paths(), self.best_path]:
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)

    @contextlib.contextmanager
    def _writing(self, path):
        """Yields a path to write to, which then replaces `path`."""
        try:
            with atomic_files.replacement(path) as new:
                yield new
        except OSError as error:
            cause = error.__cause__
            reason = cause.strerror or str(cause)
            if atomic_files.is_full(error):
                reason = "the disk is full"
            raise CheckpointError(
                f"Could not write {path}: {reason}. The checkpoint before it "
                "is still valid."
            ) from error


def collect(model, optimizer):
    """Returns the weights and the optimizer's variables as a dict of arrays."""
    return {
        name: _to_array(variable)
        for name, variable in _named_variables(model, optimizer)
    }


def restore(model, optimizer, arrays, path):
    """Sets weights and optimizer variables to those of a checkpoint.

    Raises:
        CheckpointError: If the checkpoint is from another model or optimizer.
    """
    variables = _named_variables(model, optimizer)
    difference = _difference(variables, arrays)
    if difference:
        raise other_run(path, difference)
    for name, variable in variables:
        variable.assign(_from_array(arrays[name], variable))


def check_identity(path, there, here):
    """Raises an error where a checkpoint's identity and this run's differ.

    A key that only one of them has is from another release of the recipe.

    Raises:
        CheckpointError: naming what differs.
    """
    for name in sorted(there.keys() & here.keys()):
        if there[name] != here[name]:
            raise other_run(
                path, f"{name} is {there[name]!r} there and {here[name]!r} here"
            )


def other_run(path, difference):
    """Returns the error that tells that a checkpoint is from another run."""
    return CheckpointError(
        f"The checkpoint in {os.path.dirname(path)} is from another run: "
        f"{difference}. Pass --fresh to start afresh (which removes it), or "
        "choose another folder."
    )


def _named_variables(model, optimizer=None):
    # By position, not path: Keras numbers the layers of a process, so the
    # same model may be `dense` in one run and `dense_1` in the next.
    parts = [("model", model.weights)]
    if optimizer is not None:
        parts.append(("optimizer", optimizer.variables))
    return [
        (f"{part}/{index:04d}", variable)
        for part, variables in parts
        for index, variable in enumerate(variables)
    ]


def _difference(variables, arrays):
    for name, variable in variables:
        here = tuple(variable.shape)
        if name not in arrays:
            return f"`{variable.path}` is missing there"
        if arrays[name].shape != here:
            there = arrays[name].shape
            return f"`{variable.path}` has shape {there} there and {here} here"
    if len(arrays) != len(variables):
        return f"it has {len(arrays)} variables and not {len(variables)}"
    return None


def _to_array(variable):
    array = np.asarray(variable.numpy())
    # NumPy archives do not know bfloat16.
    return array.view(np.uint16) if variable.dtype == "bfloat16" else array


def _from_array(array, variable):
    if variable.dtype == "bfloat16":
        return array.view(variable.numpy().dtype)
    return array


def _update_of(name):
    return int(_NAME.fullmatch(name)[1])
