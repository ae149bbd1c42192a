"""A servable in the folder of its system, so that it can be made again.

    <run>/<system>/servable.json     what it is made of
                   checkpoints/      its weights
    <run>/data/                      vocabularies, dictionaries, definitions

`save` is called before training begins, so that an interrupted run can be
exported, too. `load` makes the same servable, with the weights of a checkpoint;
it needs neither the recipe nor the corpus.
"""

import contextlib
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import keras

from tfcopy import filesystem, keras_internals
from tfcopy.checked_files import (
    DamagedFileError,
    check_fields,
    read_json,
    write_json,
)
from tfcopy.models import rarest_word_model  # noqa: F401 registers classes
from tfcopy.serving.servables import settings
from tfcopy.serving.servables.object_json import (
    Decoder,
    Encoder,
    StoredFileError,
    StoredFiles,
)
from tfcopy.serving.servables.text_tasks import (
    AnswerFinder,
    EntailmentClassifier,
    WordPredictor,
)
from tfcopy.serving.servables.translator import Translator
from tfcopy.training.checkpoints import CheckpointError, Checkpoints

FILE_NAME = "servable.json"
# Raise it with every change that an earlier `load` would not understand.
FORMAT = 1
# What it must hold, and what it may.
_FIELDS = (
    {"warmup_texts": list, "details": dict, "arguments": dict}
    | {"precision": str, "model": {"config": dict}},
    {"trained_model": dict, "identity": dict},
)
CHECKPOINTS = ("best", "last")
KINDS = {
    kind.__name__: kind
    for kind in (AnswerFinder, EntailmentClassifier, Translator, WordPredictor)
}


class StorageError(ValueError):
    """A stored servable cannot be read; the message says why."""


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
        details: As in `saved_model.export`; JSON must be able to hold it.
        model: The model that is trained, whose weights the checkpoints hold,
            if it is not that of the servable: it has the same weights, in the
            same order, such as `Seq2Seq.with_candidates()`.
        identity: What its checkpoints were trained with, as they tell it too;
            JSON must be able to hold it.

    Raises:
        TypeError: If the servable holds what cannot be stored.
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
    write_json(os.path.join(os.fspath(folder), FILE_NAME), content)


def load(
    folder, changes: Mapping | None = None, checkpoint: str = "best"
) -> StoredServable:
    """Makes a servable that was stored, with the weights of a checkpoint.

    Args:
        folder: The folder of the system.
        changes: Dict from names of `settings` to other values, or to texts
            that say them.
        checkpoint: `"best"`, the weights of the best dev score, or `"last"`,
            those of the newest checkpoint.

    Raises:
        StorageError: naming the file that is missing or damaged.
        OSError: naming the folder, if its name is not UTF-8.
        CheckpointError: If there are no such weights, or they do not belong
            to the model.
        SettingError: naming the setting, if one of the `changes` is wrong.
    """
    filesystem.check_utf8(folder)
    path = os.path.join(os.fspath(folder), FILE_NAME)
    content = _read(path)
    with _damage_is_told(path):
        values = settings.parse(content, changes or {})
        settings.change_model(content["model"], values)
        precision = values.get("precision", content["precision"])
    with _damage_is_told(path), _precision(precision):
        model = _make_model(content["model"])
        trained = model
        if content["trained_model"] is not None:
            trained = _make_model(content["trained_model"])
        decode = Decoder(StoredFiles(folder), model, values.get("definitions"))
        encoded = content["arguments"]
        arguments = {name: decode(x) for name, x in encoded.items()}
        identity = _identity(arguments, values) | content.get("identity", {})
        _load_weights(trained, folder, checkpoint, identity)
        if trained is not model:
            model.set_weights(trained.get_weights())
        arguments = settings.change_arguments(arguments, values)
        return StoredServable(
            KINDS[content["kind"]](model=model, **arguments),
            list(content["warmup_texts"]),
            dict(content["details"]),
        )


def _model_config(model):
    with keras_internals.sharing_layers():
        return keras.saving.serialize_keras_object(model)


def _make_model(config):
    with keras_internals.sharing_layers():
        # Neither Python's code nor other packages' classes.
        return keras.saving.deserialize_keras_object(config, safe_mode=True)


def _read(path):
    """The content of a file, whose format must be known."""
    try:
        content = read_json(path)
        number, kind = content["format"], content["kind"]
    except FileNotFoundError:
        raise StorageError(
            f"{path}: no such file. An earlier release trained this "
            "system: repeat the recipe's command, which tests a finished run "
            "again and exports it without training."
        ) from None
    except DamagedFileError as error:
        raise StorageError(str(error)) from error
    except KeyError as error:
        raise _damaged(path, error) from error
    if number != FORMAT or str(kind) not in KINDS:
        raise StorageError(
            f"{path} is from another release of tfcopy (format {number!r}, "
            f"kind {kind!r}; this one reads format {FORMAT} of "
            f"{', '.join(KINDS)}). Update tfcopy."
        )
    try:
        check_fields(path, content, *_FIELDS)
    except DamagedFileError as error:
        raise StorageError(str(error)) from error
    return content


@contextlib.contextmanager
def _damage_is_told(path):
    try:
        yield
    except (CheckpointError, settings.SettingError):
        raise
    except StoredFileError as error:
        raise StorageError(str(error)) from error
    except (
        *(AttributeError, ImportError, LookupError),
        *(RuntimeError, TypeError, ValueError),
    ) as error:
        raise _damaged(path, error) from error


def _damaged(path, error):
    reason = str(error).strip().split("\n")[0] or type(error).__name__
    return StorageError(f"{path} is damaged ({reason}).")


@contextlib.contextmanager
def _precision(policy):
    """Models make further layers as they are made again."""
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy(policy)
    try:
        yield
    finally:
        keras.config.set_dtype_policy(before)


def _identity(arguments, values):
    """What identifies the words that a checkpoint was trained with.

    Earlier releases stored no identity.

    Definitions count where they are text, unless others were asked for.
    """
    tables = {
        f"vocabulary of the {side}": arguments.get(f"{side}_vocabulary")
        for side in ("source", "target")
    }
    if "features" in arguments:
        tables["vocabulary"] = arguments["features"].vocabulary
        if arguments["definition_tokenizer"] and "definitions" not in values:
            tables["definitions"] = arguments["definitions"]
    return {
        name: table.fingerprint
        for name, table in tables.items()
        if table is not None
    }


def _load_weights(model, folder, checkpoint, identity):
    """Gives a model the weights that it has been trained to."""
    checkpoints = Checkpoints(os.path.join(os.fspath(folder), "checkpoints"))
    info = checkpoints.newest_info() or {}
    there = info.get("identity", {})
    for name in identity.keys() & there.keys():
        if identity[name] != there[name]:
            raise CheckpointError(
                f"{checkpoints.folder}: the checkpoint is from another run: "
                f"{name} is {there[name]!r} there and {identity[name]!r} here."
            )
    checkpoints.load_weights(model, newest=checkpoint == "last")
