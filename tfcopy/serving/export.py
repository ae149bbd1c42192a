"""The command `python -m tfcopy.serving.export`: a run to a SavedModel."""

import dataclasses
import math
import os
import shlex
import sys
import time
from collections.abc import Mapping
from typing import Literal

from tfcopy import filesystem, terminal
from tfcopy.flags import Folder, Parser, PositiveInt, flag, make_matching
from tfcopy.runtime.litert_engine import LITERT_PRECISIONS
from tfcopy.runtime.versions import read_config
from tfcopy.serving import run_folder
from tfcopy.terminal import align_rows

_DESCRIPTION = """\
Exports a system of a run, finished or interrupted, from its checkpoint, as a
SavedModel for TensorFlow Serving. Nothing is trained or tested.

RUN is the folder of logs that a recipe writes, <log_dir>/<run>. Several runs on
the same data, such as with other --seed, become an ensemble, which averages
their probabilities at each word. Without --system, the system that the run
itself exported is chosen; if there is none, the best one in results.json, or
else the last one with a checkpoint."""

_EXAMPLES = """\
examples:
  %(prog)s tensorboard_logs/europarl_ps/demo --list
  %(prog)s tensorboard_logs/europarl_ps/demo
  %(prog)s tensorboard_logs/europarl_ps/demo --system nmt \\
    --to savedmodels/europarl_nmt --set num_beams=10 length_penalty=0.8
  %(prog)s logs/europarl_ps/a logs/europarl_ps/b logs/europarl_ps/c
  %(prog)s tensorboard_logs/europarl_ps/demo \
    --set sample=true num_beams=10 temperature=0.7 top_p=0.9

The best weights have the best dev score so far; a finished run with --average
has their mean. --set changes options of the search and lengths, but nothing
that training has fixed; an unknown name lists them all. RUN is complete, and
may be moved.

Try the export: tfcopy ask FOLDER"""


Setting = make_matching("NAME=VALUE", "(?s).*=.*")


@dataclasses.dataclass(kw_only=True)
class Options:
    """Flags of `export`: runs, systems, settings.

    Attributes:
        runs: folder of a run's logs
        list: list the systems that have a checkpoint, and export none
        system: system to export, as --list names it
        checkpoint: the best weights, or the newest checkpoint's
        to: folder of versions (default: the run's --savedmodel_dir)
        version: version number (default: one more than the highest)
    """

    positional = {"runs": "RUN"}

    runs: list[str]
    set: list[Setting] = flag(
        [], "search options that replace the run's", action="extend"
    )
    list: bool = False
    system: str | None = None
    checkpoint: Literal["best", "last"] = "best"
    to: Folder | None = None
    version: PositiveInt | None = None


def main(arguments=None):
    """Returns the exit status."""
    options = Parser(Options, _DESCRIPTION, _EXAMPLES).parse(arguments)
    work = _list if options.list else _export
    return terminal.run("export", lambda: work(options))


def _export(options):
    runs = [run_folder.RunFolder(folder) for folder in options.runs]
    systems = [_system(run, options) for run in runs]
    places = [filesystem.realpath(run.folder) for run in runs]
    if len(set(places)) < len(places):
        raise ValueError(
            "A run is given twice: an ensemble is made of different ones."
        )
    directory = options.to
    if directory is None:
        directory = runs[0].values.get("savedmodel_dir")
    if not directory:
        raise ValueError(f"{runs[0].folder} names no folder: pass --to.")

    changes = split_settings(options.set)
    # Imported here, so that wrong flags are reported at once.
    from tfcopy.serving import saved_model
    from tfcopy.serving.servables import litert_export, settings, storage

    try:
        stored = [
            storage.load(run.path(system), changes, options.checkpoint)
            for run, system in zip(runs, systems)
        ]
    except settings.SettingError as error:
        raise ValueError(f"--set {error}") from error
    served, details = stored[0].served, stored[0].details
    folders = [run.folder for run in runs]
    if len(stored) > 1:
        names = map(os.path.join, folders, systems)
        served = combine(
            dict(zip(names, (x.served for x in stored), strict=True))
        )
        details = {**details, "ensemble": folders}
    if changes.get("litert") in LITERT_PRECISIONS:
        litert_export.check(served)
    path = saved_model.export(
        served,
        directory,
        version=options.version,
        warmup_texts=stored[0].warmup_texts,
        details={
            "recipe": runs[0].recipe,
            "run": os.path.basename(filesystem.abspath(folders[0])),
            **details,
            **_scores(runs, systems[0], options),
            "checkpoint": options.checkpoint,
        },
    )
    path = saved_model.shorten_path(path)
    print(
        f"{systems[0]} of {' and '.join(folders)}, {options.checkpoint} "
        f"weights: {path}"
    )
    print(f"Engines: {read_config(path)['engines']}")
    folder = shlex.quote(os.path.dirname(path))
    print(f"Ask it: python -m tfcopy.serving.ask {folder}")


