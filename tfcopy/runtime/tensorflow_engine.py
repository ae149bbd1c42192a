"""TensorFlow as the engine of a model: SavedModels that may only compute."""

import contextlib
import logging
import os
import re
import tempfile

from tfcopy import filesystem
from tfcopy.runtime import operations
from tfcopy.runtime.signatures import Signature, check_process

_LITERAL = re.compile(r"[^*?\[\\\ud800-\udfff]*")


class TensorFlowEngine:
    """A SavedModel, loaded in this process.

    Args:
        folder: Folder of the version.
        trust: Whether to allow operations that no export has, such as writing
            files.

    Raises:
        ModelError: If TensorFlow was started before this process was forked.
        ImportError: If TensorFlow is not installed.
        Exception: Damaged files cause errors of all kinds.
    """

    def __init__(self, folder, trust: bool):
        self._folder = folder
        check_process(folder, "TensorFlow")
        self._model = _load(folder, trust)
        self.signatures = {
            name: _read_signature(function)
            for name, function in self._model.signatures.items()
        }

    def answer(self, signature: str, inputs: dict) -> dict:
        """Returns the outputs of a signature.

        Args:
            signature: Name of the signature.
            inputs: Dict of arrays of `bytes`.
        """
        import tensorflow as tf

        check_process(self._folder, "TensorFlow")
        tensors = {
            name: tf.constant(x.tolist(), tf.string, x.shape)
            for name, x in inputs.items()
        }
        outputs = self._model.signatures[signature](**tensors)
        return {name: x.numpy() for name, x in outputs.items()}


def _load(folder, trust):
    # Imported late, so that --help and errors are fast.
    import tensorflow as tf

    logging.getLogger("absl").setLevel(logging.ERROR)
    _check_operations(folder, trust)
    with _link_literally(folder) as path:
        return tf.saved_model.load(path)


def _check_operations(folder, trust):
    """Refuses operations that no export has, and imports needed ones."""
    model = operations.read(folder)
    disallowed = [] if trust else operations.disallowed_operations(model)
    if disallowed:
        raise ValueError(
            "it contains operations that no tfcopy export uses: "
            f"{', '.join(disallowed)}. If you trust who made it, pass "
            "`trust=True` or --trust"
        )
    if operations.has_pieces(model):
        import tensorflow_text  # noqa: F401 its operations


@contextlib.contextmanager
def _link_literally(folder):
    """Yields a path of a folder that TensorFlow takes literally.

    TensorFlow interprets some characters as patterns, and requires UTF-8.
    """
    if filesystem.is_url(folder) or _LITERAL.fullmatch(folder):
        yield folder
        return
    with tempfile.TemporaryDirectory(prefix="tfcopy-") as links:
        link = os.path.join(links, "model")
        os.symlink(os.path.abspath(folder), link)
        yield link


def _read_signature(function):
    ranks = {
        name: spec.shape.rank if spec.dtype.name == "string" else 0
        for name, spec in function.structured_input_signature[1].items()
    }
    return Signature(ranks, tuple(function.structured_outputs))
