"""The C program of an export, built, and asked through frames.

Not a benchmark itself: those of serving use it.
"""

import importlib.util
import os
import struct
import subprocess
import sys
import tempfile
from typing import NamedTuple

from tfcopy.serving import serving_files
from tfcopy.serving.client_library import operations

SOURCE = serving_files.FILES / "c"


class Timing(NamedTuple):
    """Of one request.

    Attributes:
        examples: How many it had.
        milliseconds: From its bytes to those of its answer.
        kib: Resident memory of the process after it.
    """

    examples: int
    milliseconds: float
    kib: int


class RequestFailed(RuntimeError):
    """The runtime could not answer a request."""


def build(folder, tensorflow=None):
    """Compiles the program; returns its path.

    Args:
        folder: Where to.
        tensorflow: Folder of the TensorFlow to link with, such as
            `.../site-packages/tensorflow` of another release; this Python's
            if not given.
    """
    chosen = [f"TENSORFLOW={tensorflow}"] if tensorflow else []
    made = subprocess.run(
        ["make", "-C", SOURCE, f"BUILD={folder}", f"PYTHON={sys.executable}"]
        + chosen,
        capture_output=True,
        text=True,
    )
    if made.returncode:
        raise RuntimeError(f"{SOURCE} cannot be built: {made.stderr}")
    return os.path.join(folder, "ask")


def libraries(model, tensorflow=None):
    """Files of further operations that a SavedModel's folder needs.

    They are those of the TensorFlow Text beside the TensorFlow given.
    """
    if not operations.has_pieces(operations.read(model)):
        return []
    if tensorflow:
        folder = os.path.join(os.path.dirname(tensorflow), "tensorflow_text")
    else:
        spec = importlib.util.find_spec("tensorflow_text")
        (folder,) = spec.submodule_search_locations
    return [
        os.path.join(folder, "python", "ops", "_sentencepiece_tokenizer.so")
    ]


class CProgram:
    """A running program; `with` ends it.

    Args:
        program: Its path, see `build`.
        model: Folder of one version of an exported model.
        flags: More flags.
        tensorflow: As for `build`.
    """

    def __init__(self, program, model, *flags, tensorflow=None):
        self._timing = tempfile.NamedTemporaryFile(suffix=".txt")
        needed = libraries(model, tensorflow)
        loaded = [f"--library={path}" for path in needed]
        command = [program, "--frames", "--timing", self._timing.name]
        self._process = subprocess.Popen(
            [*command, *loaded, *flags, model],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.stdout.close()
        self._process.wait()

    def ask(self, examples) -> list[bytes]:
        """The answers to one request.

        Args:
            examples: Tuples of texts, bytes, in the order of the names of the
                model's inputs.

        Raises:
            RequestFailed: With the runtime's message.
            EOFError: If the program has ended.
        """
        self.send(examples)
        return self.receive()

    def send(self, examples):
        """Asks, and does not wait."""
        parts = [struct.pack("<I", len(examples))]
        for example in examples:
            for text in example:
                parts += struct.pack("<I", len(text)), text
        self._process.stdin.write(b"".join(parts))
        self._process.stdin.flush()

    def receive(self) -> list[bytes]:
        """The answers to the first request that has none yet."""
        if self._number():
            raise RequestFailed(self._text().decode(errors="replace"))
        return [self._text() for _ in range(self._number())]

    def end(self) -> list[Timing]:
        """Ends the program; returns the timings of all requests."""
        self._process.stdin.close()
        status = self._process.wait()
        if status:
            raise RuntimeError(f"The program ended with status {status}.")
        with open(self._timing.name) as file:
            rows = [line.split() for line in file]
        return [Timing(int(n), float(t) / 1000, int(m)) for n, t, m in rows]

    def _read(self, size):
        data = self._process.stdout.read(size)
        if len(data) < size:
            status = self._process.wait()
            raise EOFError(f"The program ended with status {status}.")
        return data

    def _number(self):
        return struct.unpack("<I", self._read(4))[0]

    def _text(self):
        return self._read(self._number())
