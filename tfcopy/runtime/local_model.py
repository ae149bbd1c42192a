"""Exports in folders, and the engines that answer for them.

An export is a folder of versions, which are named by numbers. `001` is version
1, as in TensorFlow Serving.
"""

import contextlib
import functools
import logging
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from importlib.util import find_spec

from tfcopy import checked_files, filesystem
from tfcopy.runtime import litert_engine, operations
from tfcopy.runtime.batches import num_at_once
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import (
    AskError,
    Signature,
    check_process,
    check_whole,
)
from tfcopy.terminal import one_line, quiet


def numbers_in(folder) -> Iterator[tuple[int, str]]:
    """Yields the numbers among the names in a folder, with their paths."""
    for name in filesystem.listdir(folder):
        if name.isascii() and name.isdecimal():
            yield int(name), os.path.join(folder, name)


def find_versions(folder) -> dict[int, str]:
    """Returns the versions of a model in a folder, in order, and their paths.

    Raises:
        AskError: If two folders are the same version.
    """
    paths = {}
    for number, path in numbers_in(folder):
        if not filesystem.isdir(path):
            continue
        other = paths.setdefault(number, path)
        if other != path:
            name = os.path.basename(path)
            raise AskError(
                f"{folder}: {name} and {os.path.basename(other)} are the same "
                "version. Rename or remove one of them."
            )
    return {x: y for x, y in sorted(paths.items()) if is_saved_model(y)}


def find_version(folder, version: int | None = None) -> str:
    """Returns the folder of one version of a model.

    Args:
        folder: The folder of one version, or of numbered versions.
        version: Number of the version; the highest if not given.

    Raises:
        AskError: If there is no such model.
    """
    folder = os.fspath(folder)
    try:
        is_folder = filesystem.isdir(folder)
    except OSError as error:
        raise AskError(f"{folder}: {error.strerror}.") from error
    if not is_folder:
        raise AskError(f"{folder}: no such folder.")
    if is_version(folder):
        if version is not None:
            raise AskError(
                f"{folder} is a version itself: leave --version out."
            )
        return folder
    paths = find_versions(folder)
    models = () if paths else find_models(folder)
    if models:
        raise AskError(
            f"{folder}: contains several models. Choose one: "
            + ", ".join(os.path.join(folder, name) for name in models)
            + "."
        )
    if not paths:
        raise AskError(
            f"{folder}: no exported model in it. Expected folders named "
            "1, 2, ... with a saved_model.pb each."
        )
    number = max(paths) if version is None else version
    if number not in paths:
        versions = ", ".join(map(str, paths))
        raise AskError(
            f"{folder}: no version {version}. Available: {versions}."
        )
    return paths[number]


def find_models(folder) -> dict[str, dict[int, str]]:
    """Returns the models in a folder by name, with their versions."""
    models = {
        name: find_versions(os.path.join(folder, name))
        for name in sorted(filesystem.listdir(folder))
        if filesystem.isdir(os.path.join(folder, name))
    }
    return {name: versions for name, versions in models.items() if versions}


def find_exports(folder) -> list[str]:
    """Returns a folder if it is an exported model, otherwise those in it.

    Raises:
        AskError: If there is none.
    """
    if not filesystem.isdir(folder):
        raise AskError(f"{folder}: no such folder.")
    if is_version(folder) or find_versions(folder):
        return [folder]
    found = [os.path.join(folder, name) for name in find_models(folder)]
    if not found:
        raise AskError(
            f"{folder}: no exported models in it. Expected folders of folders "
            "named 1, 2, ... with a saved_model.pb each; recipes write them "
            "there."
        )
    return found


def is_saved_model(folder) -> bool:
    """Returns whether a folder is a version of a model for TensorFlow."""
    return filesystem.isfile(os.path.join(folder, "saved_model.pb"))


def is_version(folder) -> bool:
    """Returns whether a folder is a version that an engine can answer from."""
    programs = os.path.join(folder, "assets.extra", litert_engine.FILE_NAME)
    return is_saved_model(folder) or filesystem.isfile(programs)


# In the folder `assets.extra` of a version.
CONFIG_NAME = "tfcopy.json"
# Incremented with every incompatible change of the SavedModel.
FORMAT = 1
_FIGURES = {"right": float, "bleu": float, "chrf": float}
# Types of the scores of a test that are read, all optional.
SCORES = {
    **_FIGURES,
    "must_copy": _FIGURES,
    "texts": int,
    "calibration": [[float]],
    "held_out": [str],
}
# Types of the fields that are read, all optional.
_FIELDS = {
    **dict.fromkeys(("created", "engines", "system", "task"), str),
    **dict.fromkeys(("source_language", "target_language"), str),
    **dict.fromkeys(("max_source_length", "num_headwords"), int),
    **dict.fromkeys(("source_vocabulary_size", "text_vocabulary_size"), int),
    **{"texts": [str], "labels": [str], "examples": [dict], "pieces": dict},
    "source_tokenizer": {"protect": [str]},
    "search": {"num_beams": int},
    "litert": {"precision": str, "sha256": str, "texts": str},
    "scores": SCORES,
}

