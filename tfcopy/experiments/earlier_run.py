"""What earlier commands have left in a run's folder, and its lock.

A command that is refused changes nothing there: flags are checked first of
all, data as soon as they are read, and only then anything is written. What it
writes is in the folders of the systems that `config.json` names before, and
`--fresh` removes nothing elsewhere.
"""

import contextlib
import os

import numpy as np

from tfcopy import atomic_files, filesystem, training
from tfcopy.checked_files import DamagedFileError, read_json, write_json
from tfcopy.experiments.config import (
    RunConfig,
    identity,
    names_of,
    of_system,
)
from tfcopy.experiments.reporting import ALL_SYSTEMS
from tfcopy.keras_internals import weight_names
from tfcopy.serving import run_folder
from tfcopy.serving.run_folder import (
    CONFIG_NAME,
    FORMAT,
    RESULTS_NAME,
    ForeignFileError,
    FormatError,
    RunError,
    RunFolder,
)
from tfcopy.serving.servables import storage
from tfcopy.serving.servables.storage import FILE_NAME
from tfcopy.training.checkpoint_arrays import check_identity
from tfcopy.training.checkpoints import Checkpoints
from tfcopy.training.warm_start import Words

# What is written for a system, beside checkpoints and what TensorBoard shows.
_WRITTEN = (FILE_NAME, "history.json")
_EVENTS = "events.out.tfevents."


def lock(folder):
    """Makes a run's folder this process's own, until `unlock` or its end.

    Raises:
        RunError: If another process has it.
    """
    try:
        atomic_files.lock_folder(folder)
    except BlockingIOError as error:
        raise RunError(
            f"{folder}: {error.strerror} is training there. Wait for it to "
            "end, or choose another --run."
        ) from error


unlock = atomic_files.unlock_folder


def check_place(folder, log_dir):
    """Raises a RunError if `--run` names no folder of its own.

    Args:
        folder: The run's folder.
        log_dir: The folder that it must be in, behind all symbolic links.
    """
    here = filesystem.realpath(folder)
    root = os.path.join(filesystem.realpath(log_dir), "")
    if not here.startswith(root) or here == root:
        raise RunError(
            f"--run: {folder} leads to {here}, which is not a folder within "
            f"--log_dir {log_dir}. Choose another --run or --log_dir."
        )
    parts = here.removeprefix(root).split("/")
    for depth in range(len(parts)):
        above = os.path.join(root, *parts[:depth])
        for system in _systems_of_run(above):
            path = os.path.join(above, system, "")
            if f"{here}/".startswith(path) or path.startswith(f"{here}/"):
                raise RunError(
                    f"{folder}: there is {system} of the run in {above}. "
                    "Choose another --run or --log_dir."
                )


def _systems_of_run(folder):
    try:
        return _systems(folder, RunFolder(folder))
    except (RunError, OSError):  # A folder that cannot be read is told later.
        return []


def check(config: RunConfig, folder) -> list[str]:
    """Raises an error if the flags are not those of the run.

    Returns:
        The systems that it has begun, as paths within its folder.

    Raises:
        RunError: If the folder is of another recipe or release, or another
            program's files have the names of a run's.
        CheckpointError: naming a flag that has another value there.
    """
    names = [names_of(config, kind) for kind in config.systems]
    own = [name for *_, name in names]
    earlier = _read(folder, own)
    systems = _systems(folder, earlier, own)
    if config.fresh:
        return systems
    if earlier is not None and earlier.recipe != config.recipe:
        raise RunError(
            f"{folder}: a run of {earlier.recipe}, not of {config.recipe}. "
            "Choose another --log_dir or --run."
        )
    for system in systems:
        path, called = os.path.join(folder, system), os.path.basename(system)
        check_system(path, identity(of_system(config, called)))
        for *others, name in names:
            if called in others and called not in own and _written(path):
                raise RunError(
                    f"{path}: an earlier release called this system so; its "
                    f"name is {name}. Rename the folder to resume it, or "
                    "choose another --run."
                )
    return systems


