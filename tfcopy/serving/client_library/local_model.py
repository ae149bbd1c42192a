"""An exported model, asked in this process with TensorFlow alone."""

import contextlib
import functools
import logging
import os
import re
import tempfile

from tfcopy import checked_files, filesystem
from tfcopy.serving.client_library import forked, operations
from tfcopy.serving.client_library.batches import BatchedModel, num_at_once
from tfcopy.serving.client_library.signatures import (
    AskError,
    Signature,
    check_whole,
)
from tfcopy.serving.client_library.version_folders import find_version
from tfcopy.terminal import one_line, quiet

# In the folder `assets.extra` of a version.
CONFIG_NAME = "tfcopy.json"
# Raise it with every change that a reader of the SavedModel must know.
FORMAT = 1
# What is read of it here and by commands, where it is there.
_FIELDS = {
    **dict.fromkeys(("created", "system", "target_language", "task"), str),
    **dict.fromkeys(("max_source_length", "num_headwords"), int),
    **dict.fromkeys(("source_vocabulary_size", "text_vocabulary_size"), int),
    **{"texts": [str], "labels": [str], "examples": [dict], "pieces": dict},
    "source_tokenizer": {"protect": [str]},
    "search": {"num_beams": int},
}
_LITERAL = re.compile(r"[^*?\[\\\ud800-\udfff]*")


class LocalModel(BatchedModel):
    """A SavedModel, loaded and ready to answer.

    Args:
        folder: The folder of one version, or of numbered versions.
        version: Which of them; the highest if not given.
        batch_size: Positive integer, the most examples of a batch.
        at_once: Positive integer, the most batches at a time; `num_at_once()`
            if not given.
        trust: Whether the graph may have operations that no export has, such
            as writing files.

    Raises:
        AskError: If there is no such model, or it cannot be loaded.
    """

    def __init__(
        self,
        folder,
        version: int | None = None,
        *,
        batch_size: int = 32,
        at_once: int | None = None,
        trust: bool = False,
    ):
        check_whole(1, batch_size=batch_size)
        if at_once is not None:
            check_whole(1, at_once=at_once)
        if version is not None:
            check_whole(0, version=version)
        self.name = find_version(folder, version)
        self.batch_size = batch_size
        self.again = functools.partial(
            LocalModel,
            filesystem.abspath(self.name),
            batch_size=batch_size,
            at_once=at_once,
            trust=trust,
        )
        self.config = read_config(self.name)
        forked.check(self.name, "TensorFlow")
        try:
            with quiet():
                self.at_once = at_once or num_at_once()
                self._model = _load(self.name, trust)
                self.signatures = {
                    name: _signature(function)
                    for name, function in self._model.signatures.items()
                }
                self._warm_up()
        except Exception as error:  # whatever a damaged file causes
            raise AskError(
                f"{self.name}: cannot be loaded ({one_line(error)})."
            ) from None

    def _ask_batch(self, signature, arrays):
        import tensorflow as tf

        forked.check(self.name, "TensorFlow")
        try:
            tensors = {
                name: tf.constant(x.tolist(), tf.string, x.shape)
                for name, x in arrays.items()
            }
            outputs = self._model.signatures[signature](**tensors)
            return {name: x.numpy() for name, x in outputs.items()}
        except (tf.errors.OpError, MemoryError) as error:
            raise AskError(
                f"{self.name}: cannot answer ({one_line(error)})."
            ) from None

    def _warm_up(self):
        # The first question would be slow, and print messages.
        for name, (inputs, _) in self.signatures.items():
            if inputs and all(inputs.values()):
                blank = {1: ["a"], 2: [["a"]]}
                self.ask(name, {key: blank[x] for key, x in inputs.items()})


def _load(folder, trust):
    # Late: --help and errors need not wait for it.
    import tensorflow as tf

    logging.getLogger("absl").setLevel(logging.ERROR)
    _check(folder, trust)
    with _literal(folder) as path:
        return tf.saved_model.load(path)


def _check(folder, trust):
    """Refuses what no export does, and imports what this one needs."""
    model = operations.read(folder)
    strangers = [] if trust else operations.strangers(model)
    if strangers:
        raise ValueError(
            f"it has what no export has: {', '.join(strangers)}. If you trust "
            "who made it, pass `trust=True` or --trust"
        )
    if operations.has_pieces(model):
        import tensorflow_text  # noqa: F401 its operations


@contextlib.contextmanager
def _literal(folder):
    """A path of a folder that TensorFlow takes as it is.

    It reads some characters as those of patterns, and only UTF-8.
    """
    if filesystem.is_url(folder) or _LITERAL.fullmatch(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as links:
        link = os.path.join(links, "model")
        os.symlink(os.path.abspath(folder), link)
        yield link


def _signature(function):
    specs = function.structured_input_signature[1]
    ranks = {
        name: spec.shape.rank if spec.dtype.name == "string" else 0
        for name, spec in specs.items()
    }
    return Signature(ranks, tuple(function.structured_outputs))


def read_config(folder) -> dict:
    """What the export remembered; empty if it is not there.

    Raises:
        AskError: If it is damaged, or of a later release.
    """
    path = os.path.join(folder, "assets.extra", CONFIG_NAME)
    try:
        config = checked_files.read_json(path)
        number = config.get("format", FORMAT)
        if number != FORMAT:
            raise AskError(
                f"{path} is of another release of tfcopy (format {number!r}; "
                f"this one reads format {FORMAT}). Update tfcopy."
            )
        checked_files.check_fields(path, config, optional=_FIELDS)
    except FileNotFoundError:
        return {}
    except checked_files.DamagedFileError as error:
        raise AskError(str(error)) from None
    return {name: x for name, x in config.items() if x is not None}
