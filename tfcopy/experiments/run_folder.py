"""What a run's folder tells: recipe, config, systems and their checkpoints.

<folder>/config.json              {"recipe": ..., "config": {...}}
         results.json             when it is finished
         data/                    vocabularies, and the corpus as ids
         <system>/checkpoints/    of some recipes <part>/<system>/...
"""

import dataclasses
import importlib
import importlib.util
import json
import os
import re

from tfcopy.data import chunks
from tfcopy.experiments import reporting
from tfcopy.serving.client_library.local_model import read_config
from tfcopy.training.checkpoints import Checkpoints

CONFIG_NAME = "config.json"
RESULTS_NAME = "results.json"
# Scores that tell which system is the best, and whether more is better.
_SCORES = {
    "bleu": True,
    "rouge1": True,
    "exact_match": True,
    "accuracy": True,
    "top1": True,
    "error_rate": False,
    "perplexity": False,
}


class RunError(ValueError):
    """A folder is not what it should be; the message names it."""


def begin(recipe, config, folder):
    """Makes a run's folder, and writes down what is run there.

    Args:
        recipe: Its name.
        config: The recipe's config.
        folder: Of the run.

    Raises:
        OSError: naming the flag, if results cannot be written.
    """
    reporting.check_writable(folder, "--log_dir")
    reporting.check_writable(config.savedmodel_dir, "--savedmodel_dir")
    content = {"recipe": recipe, "config": dataclasses.asdict(config)}
    text = json.dumps(content, ensure_ascii=False, indent=2)
    chunks.write_atomically(
        os.path.join(folder, CONFIG_NAME),
        lambda file: file.write(f"{text}\n".encode()),
    )


