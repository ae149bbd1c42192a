"""Answers of an export by its programs of LiteRT, where they fit.

Shapes: B texts, S source positions.
"""

import contextlib
import hashlib
import importlib.util
import os
import queue
from typing import NamedTuple

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


class _Program(NamedTuple):
    """A signature of the file.

    Attributes:
        kind: As of `program_name`.
        rows: B.
        length: S.
    """

    kind: str
    rows: int
    length: int

    @classmethod
    def of(cls, name):
        """The program of a name."""
        kind, shape = name.split("_")
        return cls(kind, *map(int, shape.split("x")))

    @property
    def name(self):
        return program_name(*self)

    def positions(self, rows):
        """How many are computed for so many texts."""
        return -(-rows // self.rows) * self.rows * self.length

    def fitted(self, x, name):
        """The first `(B, S)` of an input; missing texts are the first again."""
        size = x.shape[1]
        full = np.full((self.rows, self.length), _PADDING[name], x.dtype)
        full[:, :size] = x[:1]
        full[: len(x), :size] = x[: self.rows]
        return full


def is_installed() -> bool:
    """Whether there is LiteRT."""
    return importlib.util.find_spec("ai_edge_litert") is not None


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
        self._programs = [_Program.of(name) for name in names]

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
        arrays = {k: found[k].numpy() for k in _PADDING if k in found}
        rows, length = arrays["ids"].shape
        kind = "required" if "protected" in found else "free"
        program = self._best(kind, rows, length)
        if program is None:
            return None
        with self._interpreter() as interpreter:
            run = interpreter.get_signature_runner(program.name)
            results = [
                run(**{k: program.fitted(x[i:], k) for k, x in arrays.items()})
                for i in range(0, rows, program.rows)
            ]
        for name in results[0]:
            x = np.concatenate([x[name] for x in results])[:rows]
            if name == "attention":
                x = x[..., :length]
            found[f"result_{name}"] = x
        return getattr(self._model, f"write{suffix}")(found)

    def _best(self, kind, rows, length):
        """The program that computes the least, of equal ones that of most rows.

        A batch that is larger than a program is cut; `None` if it is longer
        than all.
        """
        fits = [
            x for x in self._programs if x.kind == kind and x.length >= length
        ]
        return min(
            fits, key=lambda x: (x.positions(rows), -x.rows), default=None
        )

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
