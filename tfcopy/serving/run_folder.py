"""Reading the folder of a run: its recipe, systems and checkpoints.

<run>/config.json              {"format": 1, "recipe": ..., "config": {...},
                               "begun": [<system>, <part>/<system>, ...]}
      results.json             when it is finished
      data/                    vocabularies, and the corpus as ids
      <system>/servable.json   what the system is made of
               checkpoints/    of some recipes <part>/<system>/...
"""

import os

from tfcopy import checked_files, filesystem
from tfcopy.runtime.versions import SCORES
from tfcopy.terminal import quiet

CONFIG_NAME = "config.json"
RESULTS_NAME = "results.json"
SERVABLE_NAME = "servable.json"
# Raise it with every change of the folder that a reader must know.
FORMAT = 1
# Of both files: what must be there, and what may be.
_FIELDS = (
    {"recipe": str, "config": {"savedmodel_dir": str, "systems": list}},
    {
        "exported": str,
        "exported_by": {"metric": str, "scores": {...: float}},
        "begun": [str],
        "systems": {...: SCORES},
    },
)
_LESS_IS_BETTER = ("error_rate", "perplexity")


class RunError(ValueError):
    """A folder is not a run's or a system's, or damaged; the message names it.

    Its cause is a `DamagedFileError` if a new run may replace the file.
    """


class RunFolder:
    """A run, finished or not.

    Args:
        folder: Its path.

    Attributes:
        recipe: Name of the recipe.
        values: Dict from its flags to their values.
        begun: Its systems, trained or not, as paths within the folder.
        results: Content of `results.json`; empty if the run is not finished.

    Raises:
        RunError: If it is not the folder of a run.
    """

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        if not filesystem.isdir(self.folder):
            raise RunError(f"{self.folder}: no such folder.")
        config = read(self.folder, CONFIG_NAME)
        if config is None:
            raise RunError(self._no_run())
        self.recipe, self.values = config["recipe"], config["config"]
        self.begun = config.get("begun") or []
        self.results = read(self.folder, RESULTS_NAME) or {}

    def _no_run(self):
        inside = [
            os.path.join(self.folder, name)
            for name in sorted(filesystem.listdir(self.folder))
            if filesystem.isfile(os.path.join(self.folder, name, CONFIG_NAME))
        ]
        hint = "The recipe's command writes it at the start."
        if inside:
            hint = f"There are runs in it: {', '.join(inside)}."
        return (
            f"{self.folder}: not a run's folder: it has no {CONFIG_NAME}. "
            f"{hint}"
        )

    def path(self, system) -> str:
        """Returns the folder of a system."""
        return os.path.join(self.folder, system)

    def checkpoints(self, system):
        """Returns the checkpoints of a system, whether there are any or not."""
        return checkpoints_of(self.path(system))

    def systems(self) -> list[str]:
        """Returns the systems that can be exported, in the order of training.

        Each is the path of a folder: `pointer_softmax`, `words/copynet`.
        """
        lists = [x for x in self.values.values() if isinstance(x, list)]
        order = [name for names in lists for name in names]

        def place(system):
            return [
                order.index(part) if part in order else -1
                for part in system.split("/")
            ]

        systems = filter(self._is_stored, system_folders(self.folder))
        trained = (x for x in systems if is_trained(self.path(x)))
        return sorted(trained, key=place)

    def _is_stored(self, system):
        return filesystem.isfile(os.path.join(self.path(system), SERVABLE_NAME))

    def find(self, system) -> str:
        """Returns the full name of a system, given a unique last part.

        Raises:
            RunError: If there is none, or it cannot be exported.
        """
        systems = self.systems()
        if system in systems:
            return system
        named = [x for x in systems if x.endswith(f"/{system}")]
        if len(named) == 1:
            return named[0]
        reason = "there is no such system"
        if named:
            reason = "several end in this name"
        elif self._is_stored(system) or system in self.values.get(
            "systems", ()
        ):
            reason = f"it has no checkpoint, or no {SERVABLE_NAME}"
        raise RunError(
            f"{self.folder}: --system {system}: {reason}. Systems that can be "
            f"exported: {', '.join(named or systems) or 'none'}."
        )

    def choose(self) -> tuple[str, str]:
        """Returns the system to export if none is named, and the reason.

        Raises:
            RunError: If no system can be exported.
        """
        systems = self.systems()
        if not systems:
            raise RunError(
                f"{self.folder}: no checkpoint yet. The first is written "
                "after 1,000 updates, 10 minutes, or the first dev score."
            )
        exported = self.results.get("exported")
        if exported in systems:
            return exported, "which the run exported"
        chosen = self.results.get("exported_by", {})
        scores = chosen.get("scores", {})
        scores = {name: scores[name] for name in systems if name in scores}
        if scores:
            metric = chosen.get("metric") or "score"
            best = min if metric in _LESS_IS_BETTER else max
            reason = f"which has the best {metric} on the validation set"
            return best(scores, key=scores.get), reason
        return systems[-1], "the last that has a checkpoint"


def read(folder, name) -> dict | None:
    """Reads `config.json` or `results.json`; `None` if it is not there.

    Raises:
        RunError: If it is damaged, of another release, or not a run's.
    """
    path = os.path.join(folder, name)
    try:
        content = checked_files.read_json(path)
        if not {"recipe", "config"} <= content.keys():
            raise RunError(
                f"{path} is damaged, or not a run's (it names no recipe or no "
                "config)."
            )
        number = content.get("format", FORMAT)
        if number != FORMAT:
            raise RunError(
                f"{folder} is of another release of tfcopy (format {number!r}; "
                f"this one reads format {FORMAT}). Update tfcopy."
            )
        checked_files.check_fields(path, content, *_FIELDS)
        checked_files.check_inside(path, content.get("begun") or ())
    except FileNotFoundError:
        return None
    except checked_files.DamagedFileError as error:
        raise RunError(str(error)) from error
    return content


def system_folders(run_folder) -> list[str]:
    """Lists the folders that may hold systems, as paths within a run's folder.

    Folders of other runs and symbolic links are left out.
    """
    found = []
    for folder, folders, _ in filesystem.walk(run_folder):
        name = filesystem.relpath(folder, run_folder).replace(os.sep, "/")
        if name != os.curdir:
            found.append(name)
        folders[:] = sorted(
            x
            for x in folders
            if "/" not in name and not is_run(os.path.join(folder, x))
        )
    return found


def is_run(folder) -> bool:
    """Returns whether a folder may be a run's."""
    return filesystem.exists(os.path.join(folder, CONFIG_NAME))


def checkpoints_of(folder):
    """Returns the `Checkpoints` in the folder of a system."""
    return _checkpoints().Checkpoints(
        os.path.join(os.fspath(folder), "checkpoints")
    )


def is_trained(folder) -> bool:
    """Returns whether the folder of a system has a checkpoint."""
    folder = checkpoints_of(folder).folder
    return filesystem.isdir(folder) and any(
        map(_checkpoints().is_weights, filesystem.listdir(folder))
    )


def _checkpoints():
    # Late: it imports TensorFlow, for which a wrong folder need not wait.
    with quiet():
        from tfcopy.training import checkpoints
    return checkpoints
