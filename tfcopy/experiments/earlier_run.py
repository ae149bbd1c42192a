"""The folder of a run that is about to train, and an earlier run in it.

A command that is refused changes nothing there: flags are checked first of
all, data as soon as they are read, and only then anything is written. What it
writes is in the folders of the systems that `config.json` names before, and
`--fresh` removes nothing elsewhere.
"""

import contextlib
import dataclasses
import os

import numpy as np

from tfcopy import atomic_files, filesystem, training
from tfcopy.checked_files import DamagedFileError, read_json, write_json
from tfcopy.experiments.reporting import ALL_SYSTEMS
from tfcopy.flags import default_of
from tfcopy.keras_internals import weight_names
from tfcopy.serving import run_folder
from tfcopy.serving.servables import storage
from tfcopy.training.checkpoint_arrays import check_identity
from tfcopy.training.warm_start import Words

# Files of a system besides checkpoints and TensorBoard's events.
_WRITTEN = (run_folder.SERVABLE_NAME, "history.json")
_EVENTS = "events.out.tfevents."
# Flags of layers that `check_sizes` compares, and of their sizes.
_LAYERS = ("encoder", "decoder", "head", "pointing", "backbone")
_SIZES = ("embedding_dim", "units")  # which all of them have
_SIZES += ("encoder_units", "attention_units", "output_units", "summary_units")


class OwnFolder(run_folder.RunFolder):
    """The folder of a run that is about to train.

    Args:
        folder: Its path; it need not exist.
        names: Names of the systems to train. They identify the folder of a run
            whose config is lost.

    Attributes:
        recipe: Name of the earlier run's recipe, or `None`.
        values: The earlier run's flags.
        begun: The earlier run's systems, as paths within the folder. If the
            config that lists them is lost, they are the folders of known names
            that hold what only a run writes.
        results: The earlier run's results.

    Raises:
        RunError: If the folder is of another release, or holds another
            program's files under the names of a run's.
    """

    def __init__(self, folder, names=()):
        try:
            super().__init__(folder)
        except run_folder.RunError:
            self.recipe = None
            self.values, self.begun, self.results = {}, [], {}
            for name in (run_folder.CONFIG_NAME, run_folder.RESULTS_NAME):
                try:
                    run_folder.read(self.folder, name)
                except run_folder.RunError as error:
                    is_damaged = isinstance(error.__cause__, DamagedFileError)
                    if not (is_damaged and self._find_systems(names)):
                        raise run_folder.RunError(
                            f"{error} Choose another --run."
                        ) from error
        self.begun = sorted({*self.begun, *self._find_systems(names)})
        self._is_taken = False

    def _find_systems(self, names):
        if not names:  # A walk through a store takes long.
            return []
        return [
            system
            for system in run_folder.system_folders(self.folder)
            if os.path.basename(system) in names
            and _is_system(self.path(system))
        ]

    def check(self, recipe, identity_of):
        """Checks that the earlier run has the same recipe and flags.

        Args:
            recipe: The recipe's name.
            identity_of: Function of a system's name that returns the flags
                that must stay the same.

        Raises:
            RunError: If the run is of another recipe.
            CheckpointError: naming a flag that has another value there.
        """
        if self.recipe not in (None, recipe):
            raise run_folder.RunError(
                f"{self.folder}: a run of {self.recipe}, not of {recipe}. "
                "Choose another --log_dir or --run."
            )
        for system in self.begun:
            own = identity_of(os.path.basename(system))
            check_system(self.path(system), own)

    def check_folders(self, systems):
        """Checks that the folders of systems are the run's alone.

        Args:
            systems: The systems that the run is about to begin, as paths within
                the folder.

        Raises:
            RunError: naming a folder that holds anything else.
        """
        root = filesystem.realpath(self.folder)
        for system in sorted({*systems, *self.begun}) + [ALL_SYSTEMS]:
            path = os.path.join(root, system)
            part = os.path.join(root, os.path.dirname(system) or system)
            names = _list_written(path)
            reason, inner = None, f"{path}/checkpoints"
            if filesystem.realpath(inner) != inner:
                reason = "is behind a symbolic link"
            elif run_folder.is_run(path) or run_folder.is_run(part):
                reason = f"has another run's {run_folder.CONFIG_NAME}"
            elif names and system not in (*self.begun, ALL_SYSTEMS):
                reason = f"has {names[0]}, which no run has written"
            if reason:
                raise run_folder.RunError(
                    f"{self.path(system)} {reason}. Choose another --run or "
                    "--log_dir."
                )

    def take(self, recipe, flags, systems):
        """Writes the flags and the systems that are about to begin.

        The first time, after all checks, it removes what killed processes left
        half-written, and with `--fresh` the earlier run, unless this is the
        very same command and was interrupted.

        Args:
            recipe: The recipe's name.
            flags: Dict of the flags, as JSON holds them.
            systems: The systems, as paths within the folder.
        """
        if not self._is_taken:
            parts = {
                os.path.join(os.path.dirname(x), "data") for x in self.begun
            }
            own = {"", "data", *parts, *self.begun}
            own |= {f"{x}/checkpoints" for x in self.begun}
            for where in (flags["log_dir"], *map(self.path, own)):
                if filesystem.isdir(where):
                    atomic_files.remove_leftovers(where)
            # A flag that only one of them has is of another release.
            both = self.values.keys() & flags.keys()
            is_same = all(self.values[x] == flags[x] for x in both)
            is_under_way = self.values and is_same and not self.results
            if flags["fresh"] and not is_under_way:
                self._check_kept(flags.get("init_from"))
                # A command that is killed here starts again.
                self._record(recipe, {})
                self._clear()
        self._is_taken = True
        self.begun = sorted({*self.begun, *systems})
        self._record(recipe, flags)

    def _check_kept(self, init_from):
        """Raises a RunError if --fresh would remove the run of --init_from."""
        root = os.path.join(filesystem.realpath(self.folder), "")
        place = init_from and os.path.join(filesystem.realpath(init_from), "")
        if place and place.startswith(root):
            raise run_folder.RunError(
                f"--init_from {init_from}: --fresh would remove it. Choose "
                "another --run or --log_dir."
            )

    def _record(self, recipe, flags):
        content = {
            "format": run_folder.FORMAT,
            "recipe": recipe,
            "config": flags,
        }
        write_json(
            self.path(run_folder.CONFIG_NAME), {**content, "begun": self.begun}
        )

    def _clear(self):
        """Removes the earlier run, except vocabularies and ids."""
        with contextlib.suppress(FileNotFoundError):
            filesystem.remove(self.path(run_folder.RESULTS_NAME))
        for system in (*self.begun, ALL_SYSTEMS):
            where = self.path(system)
            for name in _list_written(where):
                if name != "checkpoints":
                    filesystem.remove(os.path.join(where, name))
            run_folder.checkpoints_of(where).clear()
        self.begun = []