# For larger batches, TensorFlow is faster than LiteRT in float32.
MOST_ROWS = 6


class LocalModel(ExportedModel):
    """An export in a folder, which answers in this process.

    Args:
        folder: The folder of one version, or of numbered versions.
        version: Number of the version; the highest if not given.
        batch_size: Positive integer, maximum number of examples in a batch.
        at_once: Positive integer, maximum number of concurrent batches; by
            default one for each core, or for a GPU.
        engine: `"litert"` or `"tensorflow"`. By default LiteRT if the export
            has its programs and LiteRT is installed. Then TensorFlow, if it is
            installed, answers large batches in float32 alone, since it is
            faster; it is loaded for the first of them.
        trust: Whether to allow operations that no export has, such as writing
            files.

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
        engine: str | None = None,
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
            engine=engine,
            trust=trust,
        )
        self.config = read_config(self.name)
        self._trust = trust
        self._loading = threading.Lock()
        self._tensorflow = None
        programs = self._programs(engine)
        with _reported(self.name, "be loaded"):
            self.at_once = at_once or num_at_once(gpu=programs is None)
            self._litert = self._opened(programs, engine)
            self._most_rows = None
            if self._litert is None:
                self.signatures = self._tensorflow_engine().signatures
                self._warm_up()
                return
            self.signatures = self._litert.signatures
            is_float = programs["precision"] == "float32"
            if is_float and not engine and find_spec("tensorflow"):
                self._most_rows = MOST_ROWS

    def _ask_batch(self, signature, arrays):
        rows = len(next(iter(arrays.values())))
        is_small = 0 < rows <= (self._most_rows or rows)
        with _reported(self.name, "answer"):
            if self._litert is not None and is_small:
                return self._litert.answer(signature, arrays)
            return self._tensorflow_engine().answer(signature, arrays)

    def _programs(self, engine):
        """Returns the facts about LiteRT's programs, if they are to be used."""
        facts = self.config.get("litert")
        if facts is not None and "texts" not in facts:
            facts = None  # Of an earlier release, which needs TensorFlow.
        if facts is None and engine == "litert":
            raise AskError(
                f"{self.name}: cannot be loaded (it has no programs of LiteRT)."
            )
        return None if engine == "tensorflow" else facts

    def _opened(self, programs, engine):
        if programs is None:
            return None
        try:
            return litert_engine.LitertEngine(self.name, programs, self.at_once)
        except ImportError:
            if engine is None and find_spec("tensorflow"):
                return None
            raise ValueError(
                "LiteRT is not installed: pip install ai-edge-litert; or only "
                "in part: pip install --force-reinstall ai-edge-litert"
            ) from None

    def _tensorflow_engine(self):
        with self._loading:
            if self._tensorflow is None:
                with quiet():
                    self._tensorflow = TensorFlowEngine(self.name, self._trust)
        return self._tensorflow

    def _warm_up(self):
        # The first call is slow, and prints messages.
        with quiet():
            for name, (inputs, _) in self.signatures.items():
                if inputs and all(inputs.values()):
                    blank = {1: ["a"], 2: [["a"]]}
                    self.ask(name, {k: blank[x] for k, x in inputs.items()})


@contextlib.contextmanager
def _reported(name, work):
    """Raises errors of all kinds as an `AskError` that names the model."""
    try:
        yield
    except AskError:
        raise
    except Exception as error:  # Libraries raise errors of all kinds.
        raise AskError(f"{name}: cannot {work} ({one_line(error)}).") from None


def read_config(folder) -> dict:
    """Reads the facts that an export stores; empty if there are none.

    Raises:
        AskError: If the file is damaged, or of another release.
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


_LITERAL = re.compile(r"[^*?\[\\\ud800-\udfff]*")


class TensorFlowEngine:
    """A SavedModel, loaded in this process.

    Args:
        folder: Folder of the version.
        trust: Whether to allow operations that no export has, such as writing
            files.

    Raises:
        AskError: If TensorFlow was started before this process was forked.
        ImportError: If TensorFlow is not installed.
        Exception: Damaged files cause errors of all kinds.
    """

    def __init__(self, folder, trust: bool):
        self._folder = folder
        check_process(folder, "TensorFlow")
        self._model = _load(folder, trust)
        self.signatures = {
            name: _signature(function)
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
    with _literal(folder) as path:
        return tf.saved_model.load(path)


def _check_operations(folder, trust):
    """Refuses operations that no export has, and imports needed ones."""
    model = operations.read(folder)
    strangers = [] if trust else operations.strangers(model)
    if strangers:
        raise ValueError(
            "it contains operations that no tfcopy export uses: "
            f"{', '.join(strangers)}. If you trust who made it, pass "
            "`trust=True` or --trust"
        )
    if operations.has_pieces(model):
        import tensorflow_text  # noqa: F401 its operations


@contextlib.contextmanager
def _literal(folder):
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


def _signature(function):
    specs = function.structured_input_signature[1]
    ranks = {
        name: spec.shape.rank if spec.dtype.name == "string" else 0
        for name, spec in specs.items()
    }
    return Signature(ranks, tuple(function.structured_outputs))
