"""The settings of a stored servable that can be changed after its run."""

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Annotated, Literal

import numpy as np

from tfcopy import filesystem, flags
from tfcopy.data.definitions import Definitions, wordnet
from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.entities import placeholder_ids
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.decoding import SearchOptions
from tfcopy.decoding.options import MOST_TOKENS
from tfcopy.flags import NonNegativeInt, PositiveInt
from tfcopy.runtime.litert_engine import LITERT_PRECISIONS
from tfcopy.training.distribution import PRECISIONS

# Flags of recipes, and the settings that they make.
ALIASES = {
    "min_summary_length": "min_length",
    "max_summary_length": "max_length",
    "max_target_length": "max_length",
    "search_candidates": "candidates",
    "output_dictionary": "dictionary",
}
# Options of the search that follow from others.
_DERIVED = ("num_hypotheses", "source_only", "return_attention")
_DERIVED += ("static_shapes",)


_Length = Annotated[
    int,
    flags.Check(
        f"an integer from 1 to {MOST_TOKENS:,}", lambda x: 1 <= x <= MOST_TOKENS
    ),
]


class SettingError(ValueError):
    """A setting is unknown or has a wrong value; the message names it."""


def parse(content: Mapping, changes: Mapping) -> dict:
    """Parses the values of settings.

    Args:
        content: The stored form of a servable.
        changes: Dict from names, or `ALIASES`, to values or texts of them.

    Returns:
        Dict by the names of settings; a `dictionary` of definitions is named
        `definitions`.

    Raises:
        SettingError: If there is no such setting, or its value is wrong.
    """
    parsers = _parsers(content)
    values = {}
    for name, value in changes.items():
        setting = ALIASES.get(name, name)
        if setting not in parsers:
            raise SettingError(
                f"{name}: fixed in training, or not a setting. Settings of "
                f"this {content['kind']}: {', '.join(parsers)}."
            )
        if isinstance(value, str):
            value = parsers[setting](name, value)
        if isinstance(value, Definitions):
            setting = "definitions"
        if setting in values:
            raise SettingError(f"{name} is {setting}, which is given, too.")
        values[setting] = value
    return values


def change_model(config: dict, values: Mapping):
    """Sets the options of layers in the config of a model."""
    if "decode_initial_attention" in values:
        value = values["decode_initial_attention"]
        _cell_options(config)["decode_initial_attention"] = value
    if "precision" in values:
        _set_precision(config, values["precision"])


def _set_precision(config, precision):
    """Sets the dtype policy of all layers but embeddings, as in training.

    See `assembly.make_embedding`.
    """
    if isinstance(config, list):
        for part in config:
            _set_precision(part, precision)
    elif isinstance(config, dict) and config.get("class_name") != "Embedding":
        if config.get("class_name") == "DTypePolicy":
            config["config"]["name"] = precision
            config.pop("shared_object_id", None)
        for part in config.values():
            _set_precision(part, precision)


def change_arguments(arguments: dict, values: Mapping) -> dict:
    """Returns the arguments of a servable with some values changed.

    Raises:
        SettingError: If options of the search do not fit each other.
    """
    arguments = dict(arguments)
    if "options" in arguments:
        fields = {x.name for x in dataclasses.fields(SearchOptions)}
        search = {k: x for k, x in values.items() if k in fields}
        if "forbid_unk" in search and arguments["entities"] is not None:
            # A placeholder without a source word would be spelt <unk>.
            words = arguments["target_vocabulary"]
            forbid = search["forbid_unk"]
            search["source_only"] = placeholder_ids(words) if forbid else ()
        try:
            options = dataclasses.replace(arguments["options"], **search)
        except ValueError as error:
            raise SettingError(str(error)) from error
        arguments["options"] = options
    if "candidates" in values:
        size = arguments["target_vocabulary"].size
        count = min(values["candidates"] or size, size)
        arguments["candidate_ids"] = np.arange(count, dtype="int32")
        if count == size:
            arguments["candidate_ids"] = None
    own = {k: x for k, x in values.items() if k in arguments}
    own.pop("definitions", None)  # They are read where they are looked up.
    arguments |= own
    protects = isinstance(arguments.get("source_tokenizer"), ProtectedTokenizer)
    for name in ("must_copy", "glossary"):
        if values.get(name) and not protects:
            raise SettingError(
                f"{name}: the model was not trained with --protect."
            )
    return arguments


def _parsers(content) -> dict[str, Callable]:
    """Returns functions from a name and a text to a value, by setting."""
    arguments = content["arguments"]
    if content["kind"] == "Translator":
        languages = [
            content.get("details", {}).get(f"{side}_language")
            for side in ("source", "target")
        ]
        glossary = functools.partial(Glossary.load, languages=languages)
        parsers = {
            x.name: _flag(NonNegativeInt if x.type is int else x.type)
            for x in dataclasses.fields(SearchOptions)
            if x.name not in _DERIVED
        } | {
            "max_source_length": _flag(_Length),
            "replace_unk": _flag(bool),
            "dictionary": _optional(_file(Dictionary.load)),
            "shortlist": _optional(_file(Dictionary.load)),
            "candidates": _optional(_flag(PositiveInt)),
            "precision": _flag(Literal[PRECISIONS]),
            "glossary": _optional(_file(glossary)),
            "litert": _optional(_flag(Literal[*LITERT_PRECISIONS, "none"])),
        }
        if "decode_initial_attention" in _cell_options(content["model"]):
            parsers["decode_initial_attention"] = _flag(bool)
        return parsers
    lengths = ("max_length", "max_answer_length", "num_words")
    parsers = {x: _flag(_Length) for x in lengths if x in arguments}
    if len(_definition_files(arguments)) == 1:
        parsers["dictionary"] = _file(_load_definitions)
    return parsers


def _cell_options(config):
    """Returns the options of the decoder cell in the config of a model."""
    return (config["config"].get("cell") or {}).get("config", {})


def _definition_files(content):
    """Returns the names of all files of definitions.

    Systems that read something else as definitions have two.
    """
    if isinstance(content, dict):
        if content.get("class") == "Definitions":
            return {content["file"]}
        content = list(content.values())
    if isinstance(content, list):
        return set().union(*map(_definition_files, content))
    return set()


def _flag(kind):
    """Returns a parser of values of a flag's type."""

    def parse(name, text):
        try:
            return flags.parse(kind, text)
        except ValueError as error:
            raise SettingError(f"{name} {error}.") from error

    return parse


def _file(load):
    """Returns a parser of the paths of files that a function loads."""

    def parse(name, path):
        with flags.name_flag(name, path, SettingError):
            return load(path)

    return parse


def _optional(parse):
    """Returns a parser that accepts `None`, too."""
    return lambda name, text: (
        None if text in ("None", "null") else parse(name, text)
    )


def _load_definitions(path):
    read = wordnet.read if filesystem.isdir(path) else Definitions.load
    return read(path)