def check_folders(folder, systems, begun):
    """Raises a RunError if folders of systems are not the run's alone.

    Args:
        folder: The run's folder.
        systems: Paths within it, of systems that it has or is going to have.
        begun: Those that it has.
    """
    root = filesystem.realpath(folder)
    for system in (*systems, ALL_SYSTEMS):
        path = os.path.join(root, system)
        part = os.path.join(root, os.path.dirname(system) or system)
        names = _written(path)
        reason = None
        if filesystem.realpath(f"{path}/checkpoints") != f"{path}/checkpoints":
            reason = "is behind a symbolic link"
        elif run_folder.is_run(path) or run_folder.is_run(part):
            reason = f"has another run's {CONFIG_NAME}"
        elif names and system not in (*begun, ALL_SYSTEMS):
            reason = f"has {names[0]}, which no run has written"
        if reason:
            raise RunError(
                f"{os.path.join(folder, system)} {reason}. Choose another "
                "--run or --log_dir."
            )


def check_data(folder, systems, data_identity):
    """Raises a CheckpointError if systems were trained on other data.

    Args:
        folder: The run's folder.
        systems: The systems, as paths within it.
        data_identity: What identifies the data.
    """
    for system in systems:
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


def begin(recipe, flags, folder, begun) -> list[str]:
    """Makes a run's folder ready, after all checks.

    What killed processes left half-written is removed, with `--fresh` also
    what other commands left.

    Args:
        recipe: The recipe's name.
        flags: Dict of the flags, as JSON holds them.
        folder: The run's folder.
        begun: The systems that are there, as paths within it.

    Returns:
        Those that are still there.
    """
    parts = {os.path.join(os.path.dirname(x), "data") for x in begun}
    own = ["", "data", *parts, *begun, *(f"{x}/checkpoints" for x in begun)]
    for where in (flags["log_dir"], *(os.path.join(folder, x) for x in own)):
        if filesystem.isdir(where):
            atomic_files.remove_leftovers(where)
    if flags["fresh"] and not _is_under_way(flags, folder):
        # A command that is killed here does not go on, but starts again.
        record(recipe, {}, folder, begun)
        _clear(folder, begun)
        return []
    return begun


def record(recipe, flags, folder, begun):
    """Writes the flags of a run, and the systems that it is about to write.

    Args:
        recipe, flags, folder: As in `begin`.
        begun: All systems of the run, as paths within its folder.
    """
    content = {"format": FORMAT, "recipe": recipe, "config": flags}
    path = os.path.join(folder, CONFIG_NAME)
    write_json(path, {**content, "begun": sorted({*begun})})


def _is_under_way(flags, folder):
    """Whether the very same command has been here and has not finished."""
    earlier = _read(folder, flags["systems"])
    if earlier is None or not earlier.values or earlier.results:
        return False
    # A flag that only one of them has is of another release.
    both = earlier.values.keys() & flags.keys()
    return all(earlier.values[x] == flags[x] for x in both)


def _read(folder, names):
    """The `RunFolder`; `None` if there is none, or its config is lost.

    Args:
        folder: The run's folder.
        names: The systems that tell that a damaged config was a run's.

    Raises:
        RunError: If other programs have files of these names there.
    """
    try:
        return RunFolder(folder)
    except FormatError:
        raise
    except RunError:
        is_own = _systems(folder, None, names)
        for name in (CONFIG_NAME, RESULTS_NAME):
            try:
                run_folder.read(folder, name)
            except RunError as error:
                if isinstance(error, ForeignFileError) or not is_own:
                    raise RunError(f"{error} Choose another --run.") from error
    return None


def _systems(folder, earlier, names=()):
    """The systems that a run has begun, as paths within its folder.

    Where the config that names them is lost, they are those of known names that
    have what only a run writes.
    """
    begun = earlier.begun if earlier else []
    found = {
        system
        for system in run_folder.system_folders(folder)
        if os.path.basename(system) in names
        and _is_system(os.path.join(folder, system))
    }
    return sorted({*begun, *found})


