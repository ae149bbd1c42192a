"""Training that begins with the weights of an earlier run: --init_from."""

import os

import numpy as np

from tfcopy import filesystem, training
from tfcopy.keras_internals import weight_names
from tfcopy.serving.run_folder import RunError, RunFolder
from tfcopy.serving.servables import storage
from tfcopy.training.warm_start import Words


def take(folder, name, model, served) -> str:
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
    if filesystem.isfile(os.path.join(folder, storage.FILE_NAME)):
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
