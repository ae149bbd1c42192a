"""A servable in the folder of its system, so that it can be made again.

    <run>/<system>/servable.json     its class and arguments
                   checkpoints/      its weights
    <run>/data/                      vocabularies, dictionaries, definitions

`save` is called before training begins, so that an interrupted run can be
exported, too. `load` builds the same servable, with the weights of a
checkpoint; it needs neither the recipe nor the corpus.

In `servable.json` an object is a dict of the name of its `class` and its
arguments. Large tables are files of the run, see `StoredFiles`. Layers of the
model are stored by name, and the model itself separately.
"""

import contextlib
import dataclasses
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras
import numpy as np

from tfcopy import checked_files, filesystem, keras_internals
from tfcopy.atomic_files import write_atomically
from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
    Definitions,
    dictionary_entries,
)
from tfcopy.data.text.byte_pair_tokenizer import BytePairTokenizer
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.decoding import Ensemble, SearchOptions
from tfcopy.models import rarest_word_model  # noqa: F401 registers classes
from tfcopy.serving.run_folder import SERVABLE_NAME, RunError, checkpoints_of
from tfcopy.serving.servables import settings, text_model
from tfcopy.serving.servables.translator import Translator
from tfcopy.training.checkpoint_arrays import get_values, set_values
from tfcopy.training.checkpoints import CheckpointError

FILE_NAME = SERVABLE_NAME
# Raise it with every change that an earlier `load` would not understand.
FORMAT = 1
# What it must hold, and what it may.
_FIELDS = (
    {"warmup_texts": list, "details": dict, "arguments": dict}
    | {"precision": str, "model": {"config": dict}},
    {"trained_model": dict, "identity": dict},
)
KINDS = {
    kind.__name__: kind
    for kind in (
        text_model.AnswerFinder,
        text_model.EntailmentClassifier,
        Translator,
        text_model.WordPredictor,
    )
}


class StoredServable(NamedTuple):
    """A servable as it is exported.

    Attributes:
        served: A `Translator` or a `TextModel`.
        warmup_texts: As in `saved_model.export`.
        details: As in `saved_model.export`.
    """

    served: Any
    warmup_texts: list
    details: dict


def save(
    servable,
    folder,
    *,
    warmup_texts: Sequence[str | Mapping],
    details: Mapping,
    model=None,
    identity: Mapping = {},
):
    """Stores all of a servable but its weights.

    Args:
        servable: A `Translator` or a `TextModel`.
        folder: The folder of the system, where its `checkpoints` are.
        warmup_texts: As in `saved_model.export`.
        details: As in `saved_model.export`; must be valid JSON.
        model: The trained model, whose weights the checkpoints hold, if it is
            not the servable's. It has the same weights in the same order, such
            as `Seq2Seq.with_candidates()`.
        identity: The identity of the checkpoints, such as flags and data; must
            be valid JSON.

    Raises:
        TypeError: If the servable holds an object that cannot be stored.
        OSError: naming the file, if it cannot be written.
    """
    arguments = dict(servable.arguments)
    own_model = arguments.pop("model")
    encode = Encoder(StoredFiles(folder))
    trained = None
    if model is not None and model is not own_model:
        trained = _model_config(model)
    content = {
        "format": FORMAT,
        "kind": type(servable).__name__,
        "warmup_texts": list(warmup_texts),
        "details": dict(details),
        "identity": dict(identity),
        "arguments": {name: encode(x) for name, x in arguments.items()},
        "precision": own_model.dtype_policy.name,
        "keras": keras.__version__,
        "model": _model_config(own_model),
        "trained_model": trained,
    }
    checked_files.write_json(
        os.path.join(os.fspath(folder), FILE_NAME), content
    )


def load(
    folder, changes: Mapping | None = None, checkpoint: str = "best"
) -> StoredServable:
    """Builds a stored servable, with the weights of a checkpoint.

    Args:
        folder: The folder of the system.
        changes: Dict from names of `settings` to other values, or to their
            texts.
        checkpoint: `"best"`, the weights of the best dev score, or `"last"`,
            the weights of the newest checkpoint.

    Raises:
        RunError: naming the file that is missing or damaged.
        OSError: naming the folder, if its name is not UTF-8.
        CheckpointError: If there are no such weights, or they do not belong
            to the model.
        SettingError: naming the setting, if one of the `changes` is wrong.
    """
    filesystem.check_utf8(folder)
    path = os.path.join(os.fspath(folder), FILE_NAME)
    content = _content_of(path)
    with _errors_as_storage_error(path):
        values = settings.parse(content, changes or {})
        settings.change_model(content["model"], values)
        precision = values.get("precision", content["precision"])
    with (
        _errors_as_storage_error(path),
        keras_internals.dtype_policy(precision),
    ):
        model = _make_model(content["model"])
        trained = model
        if content["trained_model"] is not None:
            trained = _make_model(content["trained_model"])
        decode = Decoder(StoredFiles(folder), model, values.get("definitions"))
        arguments = {
            name: decode(x) for name, x in content["arguments"].items()
        }
        arguments.pop("xla", None)  # of runs that began when it was an option
        _load_weights(trained, folder, checkpoint, content.get("identity", {}))
        if trained is not model:
            set_values(model, get_values(trained))
        arguments = settings.change_arguments(arguments, values)
        return StoredServable(
            KINDS[content["kind"]](model=model, **arguments),
            list(content["warmup_texts"]),
            dict(content["details"]),
        )