def lock(folder):
    """Makes a run's folder this process's own, until `unlock` or its end.

    Raises:
        RunError: If another process has it.
    """
    try:
        atomic_files.lock_folder(folder)
    except BlockingIOError as error:
        raise run_folder.RunError(
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
        raise run_folder.RunError(
            f"--run: {folder} leads to {here}, which is not a folder within "
            f"--log_dir {log_dir}. Choose another --run or --log_dir."
        )
    parts = here.removeprefix(root).split("/")
    for depth in range(len(parts)):
        above, systems = os.path.join(root, *parts[:depth]), []
        # A folder that cannot be read is refused when a run is to use it.
        with contextlib.suppress(run_folder.RunError, OSError):
            systems = OwnFolder(above).begun
        for system in systems:
            path = os.path.join(above, system, "")
            if f"{here}/".startswith(path) or path.startswith(f"{here}/"):
                raise run_folder.RunError(
                    f"{folder}: there is {system} of the run in {above}. "
                    "Choose another --run or --log_dir."
                )


def check_system(folder, here):
    """Raises a CheckpointError if a system's checkpoint has another identity.

    Args:
        folder: The system's folder.
        here: What must be the same there, as far as it is known there.
    """
    checkpoints = run_folder.checkpoints_of(folder)
    info = checkpoints.newest_info()
    if info is not None:
        path = os.path.join(checkpoints.folder, "")
        check_identity(path, info["identity"], here)


def _is_system(folder):
    """Returns whether a folder holds the output of a run."""
    with contextlib.suppress(OSError, DamagedFileError):
        stored = read_json(os.path.join(folder, run_folder.SERVABLE_NAME))
        return {"kind", "details"} <= stored.keys()
    return run_folder.checkpoints_of(folder).newest_info() is not None


def _list_written(folder):
    """Returns the names of a system's files in a folder."""
    names = []
    if filesystem.isdir(folder):
        names = [
            name
            for name in sorted(filesystem.listdir(folder))
            if name in _WRITTEN or name.startswith(_EVENTS)
        ]
    return names + ["checkpoints"] * run_folder.is_trained(folder)


# === Weights of another run: --init_from ===


def load(folder, name) -> tuple[str, storage.StoredServable]:
    """Loads an earlier system, whose weights `take_weights` would take.

    Args:
        folder, name: As in `take_weights`.

    Returns:
        Its folder, and the system.

    Raises:
        ValueError: naming --init_from, if there is none.
    """
    try:
        path = _system(folder, name)
        return path, storage.load(path)
    except (OSError, ValueError) as error:
        raise ValueError(f"--init_from {folder}: {error}") from error


def check_sizes(folder, name, config):
    """Checks that an earlier system has the sizes of a new one.

    Only systems of one recipe are compared, if they have the same layers. What
    cannot be read is reported when the weights are taken.

    Args:
        folder, name: As in `take_weights`.
        config: The new system's config.

    Raises:
        ValueError: naming --init_from and the flags that differ.
    """
    try:
        stored = read_json(
            os.path.join(_system(folder, name), run_folder.SERVABLE_NAME)
        )
        recipe, flags = (stored["details"][x] for x in ("recipe", "flags"))
    except (OSError, ValueError, KeyError):
        return
    here = dataclasses.asdict(config)
    there = {x.name: default_of(x) for x in dataclasses.fields(config)} | flags
    is_alike = all(there.get(x) == here.get(x) for x in _LAYERS)
    if recipe != config.recipe or not is_alike or here.get("backbone"):
        return
    sizes = _SIZES
    if "transformer" in (here.get("encoder"), here.get("decoder")):
        sizes = sizes[:2]
    differing = [
        f"--{x} {there[x]}, not {here[x]}"
        for x in sizes
        if x in here and there[x] != here[x]
    ]
    if differing:
        raise ValueError(
            f"--init_from {folder}: a system with {'; '.join(differing)}. Give "
            "the same sizes, or choose another base."
        )


def scores_of(folder, name, **flags) -> dict:
    """Returns the scores of an earlier system.

    Args:
        folder, name: As in `take_weights`.
        **flags: Values that its run must have, such as languages.

    Returns:
        The scores, without any if the run has other flags, did not finish or
        was moved.
    """
    with contextlib.suppress(OSError, ValueError):
        path = _system(folder, name)
        run = run_folder.RunFolder(os.path.dirname(path))
        if flags.items() <= run.values.items():
            systems = run.results.get("systems", {})
            return systems.get(os.path.basename(path), {})
    return {}


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
        A line with the numbers of weights and words that were taken.

    Raises:
        ValueError: naming --init_from, if there are no weights that fit.
    """
    path, (other, *_) = load(folder, name)
    words = _words(model, served, other)
    try:
        fresh = training.warm_start(model, other.model, words)
    except ValueError as error:
        raise ValueError(
            f"--init_from {folder}: {error} Flags of sizes, such as --units, "
            "must be those of the base."
        ) from error
    return _report(path, model, fresh, words)


def _system(folder, name):
    """Returns the folder of the system whose weights are taken."""
    if filesystem.isfile(os.path.join(folder, run_folder.SERVABLE_NAME)):
        return folder
    run = run_folder.RunFolder(folder)
    try:
        return run.path(run.find(name))
    except run_folder.RunError:
        return run.path(run.choose()[0])


def _words(model, served, other):
    """Returns the `Words` of each weight with a row for each word, by name."""
    found = {}
    names = {id(x): name for name, x in weight_names(model).items()}
    for side, (layer, weight, axis) in {
        "source": ("source_embedding", "embeddings", 0),
        "target": ("target_embedding", "embeddings", 0),
        "generated": ("head", "kernel", 1),
        "biases": ("head", "bias", 0),
    }.items():
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
