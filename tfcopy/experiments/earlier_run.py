"""What earlier commands have left in a run's folder, and its lock.

A command that is refused changes nothing there: flags are checked first of
all, data as soon as they are read, and only then anything is written.
"""

import contextlib
import dataclasses
import json
import os
import socket

from tfcopy import atomic_files, file_locks, filesystem
from tfcopy.checked_files import write_json
from tfcopy.experiments.config import RunConfig, identity, of_system
from tfcopy.serving.run_folder import (
    CONFIG_NAME,
    FORMAT,
    RESULTS_NAME,
    FormatError,
    RunError,
    RunFolder,
    trained_systems,
)
from tfcopy.serving.servables.storage import FILE_NAME
from tfcopy.training.checkpoint_arrays import check_identity
from tfcopy.training.checkpoints import Checkpoints

LOCK_NAME = ".lock"
# What a run writes beside checkpoints and pictures.
_WRITTEN = (CONFIG_NAME, RESULTS_NAME, FILE_NAME, "history.json")
_EVENTS = "events.out.tfevents."
_locks = {}  # Descriptors of this process, by path.


def lock(folder):
    """Makes a run's folder this process's own, until `unlock` or its end.

    Raises:
        RunError: If another process has it.
    """
    if filesystem.is_url(folder):
        return  # A store without locks.
    path = os.path.join(filesystem.realpath(folder), LOCK_NAME)
    unlock(folder)
    try:
        _locks[path] = file_locks.lock(path, make=True)
    except BlockingIOError as error:
        with open(path, encoding="utf-8", errors="replace") as file:
            holder = file.read() or "another process"
        raise RunError(
            f"{folder}: {holder} is training there. Wait for it to end, or "
            "choose another --run."
        ) from error
    except OSError:
        return  # A file system without locks.
    with contextlib.suppress(OSError):  # A full disk: nobody is named.
        os.truncate(path, 0)
        name = f"process {os.getpid()} of {socket.gethostname()}"
        os.write(_locks[path], name.encode())


def unlock(folder):
    """Gives back what `lock` took, if it did."""
    path = os.path.join(filesystem.realpath(folder), LOCK_NAME)
    if path in _locks:
        os.close(_locks.pop(path))


def check(config: RunConfig, folder):
    """Raises an error if the flags are not those of the run.

    Raises:
        RunError: If the folder is of another recipe or release.
        CheckpointError: naming a flag that has another value there.
    """
    earlier = _read(folder)
    if config.fresh:
        return
    if earlier is not None and earlier.recipe != config.recipe:
        raise RunError(
            f"{folder}: a run of {earlier.recipe}, not of {config.recipe}. "
            "Choose another --log_dir or --run."
        )
    for system in trained_systems(folder):
        own = of_system(config, os.path.basename(system))
        check_system(os.path.join(folder, system), identity(own))


def check_data(folder, part, data_identity):
    """Raises a CheckpointError if a part's systems were trained on other data.

    Args:
        folder: The run's folder.
        part: The part, a subfolder; `""` for the run itself.
        data_identity: What identifies the data.
    """
    for system in trained_systems(folder):
        if os.path.dirname(system) == part:
            check_system(os.path.join(folder, system), data_identity)


def check_system(folder, here):
    """Raises a CheckpointError if a system's checkpoint has another identity.

    Args:
        folder: The system's folder.
        here: What must be the same there, as far as it is known there.
    """
    checkpoints = _checkpoints(folder)
    info = checkpoints.newest_info()
    if info is not None:
        path = os.path.join(checkpoints.folder, "")
        check_identity(path, info["identity"], here)


def begin(config: RunConfig, folder):
    """Makes a run's folder ready, after all checks.

    What killed processes left half-written is removed, with `--fresh` also
    what other commands left; and the config is written.

    Args:
        config: The recipe's config.
        folder: The run's folder.
    """
    for where in (config.log_dir, *(x for x, _, _ in filesystem.walk(folder))):
        atomic_files.remove_leftovers(where)
    values = json.loads(json.dumps(dataclasses.asdict(config)))
    if config.fresh and not _is_under_way(folder, values):
        _clear(folder)
    write_json(
        os.path.join(folder, CONFIG_NAME),
        {"format": FORMAT, "recipe": config.recipe, "config": values},
    )


def _is_under_way(folder, values):
    """Whether the very same command has been here and has not finished."""
    earlier = _read(folder)
    is_same = earlier is not None and earlier.values == values
    return is_same and not earlier.results


def _read(folder):
    """The `RunFolder`; `None` if there is no run, or none that is readable."""
    try:
        return RunFolder(folder)
    except FormatError:
        raise
    except RunError:
        return None


def _clear(folder):
    """Removes what a run has written, its config first.

    Without a config a command that was killed here does not go on.
    """
    for where, folders, files in filesystem.walk(folder):
        for name in sorted(files, key=lambda name: name != CONFIG_NAME):
            if name in _WRITTEN or name.startswith(_EVENTS):
                filesystem.remove(os.path.join(where, name))
        _checkpoints(where).clear()


def _checkpoints(system_folder):
    return Checkpoints(os.path.join(system_folder, "checkpoints"))
