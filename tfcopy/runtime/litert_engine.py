"""Answers of an export by LiteRT, without TensorFlow.

Functions of texts encode them, a program of LiteRT searches, and further
functions decode its hypotheses.

Shapes: B texts, S source tokens, N hypotheses, T tokens of a hypothesis.
"""

import atexit
import contextlib
import functools
import hashlib
import os
import queue
import tempfile

import numpy as np

from tfcopy import checked_files, filesystem, tokens
from tfcopy.runtime import text_functions
from tfcopy.runtime.signatures import ModelError, make_fork_error
from tfcopy.terminal import hide_errors, one_line, quiet

# Beside tfcopy.json, in the folder `assets.extra` of a version.
FILE_NAME = "search.tflite"
LITERT_PRECISIONS = ("float32", "int8")
# Names and padding of the arrays that a search reads.
PADDING = {"ids": tokens.PAD, "copy_ids": tokens.NO_COPY, "protected": 0}


def program_name(kind: str, length: int) -> str:
    """Returns the name of a program for one text, a signature of the file."""
    return f"{kind}_1x{length}"


class LitertEngine:
    """The programs of an export, with its functions of texts.

    Args:
        folder: Folder of the version.
        facts: What its `tfcopy.json` holds of the programs.
        at_once: Maximum number of batches at a time.

    Raises:
        ImportError: If LiteRT is not installed, or only in part.
        ModelError: If LiteRT cannot run the programs; `answer` raises it, too.
        ValueError: If a file is damaged.
        OSError: If a file cannot be read.
    """

    def __init__(self, folder, facts: dict, at_once: int):
        extra = os.path.join(folder, "assets.extra")
        texts = os.path.join(extra, text_functions.FILE_NAME)
        self._path = os.path.join(extra, FILE_NAME)
        self._file = _private_copy(self._path, facts["sha256"])
        self._texts = text_functions.TextFunctions(
            *(texts, os.path.join(folder, "assets"), extra),
            checksum=facts["texts"],
        )
        self.signatures = self._texts.signatures
        self._made = 0
        self._at_once = at_once
        # Programs that no thread runs, by the process.
        self._free = {os.getpid(): _queue_of([None] * at_once)}
        with self._programs() as programs:
            self._sizes = programs.sizes

    def answer(self, signature: str, inputs: dict) -> dict:
        """Returns the outputs of a signature.

        Args:
            signature: Name of the signature.
            inputs: Dict of arrays of `bytes`.
        """
        kind = self._texts.kinds[signature]
        size = len(inputs["text"])
        blank = {1: b"", 2: []}  # An empty batch has none to take shapes from.
        texts = {k: x.tolist() or [blank[x.ndim]] for k, x in inputs.items()}
        sources = self._texts.read(texts["text"], texts.get("glossary"))
        length = sources.longest
        fits = [n for n in self._sizes[kind] if n >= length]
        if not fits:
            raise ModelError(f"{self._path} has no program of {length} tokens.")
        arrays = {
            key: _pad(getattr(sources, key), min(fits), PADDING[key])
            for key in PADDING
            if getattr(sources, key) is not None
        }
        name = program_name(kind, min(fits))
        with self._programs() as programs:
            results = [
                programs.run(name, {k: x[i] for k, x in arrays.items()})
                for i in range(len(sources.ids))
            ]
        result = {
            key: np.concatenate([x[key] for x in results]) for key in results[0]
        }
        if "attention" in result:
            result["attention"] = _pad(
                result["attention"], sources.ids.shape[1], 0
            )
        outputs = self._texts.write(signature, sources, result)
        return {name: x[:size] for name, x in outputs.items()}

    @contextlib.contextmanager
    def _programs(self):
        """Yields programs that no other thread runs."""
        free = self._free.get(os.getpid()) or self._get_free_programs()
        programs = free.get()
        try:
            if programs is None:
                self._made += 1
                path = f"/dev/fd/{self._file.fileno()}"
                programs = Programs(path, alone=self._made == 1)
            yield programs
        except (RuntimeError, ValueError) as error:
            raise ModelError(
                f"{self._path}: LiteRT cannot run its programs "
                f"({one_line(error)})."
            ) from error
        finally:
            if programs is not None and programs.alone and self._made > 1:
                programs = None  # It would keep other threads waiting.
            free.put(programs)

    def _get_free_programs(self):
        """Returns the free programs of a process that was forked.

        A thread that ran some at the fork does not exist here.
        """
        own = os.getpid()
        process, free = [x for x in self._free.items() if x[0] != own][-1]
        free = [*free.queue]  # Its lock may be held for ever.
        if len(free) < self._at_once:
            raise make_fork_error(self._path, "LiteRT was answering", process)
        return self._free.setdefault(own, _queue_of(free))


def _queue_of(items):
    found = queue.LifoQueue()
    for item in items:
        found.put(item)
    return found


