"""Checkpoints that survive kills, full disks and damaged files.

A checkpoint and the best weights are files of arrays that have checksums (see
`checked_files`), so that damage is noticed, and a rename makes them visible in
whole or not at all.
"""

import contextlib
import json
import os
import re
import warnings

import numpy as np

from tfcopy import atomic_files, checked_files
from tfcopy.checked_files import DamagedFileError

_NAME = re.compile(r"checkpoint-(\d+)\.npz")
_BEST_NAME = "best.npz"
# Of earlier releases: a file of Keras, which has no checksum.
_OLD_BEST_NAME = "best.weights.h5"


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
        self._damaged = []

    @property
    def best_path(self):
        """The path of the best weights."""
        path = os.path.join(self.folder, _BEST_NAME)
        old = os.path.join(self.folder, _OLD_BEST_NAME)
        if os.path.exists(old) and not os.path.exists(path):
            return old
        return path

    def paths(self):
        """Returns the paths of the checkpoints, the newest first."""
        if not os.path.isdir(self.folder):
            return []
        names = filter(_NAME.fullmatch, os.listdir(self.folder))
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
        path = os.path.join(self.folder, f"checkpoint-{update:09d}.npz")
        self._write(path, info, arrays)
        damaged = {path for path in self._damaged if os.path.exists(path)}
        whole = [x for x in self.paths() if x not in damaged - {path}]
        for old in {*whole[self.keep :], *damaged} - {path}:
            os.remove(old)
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
        path = os.path.join(self.folder, _BEST_NAME)
        arrays = dict(zip(_names("model", weights), map(_storable, weights)))
        self._write(path, info, arrays)
        with contextlib.suppress(FileNotFoundError):
            os.remove(os.path.join(self.folder, _OLD_BEST_NAME))

    def newest_info(self):
        """The `info` of the newest checkpoint that can be read, or `None`.

        Its arrays are neither read nor checked.
        """
        for path in self.paths():
            with contextlib.suppress(OSError, DamagedFileError):
                return _read(path, ["info"])[0]
        return None

    def load_weights(self, model, newest=False):
        """Loads the weights of a run into a model, for use without training.

        Args:
            model: A model built like the one that was trained.
            newest: Whether to load the weights of the newest checkpoint instead
                of the best ones, with which training ends.

        Raises:
            CheckpointError: If there are none, or they are damaged or from
                another model.
        """
        if not newest:
            model.set_weights(self.load_best(model)[1])
            return
        loaded = self.load()
        if loaded is None:
            raise CheckpointError(f"{self.folder}: no checkpoint yet.")
        path, _, arrays = loaded
        arrays = {k: x for k, x in arrays.items() if k.startswith("model/")}
        model.set_weights(_weights_of(model, arrays, path))

    def load_best(self, model):
        """Reads the best weights.

        Args:
            model: A model built like the one that was trained, which keeps its
                own weights.

        Returns:
            `(info, weights)`, as `save_best` got them; the `info` of an earlier
            release is empty.

        Raises:
            CheckpointError: If there are none, or they are damaged or from
                another model.
        """
        path = self.best_path
        try:
            if path.endswith(_OLD_BEST_NAME):
                return {}, _old_weights_of(model, path)
            info, arrays = _read(path)
        except FileNotFoundError:
            raise CheckpointError(
                f"{self.folder}: no best weights yet, as there was no dev "
                "score."
            ) from None
        except DamagedFileError as error:
            raise CheckpointError(str(error)) from error
        return info, _weights_of(model, arrays, path)

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
        """Removes all checkpoints and the best weights."""
        best = (_BEST_NAME, _OLD_BEST_NAME)
        files = [os.path.join(self.folder, name) for name in best]
        for path in [*self.paths(), *files]:
            with contextlib.suppress(FileNotFoundError):
                os.remove(path)

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
    """Whether a file of such a name holds weights."""
    return name in (_BEST_NAME, _OLD_BEST_NAME) or bool(_NAME.fullmatch(name))


def collect(model, optimizer):
    """Returns the weights and the optimizer's variables as a dict of arrays."""
    return {
        name: _storable(np.asarray(variable.numpy()))
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


def _read(path, names=None):
    """The `info` of a file, and its arrays."""
    arrays = checked_files.read_arrays(path, names)
    try:
        return json.loads(arrays.pop("info").tobytes()), arrays
    except (KeyError, ValueError) as error:
        raise DamagedFileError(f"{path} is damaged ({error}).") from error


def _weights_of(model, arrays, path):
    """The weights of a model, as a list, from a file's arrays."""
    variables = _named_variables(model)
    difference = _difference(variables, arrays)
    if difference:
        raise CheckpointError(f"{path} is from another model: {difference}.")
    return [_from_array(arrays[name], variable) for name, variable in variables]


def _old_weights_of(model, path):
    """The weights in a file of Keras; the model keeps its own."""
    own = model.get_weights()
    try:
        with warnings.catch_warnings():
            # For some weights that it leaves out, Keras only warns.
            warnings.simplefilter("error", UserWarning)
            model.load_weights(path)
        return model.get_weights()
    except Exception as error:  # of h5py or of Keras, of many types
        reason = re.split("List of objects|Target var", str(error))[0]
        raise CheckpointError(
            f"{path} is damaged or from another model "
            f"({' '.join(reason.split())})."
        ) from error
    finally:
        model.set_weights(own)


def _names(part, values):
    # By position, not path: Keras numbers the layers of a process, so the
    # same model may be `dense` in one run and `dense_1` in the next.
    return [f"{part}/{index:04d}" for index in range(len(values))]


def _named_variables(model, optimizer=None):
    parts = [("model", model.weights)]
    if optimizer is not None:
        parts.append(("optimizer", optimizer.variables))
    return [
        named
        for part, variables in parts
        for named in zip(_names(part, variables), variables)
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


def _storable(array):
    # NumPy archives do not know bfloat16.
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def _from_array(array, variable):
    if variable.dtype == "bfloat16":
        return array.view(variable.numpy().dtype)
    return array


def _update_of(name):
    return int(_NAME.fullmatch(name)[1])