def split_settings(settings) -> dict:
    """Returns the values of `--set NAME=VALUE` by their names."""
    changes = {}
    for setting in settings:
        name, value = setting.removeprefix("--").split("=", 1)
        if name in changes:
            raise ValueError(f"--set {name} is given twice. Give it once.")
        changes[name] = value
    return changes


def _scores(runs, system, options):
    """Returns the scores of a run's own export; others have none."""
    scores = runs[0].results.get("systems", {}).get(system)
    is_own = len(runs) == 1 and options.checkpoint == "best" and not options.set
    return {"scores": scores} if is_own and scores else {}


def combine(translators: Mapping):
    """Combines translators: the first one, with an ensemble of all models.

    Args:
        translators: Dict from the names of `Translator`s in errors to them.

    Raises:
        ValueError: naming the first that does not fit.
    """
    # Late, as above.
    from tfcopy.decoding.search_models import Ensemble
    from tfcopy.serving.servables.translator import Translator

    (name, first), *others = translators.items()
    for other, translator in [(name, first), *others]:
        if not isinstance(translator, Translator):
            raise ValueError(f"{other} does not translate.")
        for part, of_both in _parts(first).items():
            if _parts(translator)[part] != of_both:
                raise ValueError(
                    f"{other} has {part} other than {name}. Train both on the "
                    "same data."
                )
    return first.copy(model=Ensemble([x.model for x in translators.values()]))


def _parts(translator):
    """Returns the parts that members of an ensemble must share."""
    return {
        "a source vocabulary": translator.source_vocabulary.words,
        "a target vocabulary": translator.target_vocabulary.words,
        "a source tokenizer": translator.source_tokenizer.fingerprint,
        "a target tokenizer": translator.target_tokenizer.fingerprint,
        "an end of sources": translator.append_eos,
        "entities": translator.entities,
    }


def _system(run, options):
    """Returns the name of the system to export."""
    if options.system is not None:
        return run.find(options.system)
    system, reason = run.choose()
    print(f"System: {system}, {reason}.")
    return system


def _list(options):
    for run in map(run_folder.RunFolder, options.runs):
        _print_systems(run)


def _print_systems(run):
    system, reason = run.choose()
    rows = [("system", "updates", "best dev score", "of update", "saved")]
    rows += [(name, *_cells(run.checkpoints(name))) for name in run.systems()]
    print(f"{run.recipe}, {run.folder}:\n")
    for line in align_rows(rows, left=len(rows[0])):
        print(line.rstrip())
    print(f"\nWithout --system: {system}, {reason}.")


def _cells(checkpoints):
    """Returns a system's updates, its best score and update, and the time."""
    paths = checkpoints.paths()
    if filesystem.exists(checkpoints.best_path):
        paths.append(checkpoints.best_path)
    saved = time.localtime(max(map(filesystem.getmtime, paths)))
    saved = time.strftime("%Y-%m-%d %H:%M", saved)
    info = checkpoints.newest_info()
    if info is None:
        missing = "damaged" if checkpoints.paths() else "?"
        return missing, "?", "?", saved
    state = info["state"]
    best = "none yet"
    score, nll = state.get("best_score"), state["best_nll"]
    update = f"{state['best_update']:,}"
    average = state.get("average")
    if average is not None:
        score, nll = average["score"], average["nll"]
        update = "mean of " + ", ".join(f"{x:,}" for x in average["updates"])
    if score is not None:
        best = f"{info['identity']['score']} {score:.4g}"
    elif math.isfinite(nll):
        best = f"loss {nll:.4g}"
    update = "-" if best == "none yet" else update
    return f"{state['update']:,}", best, update, saved


if __name__ == "__main__":
    sys.exit(main())
