"""What a servable is made of, as JSON and files.

An object becomes a dict of the name of its `class` and the arguments that it
was made with. Large tables are files of the run, see `StoredFiles`. A layer of
the model is named; the model itself is stored apart.
"""

import dataclasses
import hashlib
import json
import os

import keras
import numpy as np

from tfcopy import filesystem
from tfcopy.atomic_files import write_atomically
from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
    Definitions,
    PhraseLookup,
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
from tfcopy.decoding import SearchOptions


class StoredFileError(ValueError):
    """A file is missing or is not the one that was stored."""


class StoredFiles:
    """The files that a system's folder refers to.

    They lie in the folder `data` beside it, so that the systems of a run keep
    one copy together. A file is named by its checksum, unless there is one
    with this very content already.

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
            if os.path.dirname(existing) == self.shared:
                if _read(existing) == data:
                    path = existing
        if _read(path) != data:
            write_atomically(path, lambda file: file.write(data))
        # References work on any system.
        relative = filesystem.relpath(path, self.folder).replace(os.sep, "/")
        return {"file": relative, "sha256": checksum}

    def path(self, reference: dict) -> str:
        """The path of a file that was stored.

        Raises:
            StoredFileError: If it is missing, or its content has changed.
        """
        path = filesystem.abspath(os.path.join(self.folder, reference["file"]))
        if os.path.dirname(path) != self.shared:
            raise StoredFileError(f"{path}: not a file of {self.shared}.")
        data = _read(path)
        if data is None:
            raise StoredFileError(f"{path}: no such file, or not readable.")
        if _checksum(data) != reference["sha256"]:
            raise StoredFileError(
                f"{path} is damaged or has changed since the run began."
            )
        return path


def _checksum(data):
    return hashlib.sha256(data).hexdigest()[:16]


def _read(path):
    try:
        with filesystem.open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


_DATACLASSES = (Entities, ProtectedTokenizer, SearchOptions, Tokenizer)
_OBJECTS = (DefinitionFeatures, DefinitionLookup, DefinitionPacker)
_OBJECTS += (PhraseLookup,)
_CLASSES = {kind.__name__: kind for kind in (*_DATACLASSES, *_OBJECTS)}


class Encoder:
    """Turns objects into what JSON can hold.

    Args:
        files: `StoredFiles`, where tables are written.
    """

    def __init__(self, files: StoredFiles):
        self._files = files
        self._references = {}

    def __call__(self, value):
        """The JSON of an object, or of a list or dict of them.

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
        if isinstance(value, (Vocabulary, Dictionary, Definitions, Glossary)):
            if id(value) not in self._references:  # They may be large.
                self._references[id(value)] = self._write(value)
            return {"class": name, **self._references[id(value)]}
        if isinstance(value, (BytePairTokenizer, SentencepieceTokenizer)):
            return {"class": name, **self._write_pieces(value)}
        if isinstance(value, np.ndarray) and value.dtype.kind == "i":
            # One line, however many there are.
            numbers = " ".join(map(str, value.tolist()))
            return {"class": "array", "dtype": str(value.dtype), "is": numbers}
        if isinstance(value, keras.Layer):
            return {"class": "layer", "name": value.name}
        if isinstance(value, _DATACLASSES):
            fields = dataclasses.fields(value)
            arguments = {x.name: getattr(value, x.name) for x in fields}
        elif isinstance(value, _OBJECTS):
            arguments = value.arguments
        else:
            raise TypeError(f"{value!r} cannot be stored with a servable.")
        return {"class": name, **{k: self(x) for k, x in arguments.items()}}

    def _write(self, table):
        write = self._files.write
        if isinstance(table, Vocabulary):
            return write(table.to_bytes(), "vocabulary.{}.txt", table.path)
        if isinstance(table, Dictionary):
            return write(table.to_bytes(), "dictionary.{}.txt")
        if isinstance(table, Glossary):
            return write(table.to_bytes(), "glossary.{}.tsv")
        data = dictionary_entries.to_bytes(table)
        return write(data, "definitions.{}.json.gz")

    def _write_pieces(self, tokenizer):
        path = tokenizer.model_file
        _, suffix = os.path.splitext(path)
        with filesystem.open(path, "rb") as file:
            return self._files.write(file.read(), "tokenizer.{}" + suffix, path)


class Decoder:
    """Makes the objects again; equal ones are one object.

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
        """The object of such JSON.

        Raises:
            StoredFileError: If a file is missing or has changed.
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
        if name in _READERS:
            if name == "Definitions" and self._definitions is not None:
                return self._definitions
            return _READERS[name](self._files.path(content))
        if name == "array":
            return np.array(content["is"].split(), content["dtype"])
        if name == "layer":
            return self._model.get_layer(content["name"])
        kind = _CLASSES[name]
        arguments = {k: self(x) for k, x in content.items()}
        if kind in _DATACLASSES:  # They are hashed.
            arguments = {
                k: tuple(x) if isinstance(x, list) else x
                for k, x in arguments.items()
            }
        return kind(**arguments)


def _read_definitions(path):
    with filesystem.open(path, "rb") as file:
        return dictionary_entries.from_bytes(file.read())


_READERS = {
    "Vocabulary": Vocabulary.load,
    "Dictionary": Dictionary.load,
    "Glossary": Glossary.load,
    "Definitions": _read_definitions,
    "BytePairTokenizer": BytePairTokenizer,
    "SentencepieceTokenizer": SentencepieceTokenizer,
}
