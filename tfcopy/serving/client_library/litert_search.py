"""Answers of an export by its programs of LiteRT, where they fit.

Shapes: B texts, S source positions.
"""

import contextlib
import hashlib
import os
import queue

import numpy as np

from tfcopy import tokens

# Beside tfcopy.json, in the folder `assets.extra` of a version.
FILE_NAME = "search.tflite"
LITERT_PRECISIONS = ("float32", "int8")
RESULTS = ("ids", "scores", "copied_from", "generate_probs", "attention")
# How texts are read and written for the signatures that have programs.
_FUNCTIONS = {"serving_default": "", "with_glossary": "_with_glossary"}
_PADDING = {
    "ids": tokens.PAD,
    "copy_ids": tokens.NO_COPY,
    "protected": 0,
}


def program_name(kind: str, rows: int, length: int) -> str:
    """The name of a program, a signature of the file."""
    return f"{kind}_{rows}x{length}"


def _shape(name):
    kind, shape = name.split("_")
    return (kind, *map(int, shape.split("x")))


def digest(path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class LitertSearch:
    """The programs of an export, between its functions of texts.

    Args:
        path: The file of the programs.
        model: The loaded SavedModel.
        most: How many interpreters there may be, each of which answers one
            batch at a time.

    Raises:
        ImportError: If LiteRT is not installed.
        ValueError: If the file holds no programs.
    """

    def __init__(self, path, model, most: int):
        self._path, self._model = path, model
        self._free = queue.LifoQueue()
        for _ in range(most):
            self._free.put(None)
        with self._interpreter() as interpreter:
            names = interpreter.get_signature_list()
        # The least first.
        self._programs = sorted(
            map(_shape, names), key=lambda x: (x[1] * x[2], x)
        )

    def answer(self, signature: str, inputs: dict):
        """Outputs of a signature by name, or `None` if no program fits.

        Args:
            signature: Name of a signature.
            inputs: Tensors by name.
        """
        suffix = _FUNCTIONS.get(signature)
        if suffix is None or not len(inputs["text"]):
            return None
        read = getattr(self._model, f"read{suffix}", None)
        if read is None:
            return None
        found = dict(read(**inputs))
        rows, length = found["ids"].shape
        kind = "required" if "protected" in found else "free"
        fits = [
            program
            for program in self._programs
            if program[0] == kind and program[1] >= rows
            if program[2] >= length
        ]
        if not fits:
            return None
        arrays = {
            name: _padded(found[name].numpy(), fits[0][1:], value)
            for name, value in _PADDING.items()
            if name in found
        }
        with self._interpreter() as interpreter:
            run = interpreter.get_signature_runner(program_name(*fits[0]))
            result = run(**arrays)
        found |= {f"result_{k}": x[:rows] for k, x in result.items()}
        if "attention" in result:
            kept = result["attention"][:rows, :, :, :length]
            found["result_attention"] = kept
        return getattr(self._model, f"write{suffix}")(found)

    @contextlib.contextmanager
    def _interpreter(self):
        interpreter = self._free.get()
        try:
            if interpreter is None:
                interpreter = _open(self._path)
            yield interpreter
        finally:
            self._free.put(interpreter)


def _open(path):
    from ai_edge_litert.interpreter import Interpreter

    # Batches have a core each.
    return Interpreter(model_path=os.fspath(path), num_threads=1)


def _padded(x, shape, value):
    """`(B, S)` as a program has them; its other texts are the last again."""
    more = [[0, all_ - some] for all_, some in zip(shape, x.shape)]
    x = np.pad(x, [[0, 0], more[1]], constant_values=value)
    return np.pad(x, [more[0], [0, 0]], mode="edge")