def _model_config(model):
    with keras_internals.share_layers():
        return keras.saving.serialize_keras_object(model)


def _make_model(config):
    # Neither Python's code nor other packages' classes.
    with keras_internals.share_layers(), keras_internals.forbid_imports():
        return keras.saving.deserialize_keras_object(config, safe_mode=True)


def convert_to_float32(model):
    """Returns a model that computes in float32: the model itself, or a copy.

    Args:
        model: A `keras.Model` or an `Ensemble`; others stay as they are.

    Raises:
        ValueError: If a copy cannot be built from the model's config.
    """
    if isinstance(model, Ensemble):
        members = [convert_to_float32(x) for x in model.models]
        return model if (*members,) == model.models else Ensemble(members)
    is_layer = isinstance(model, keras.Model)
    layers = keras_internals.all_layers(model) if is_layer else ()
    if not any("float16" in x.compute_dtype for x in layers):
        return model
    try:
        config = _model_config(model)
        settings.change_model(config, {"precision": "float32"})
        with keras_internals.dtype_policy("float32"):
            rebuilt = _make_model(config)
        set_values(rebuilt, get_values(model))
    except (RuntimeError, TypeError, ValueError) as error:
        raise ValueError(
            "LiteRT has no bfloat16, and a copy of the model in float32 cannot "
            f"be built ({_reason(error)})."
        ) from error
    return rebuilt


def _content_of(path):
    """Reads a file, and checks its format."""
    try:
        content = checked_files.read_json(path)
        number, kind = content["format"], content["kind"]
        if number != FORMAT or str(kind) not in KINDS:
            raise RunError(
                f"{path} is from another release of tfcopy (format {number!r}, "
                f"kind {kind!r}; this one reads format {FORMAT} of "
                f"{', '.join(KINDS)}). Update tfcopy."
            )
        checked_files.check_fields(path, content, *_FIELDS)
    except FileNotFoundError:
        raise RunError(
            f"{path}: no such file. Repeat the recipe's command: it writes the "
            "file, and exports a finished run without training it again."
        ) from None
    except checked_files.DamagedFileError as error:
        raise RunError(str(error)) from error
    except KeyError as error:
        raise _make_error(path, error) from error
    return content


@contextlib.contextmanager
def _errors_as_storage_error(path):
    try:
        yield
    except (CheckpointError, RunError, settings.SettingError):
        raise
    except (
        *(AttributeError, ImportError, LookupError),
        *(RuntimeError, TypeError, ValueError),
    ) as error:
        raise _make_error(path, error) from error


def _make_error(path, error):
    return RunError(f"{path} is damaged ({_reason(error)}).")


def _reason(error):
    if missing := re.search(r"Could not locate \w+ '(.*?)'", str(error)):
        return f"{missing[1]} is not registered: import its module first"
    return str(error).strip().split("\n")[0] or type(error).__name__


def _load_weights(model, folder, checkpoint, identity):
    """Loads the weights of a checkpoint into a model."""
    checkpoints = checkpoints_of(folder)
    there = (checkpoints.newest_info() or {}).get("identity", {})
    for name in identity.keys() & there.keys():
        if identity[name] != there[name]:
            raise CheckpointError(
                f"{checkpoints.folder}: the checkpoint is from another run: "
                f"{name} is {there[name]!r} there and {identity[name]!r} here."
            )
    checkpoints.load_weights(model, newest=checkpoint == "last")


class StoredFiles:
    """The files that a system's folder refers to.

    They are in the folder `data` beside it, so that the systems of a run share
    one copy. The name of a file has its checksum, unless a file with the same
    content exists already.

    Args:
        folder: The folder of a system.
    """

    def __init__(self, folder):
        self.folder = filesystem.abspath(os.fspath(folder))
        self.shared = os.path.join(os.path.dirname(self.folder), "data")

    def write(self, data: bytes, name: str, existing=None) -> dict:
        """Stores a file.

        Args:
            data: Its content.
            name: Its name, with `{}` for the checksum.
            existing: Path of a file that may hold it already.

        Returns:
            A reference: the `file`, relative to the system's folder, and its
            `sha256`.

        Raises:
            OSError: naming the file, if it cannot be written.
        """
        checksum = _checksum(data)
        path = os.path.join(self.shared, name.format(checksum))
        if existing is not None:
            existing = filesystem.abspath(os.fspath(existing))
            is_shared = os.path.dirname(existing) == self.shared
            if is_shared and _read(existing) == data:
                path = existing
        if _read(path) != data:
            write_atomically(path, lambda file: file.write(data))
        # References work on any system.
        relative = filesystem.relpath(path, self.folder).replace(os.sep, "/")
        return {"file": relative, "sha256": checksum}

    def path(self, reference: dict) -> str:
        """Returns the path of a file that was stored.

        Raises:
            RunError: If it is missing, or its content has changed.
        """
        path = filesystem.abspath(os.path.join(self.folder, reference["file"]))
        if os.path.dirname(path) != self.shared:
            raise RunError(f"{path}: not a file of {self.shared}.")
        data = _read(path)
        if data is None:
            raise RunError(f"{path}: no such file, or not readable.")
        if _checksum(data) != reference["sha256"]:
            raise RunError(
                f"{path} is damaged or has changed since the run began."
            )
        return path


