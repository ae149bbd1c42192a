"""What recipes serve, at the end of a run or restored from its checkpoint."""

import os
from typing import Any, NamedTuple

from tfcopy.experiments import reporting
from tfcopy.serving.export import export as export_servable
from tfcopy.training.checkpoints import CheckpointError, Checkpoints

CHECKPOINTS = ("best", "last")


class Servable(NamedTuple):
    """A system as it is exported.

    Attributes:
        served: What `serving.export` takes: a `Translator` or a `TextModel`.
        warmup_texts: The same.
        details: Dict of what else is remembered.
    """

    served: Any
    warmup_texts: list
    details: dict


def servable(system, translator, words, **details):
    """`Servable` of a system that answers texts with texts.

    Args:
        system: Its name.
        translator: `Translator`.
        words: Its `Words`, whose examples are asked first.
        details: More to remember.
    """
    return Servable(translator, words.examples, {"system": system, **details})


def export(servable, directory, **more):
    """Exports a system at the end of a run; returns the path.

    Args:
        servable: `Servable`.
        directory: Of the versions.
        more: More details, its score.
    """
    path = export_servable(
        servable.served,
        directory,
        warmup_texts=servable.warmup_texts,
        details={**servable.details, **more},
    )
    return reporting.shown(path)


def load_weights(model, folder, checkpoint, identity):
    """Gives a model the weights that it has been trained to.

    Args:
        model: As it was trained.
        folder: Of the system.
        checkpoint: `"best"`, what training ends with, or `"last"`.
        identity: Dict of what must be as it was in training; names that the
            checkpoints do not tell of are left out.

    Raises:
        CheckpointError: If there are no such weights, or they do not belong
            to the model.
    """
    checkpoints = Checkpoints(os.path.join(folder, "checkpoints"))
    known = (checkpoints.newest_info() or {}).get("identity", {})
    for name in sorted(identity.keys() & known.keys()):
        if identity[name] != known[name]:
            raise CheckpointError(
                f"{checkpoints.folder}: the checkpoint is of another run: "
                f"{name} is {known[name]!r} there and {identity[name]!r} here."
            )
    checkpoints.load_weights(model, newest=checkpoint == "last")
