"""Search by the LiteRT programs of an export.

Shapes: B texts, S source tokens.
"""

import contextlib
import hashlib
import importlib.util
import os
import queue

import numpy as np

from tfcopy import tokens
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import one_line

# Beside tfcopy.json, in the folder `assets.extra` of a version.
FILE_NAME = "search.tflite"
LITERT_PRECISIONS = ("float32", "int8")
RESULTS = ("ids", "scores", "copied_from", "generate_probs", "attention")
# Suffixes of the encoding and decoding functions of signatures.
_FUNCTIONS = {"serving_default": "", "with_glossary": "_with_glossary"}
_PADDING = {
    "ids": tokens.PAD,
    "copy_ids": tokens.NO_COPY,
    "protected": 0,
}


# For larger batches, TensorFlow is faster than LiteRT in float32.
MOST_ROWS = 6


def program_name(kind: str, length: int) -> str:
    """Returns the name of a program for one text, a signature of the file."""
    return f"{kind}_1x{length}"


def is_installed() -> bool:
    """Returns whether LiteRT is installed."""
    return importlib.util.find_spec("ai_edge_litert") is not None


def digest(path) -> str:
    """Returns the SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class LitertSearch:
    """Search by LiteRT, between encoding and decoding by TensorFlow.

    Args:
        path: Path of the programs.
        model: The loaded SavedModel.
        at_once: Maximum number of interpreters; each runs one batch at a time.
        most_rows: Maximum number of texts in a batch, or `None`.

    Raises:
        ImportError: If LiteRT is not installed, or only in part.
        AskError: If LiteRT cannot run the programs; `answer` raises it, too.
    """

    def __init__(self, path, model, at_once: int, most_rows=None):
        self._path, self._model, self._most_rows = path, model, most_rows
        self._free = queue.LifoQueue()
        for _ in range(at_once):
            self._free.put(None)
        with self._interpreter() as interpreter:
            names = [x.split("_1x") for x in interpreter.get_signature_list()]
        self._programs = [(kind, int(length)) for kind, length in names]

    def answer(self, signature: str, inputs: dict):
        """Returns the outputs of a signature, or `None` if no program fits.

        Args:
            signature: Name of the signature.
            inputs: Dict of tensors.
        """
        suffix, rows = _FUNCTIONS.get(signature), len(inputs["text"])
        if suffix is None or not 0 < rows <= (self._most_rows or rows):
            return None
        read = getattr(self._model, f"read{suffix}", None)
        if read is None:
            return None
        found = dict(read(**inputs))
        arrays = {k: found[k].numpy() for k in _PADDING if k in found}
        length = arrays["ids"].shape[1]
        kind = "required" if "protected" in found else "free"
        fits = [n for x, n in self._programs if x == kind and n >= length]
        if not fits:
            return None
        size = min(fits)
        padded = {
            name: np.pad(
                x,
                [(0, 0), (0, size - length)],
                constant_values=_PADDING[name],
            )
            for name, x in arrays.items()
        }
        with self._interpreter() as interpreter:
            run = interpreter.get_signature_runner(program_name(kind, size))
            results = [
                run(**{name: x[i : i + 1] for name, x in padded.items()})
                for i in range(rows)
            ]
        for name in results[0]:
            x = np.concatenate([x[name] for x in results])
            if name == "attention":
                x = x[..., :length]
            found[f"result_{name}"] = x
        return getattr(self._model, f"write{suffix}")(found)

    @contextlib.contextmanager
    def _interpreter(self):
        interpreter = self._free.get()
        try:
            if interpreter is None:
                interpreter = _open(self._path)
            yield interpreter
        except (RuntimeError, ValueError) as error:
            raise AskError(
                f"{self._path}: LiteRT cannot run its programs "
                f"({one_line(error)})."
            ) from error
        finally:
            self._free.put(interpreter)


def _open(path):
    from ai_edge_litert.interpreter import Interpreter

    try:  # Each batch uses one core.
        return Interpreter(model_path=os.fspath(path), num_threads=1)
    except NameError as error:  # from its import of a missing library
        raise ImportError(str(error)) from error