def _is_system(folder):
    """Whether a run has written what is in a folder."""
    with contextlib.suppress(OSError, DamagedFileError):
        stored = read_json(os.path.join(folder, FILE_NAME))
        return {"kind", "details"} <= stored.keys()
    return _checkpoints(folder).newest_info() is not None


def _written(folder):
    """The names of what a run may have written for a system."""
    names = []
    if filesystem.isdir(folder):
        names = [
            name
            for name in sorted(filesystem.listdir(folder))
            if name in _WRITTEN or name.startswith(_EVENTS)
        ]
    return names + ["checkpoints"] * run_folder.is_trained(folder)


def _clear(folder, systems):
    """Removes what a run has written, but for what it would write again."""
    with contextlib.suppress(FileNotFoundError):
        filesystem.remove(os.path.join(folder, RESULTS_NAME))
    for system in (*systems, ALL_SYSTEMS):
        where = os.path.join(folder, system)
        for name in _written(where):
            if name != "checkpoints":
                filesystem.remove(os.path.join(where, name))
        _checkpoints(where).clear()


def _checkpoints(system_folder):
    return Checkpoints(os.path.join(system_folder, "checkpoints"))


# === Weights of another run: --init_from ===


def take_weights(folder, name, model, served) -> str:
    """Gives a model the best weights of an earlier system.

    Words are matched by their spelling where the vocabularies differ; weights
    that the earlier model lacks, and words that are new, keep their values.

    Args:
        folder: Folder of a run, or of one of its systems.
        name: Name of the system to look for in a run; if it has none of that
            name, it is the one that would be exported.
        model: The model that gets the weights.
        served: What serves it; its vocabularies count, if it has any.

    Returns:
        A line that tells what was taken.

    Raises:
        ValueError: naming --init_from, if there are no weights that fit.
    """
    try:
        path = _system(folder, name)
        other = storage.load(path).served
        words = _words(model, served, other)
        fresh = training.warm_start(model, other.model, words)
    except (OSError, ValueError) as error:
        raise ValueError(f"--init_from {folder}: {error}") from error
    return _report(path, model, fresh, words)


def _system(folder, name):
    """The folder of the system whose weights are taken."""
    if filesystem.isfile(os.path.join(folder, FILE_NAME)):
        return folder
    run = RunFolder(folder)
    try:
        return run.path(run.find(name))
    except RunError:
        return run.path(run.choose()[0])


def _words(model, served, other):
    """The `Words` of each weight that has a place for each word, by name."""
    found = {}
    names = {id(x): name for name, x in weight_names(model).items()}
    sides = {
        "source": ("source_embedding", "embeddings", 0),
        "target": ("target_embedding", "embeddings", 0),
        "generated": ("head", "kernel", 1),
        "biases": ("head", "bias", 0),
    }
    for side, (layer, weight, axis) in sides.items():
        vocabulary = f"{'source' if side == 'source' else 'target'}_vocabulary"
        weight = getattr(getattr(model, layer, None), weight, None)
        own, theirs = (getattr(x, vocabulary, None) for x in (served, other))
        if weight is None or id(weight) not in names:
            continue
        if own is None or theirs is None:
            continue
        places = {word: i for i, word in enumerate(theirs.words)}
        found[names[id(weight)]] = Words(
            axis, np.array([places.get(word, -1) for word in own.words])
        )
    return found


def _report(path, model, fresh, words):
    count = len(weight_names(model))
    line = f"Weights of {path}: {count - len(fresh)} of {count} taken"
    if fresh:
        line += f"; new: {', '.join(fresh)}"
    for name, (_, places) in words.items():
        num_new = int((places < 0).sum())
        if num_new and name not in fresh:
            line += f"; {num_new:,} of {len(places):,} words new in {name}"
    return f"{line}."