class RunFolder:
    """A run, finished or not.

    Args:
        folder: Its path.

    Attributes:
        recipe: Name of the recipe.
        values: Dict from its flags to their values.
        results: What is in `results.json`; empty if the run is not finished.

    Raises:
        RunError: If it is not the folder of a run.
    """

    def __init__(self, folder):
        self.folder = os.fspath(folder)
        if not os.path.isdir(self.folder):
            raise RunError(f"{self.folder}: no such folder.")
        self.results = self._read(RESULTS_NAME) or {}
        # Finished runs of earlier releases have no config.json.
        told = self._read(CONFIG_NAME) or self.results
        if not told:
            raise RunError(self._no_run())
        self.recipe, self.values = told["recipe"], told["config"]

    def _read(self, name):
        path = os.path.join(self.folder, name)
        try:
            with open(path, encoding="utf-8") as file:
                content = json.load(file)
            if {"recipe", "config"} <= content.keys():
                return content
            reason = "it names no recipe or no config"
        except FileNotFoundError:
            return None
        except (OSError, ValueError, AttributeError) as error:
            reason = getattr(error, "strerror", None) or error
        raise RunError(f"{path}: cannot be read ({reason}).")

    def _no_run(self):
        inside = [
            os.path.join(self.folder, name)
            for name in sorted(os.listdir(self.folder))
            for file in (CONFIG_NAME, RESULTS_NAME)
            if os.path.isfile(os.path.join(self.folder, name, file))
        ]
        inside = ", ".join(dict.fromkeys(inside))
        hint = "The recipe's command writes one as it begins."
        return (
            f"{self.folder}: not the folder of a run, for it has no "
            f"{CONFIG_NAME}. "
            + (f"There are runs in it: {inside}." if inside else hint)
        )

    @property
    def module(self):
        """The recipe's module."""
        name = f"tfcopy.recipes.{self.recipe}"
        is_name = re.fullmatch("[a-z0-9_]+", str(self.recipe))
        if is_name and importlib.util.find_spec(name):
            module = importlib.import_module(name)
            if hasattr(module, "Config") and hasattr(module, "restore"):
                return module
        raise RunError(
            f"{self.folder}: tfcopy has no recipe named {self.recipe!r}."
        )

    def config(self):
        """The recipe's config, and what is wrong with it.

        Returns:
            `(config, warning)`; of flags that this release has not, or has
            in addition, the `warning` tells, which is empty otherwise. The
            latter have their defaults.
        """
        kind = self.module.Config
        fields = kind.__dataclass_fields__
        unknown = sorted(self.values.keys() - fields.keys())
        missing = sorted(fields.keys() - self.values.keys())
        told = [
            f"{what} {', '.join(f'--{flag}' for flag in flags)}"
            for what, flags in (
                ("has no longer", unknown),
                ("has newly, and takes the default of", missing),
            )
            if flags
        ]
        known = {k: x for k, x in self.values.items() if k in fields}
        # A folder may have been moved.
        folder = os.path.abspath(self.folder)
        known["log_dir"], known["run"] = os.path.split(folder)
        warning = f"this release {'; '.join(told)}." if told else ""
        return kind(**known), warning

    def checkpoints(self, system):
        """`Checkpoints` of a system; errors are left to it."""
        folder = os.path.join(self.folder, system, "checkpoints")
        return Checkpoints(folder)

    def systems(self):
        """Names of the systems that have a checkpoint, as trained.

        Each is the path of a folder: `pointer_softmax`, `words/copynet`.
        """
        found = []
        for folder, folders, files in os.walk(self.folder):
            folders.sort()
            name = os.path.relpath(folder, self.folder)
            if name.count(os.sep) == 2:
                folders.clear()
            system, last = os.path.split(name)
            if last == "checkpoints" and _has_weights(files):
                found.append(system.replace(os.sep, "/"))
        lists = [x for x in self.values.values() if isinstance(x, list)]
        order = [name for names in lists for name in names]

        def place(system):
            return [
                order.index(part) if part in order else -1
                for part in system.split("/")
            ]

        return sorted(found, key=place)

    def find(self, system):
        """The full name of a system: its last part will do, if clear.

        Raises:
            RunError: If there is none, or it has no checkpoint.
        """
        systems = self.systems()
        named = [x for x in systems if x.endswith(f"/{system}")]
        if system in systems or len(named) == 1:
            return system if system in systems else named[0]
        known = ", ".join(systems)
        if system in getattr(self.module, "WITHOUT_MODEL", ()):
            reason = "it has no model"
        elif len(named) > 1:
            reason, known = "several end so", ", ".join(named)
        elif system in self.values.get("systems", ()):
            reason = "it has no checkpoint yet"
        else:
            reason = "there is no such system"
        raise RunError(
            f"{self.folder}: --system {system}: {reason}. "
            f"Those with a checkpoint: {known or 'none'}."
        )

    def choose(self):
        """The system to export where none is named.

        Returns:
            `(system, reason)`.

        Raises:
            RunError: If no system has a checkpoint.
        """
        systems = self.systems()
        if not systems:
            raise RunError(
                f"{self.folder}: no checkpoint yet. The first is written "
                "after 1,000 updates, 10 minutes, or the first dev score."
            )
        exported = self._exported()
        if exported in systems:
            return exported, "which the run has exported"
        scores = self.results.get("systems", {})
        for name, more_is_better in _SCORES.items():
            values = {
                system: scores.get(system, {}).get(name) for system in systems
            }
            if None not in values.values():
                best = max if more_is_better else min
                return best(values, key=values.get), f"of the best {name}"
        return systems[-1], "the last that has a checkpoint"

    def _exported(self):
        """The system that `run` exported, as far as that can be told."""
        path = self.results.get("savedmodel")
        if path is None:
            return None
        # The run's working directory was one of those above its folder.
        above = os.path.abspath(self.folder)
        while above != os.path.dirname(above):
            above = os.path.dirname(above)
            told = read_config(os.path.join(above, path))
            if told:
                part = told.get("tokenization") or told.get("dataset")
                system = told.get("system")
                return f"{part}/{system}" if part else system
        return None  # It was moved, or is on another machine.


def _has_weights(files):
    return any(
        name == "best.weights.h5" or re.fullmatch(r"checkpoint-\d+\.npz", name)
        for name in files
    )