def _checksum(data):
    return hashlib.sha256(data).hexdigest()[:16]


def _read(path):
    """Reads a file; `None` if it cannot be read."""
    with contextlib.suppress(OSError):
        return filesystem.read_bytes(path)


# What is a file of the run: its name, its content, and what reads it.
_FILES = {
    Vocabulary: ("vocabulary.{}.txt", Vocabulary.to_bytes, Vocabulary.load),
    Dictionary: ("dictionary.{}.txt", Dictionary.to_bytes, Dictionary.load),
    Glossary: ("glossary.{}.tsv", Glossary.to_bytes, Glossary.load),
    Definitions: (
        *("definitions.{}.json.gz", dictionary_entries.to_bytes),
        lambda path: dictionary_entries.from_bytes(filesystem.read_bytes(path)),
    ),
    **{
        kind: (
            "tokenizer.{}",
            lambda x: filesystem.read_bytes(x.model_file),
            kind,
        )
        for kind in (BytePairTokenizer, SentencepieceTokenizer)
    },
}
# Nothing else is made from JSON.
_CLASSES = {
    x.__name__: x
    for x in (
        *(*_FILES, DefinitionFeatures, DefinitionLookup, DefinitionPacker),
        *(Entities, ProtectedTokenizer, SearchOptions, Tokenizer),
    )
}


class Encoder:
    """Encodes objects as JSON.

    Args:
        files: `StoredFiles`, where tables are written.
    """

    def __init__(self, files: StoredFiles):
        self._files = files
        self._references = {}

    def __call__(self, value):
        """Encodes an object, or a list of objects, as JSON.

        Raises:
            TypeError: If a servable cannot hold such an object.
            OSError: If a file cannot be written.
        """
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, (list, tuple)):
            return [self(x) for x in value]
        if isinstance(value, frozenset):
            return sorted(value)
        name = type(value).__name__
        if type(value) in _FILES:
            if id(value) not in self._references:  # They may be large.
                self._references[id(value)] = self._write(value)
            return {"class": name, **self._references[id(value)]}
        if isinstance(value, np.ndarray) and value.dtype.kind == "i":
            # One line, however many there are.
            numbers = " ".join(map(str, value.tolist()))
            return {"class": "array", "dtype": str(value.dtype), "is": numbers}
        if isinstance(value, keras.Layer):
            return {"class": "layer", "name": value.name}
        if _CLASSES.get(name) is not type(value):
            raise TypeError(f"{value!r} cannot be stored with a servable.")
        if dataclasses.is_dataclass(value):
            fields = dataclasses.fields(value)
            arguments = {x.name: getattr(value, x.name) for x in fields}
        else:
            arguments = value.arguments
        return {"class": name, **{k: self(x) for k, x in arguments.items()}}

    def _write(self, table):
        name, to_bytes, _ = _FILES[type(table)]
        path = getattr(table, "path", None)
        if hasattr(table, "model_file"):
            path = table.model_file
            name += os.path.splitext(path)[1]
        return self._files.write(to_bytes(table), name, path)


class Decoder:
    """Builds objects from JSON; equal ones are one object.

    Args:
        files: `StoredFiles`, where tables are read.
        model: The model, whose layers are named.
        definitions: `Definitions` that replace all that are stored.
    """

    def __init__(self, files: StoredFiles, model, definitions=None):
        self._files = files
        self._model = model
        self._definitions = definitions
        self._made = {}

    def __call__(self, content):
        """Builds the object that JSON describes.

        Raises:
            RunError: If a file is missing or has changed.
            KeyError, TypeError, ValueError: If it is damaged.
        """
        if isinstance(content, list):
            return [self(x) for x in content]
        if not isinstance(content, dict):
            return content
        key = json.dumps(content, sort_keys=True)
        if key not in self._made:
            self._made[key] = self._make(dict(content))
        return self._made[key]

    def _make(self, content):
        name = content.pop("class")
        if name == "Definitions" and self._definitions is not None:
            return self._definitions
        kind = _CLASSES.get(name)
        if kind in _FILES:
            _, _, load = _FILES[kind]
            return load(self._files.path(content))
        if name == "array":
            return np.array(content["is"].split(), content["dtype"])
        if name == "layer":
            return self._model.get_layer(content["name"])
        if kind is None:
            raise ValueError(f"there is no class {name}")
        arguments = {k: self(x) for k, x in content.items()}
        if dataclasses.is_dataclass(kind):  # They are hashed.
            arguments = {
                k: tuple(x) if isinstance(x, list) else x
                for k, x in arguments.items()
            }
        return kind(**arguments)