def _private_copy(path, checksum):
    """Copies a file to one without a name, in the folder of temporary files.

    LiteRT maps the copy into memory, which takes a tenth of the memory of a
    program that is read. The export's own file may be overwritten or truncated
    meanwhile: the programs would crash, or give other answers. A file under a
    URL is copied from the cache, and fetched again if that is damaged.

    Args:
        path: The file.
        checksum: Its SHA-256.

    Raises:
        ValueError: If it has another checksum.
        OSError: If it cannot be read.

    Returns:
        The open copy. It is in memory if no folder has room for it.
    """
    copies = {}  # by checksum

    def copy(source):
        try:
            return _copy_file(source, tempfile.TemporaryFile(), copies)
        except OSError:
            file = open(os.memfd_create("tfcopy"), "wb")
            return _copy_file(source, file, copies)

    with contextlib.suppress(OSError):  # No cache can be written.
        checked_files.local_cache(path, checksum, copy)
    if checksum not in copies and copy(path) != checksum:
        raise ValueError(f"{path} is damaged, or of another export")
    return copies[checksum]


def _copy_file(path, copy, copies):
    """Writes a file to another; returns its SHA-256, under which that is."""
    digest = hashlib.sha256()
    with filesystem.open(path, "rb") as file:
        while data := file.read(1 << 20):
            digest.update(data)
            copy.write(data)
    copy.flush()
    copies[digest.hexdigest()] = copy
    return digest.hexdigest()


class Programs:
    """A file of LiteRT's programs of one text, for one thread at a time.

    Args:
        path: The file.
        alone: Whether no other thread runs programs. Then they share one copy
            of their weights, which takes a fraction of the memory, but Python
            waits while one runs.

    Attributes:
        sizes: Dict from the kinds of programs to their numbers of positions.
        run: Function of a program's name and a dict of int32 arrays, of a
            single text, that returns a dict of arrays.

    Raises:
        ImportError: If LiteRT is not installed, or only in part.
        RuntimeError, ValueError: If LiteRT cannot read the file; `run` raises
            them, too.
    """

    def __init__(self, path, alone: bool = True):
        self.alone = alone
        with quiet():  # It lists the accelerators that this machine lacks.
            try:
                opened = _load_compiled if alone else _load_interpreter
                names, self.run = opened(os.fspath(path))
            except NameError as error:  # from an import of a missing library
                raise ImportError(str(error)) from error
        self.sizes = {}
        for name in names:
            kind, _, size = name.partition("_1x")
            self.sizes.setdefault(kind, []).append(int(size))


def _load_interpreter(path):
    """Returns the names of programs, and their `run`, by `Interpreter`."""
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_path=path, num_threads=1)
    runner = functools.cache(interpreter.get_signature_runner)

    def run(name, inputs):
        return runner(name)(**{key: x[None] for key, x in inputs.items()})

    return interpreter.get_signature_list(), run


def _load_compiled(path):
    """Returns the names of programs, and their `run`, by `CompiledModel`."""
    from ai_edge_litert import compiled_model, options

    # Each batch uses one core.
    processor = options.CpuOptions(
        num_threads=1, xnnpack_weight_cache_path=":memory"
    )
    model = compiled_model.CompiledModel.from_file(
        path,
        environment=_environment(),
        options=options.Options(cpu_options=processor),
    )
    buffers = {}

    def run(name, inputs):
        if name not in buffers:
            with quiet():  # The first buffer lists the accelerators again.
                buffers[name] = _buffers(model, name)
        given, results, kinds = buffers[name]
        for key, buffer in given.items():
            buffer.write(inputs[key])
        model.run_by_name(name, given, results)
        return {
            key: results[key].read(size, dtype).reshape(shape)
            for key, (size, dtype, shape) in kinds.items()
        }

    return model.get_signature_list(), run


def _buffers(model, name):
    """Returns a program's buffers, and what to read from those of its outputs.

    Returns:
        Dicts of buffers of inputs, buffers of outputs, and of numbers of
        elements, dtypes and shapes of outputs.
    """
    inputs = model.get_input_tensor_details(name)
    outputs = model.get_output_tensor_details(name)
    given = {x: model.create_input_buffer_by_name(name, x) for x in inputs}
    results = {x: model.create_output_buffer_by_name(name, x) for x in outputs}
    for key, buffer in given.items():
        buffer.write(np.zeros(inputs[key]["shape"], np.int32))
    kinds = {
        key: (int(np.prod(x["shape"])), np.dtype(x["dtype"]), x["shape"])
        for key, x in outputs.items()
    }
    return given, results, kinds


@functools.cache
def _environment():
    """Returns what all models share; LiteRT lists accelerators at its end."""
    from ai_edge_litert import environment

    atexit.register(hide_errors)
    return environment.Environment.create()


def _pad(x, width, value):
    """Returns an array whose last dimension has a given width."""
    x = x[..., :width]
    padded = np.full((*x.shape[:-1], width), value, _DTYPES.get(x.dtype.kind))
    padded[..., : x.shape[-1]] = x
    return padded


_DTYPES = {"i": np.int32, "f": np.float32}
