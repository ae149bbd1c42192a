"""Checks of flags; an error names the flag that makes no sense."""

import contextlib
import dataclasses
import errno
import os
import typing

import keras

from tfcopy import filesystem, tokens
from tfcopy.experiments.config import ENDLESS_SCHEDULES, TrainingConfig
from tfcopy.experiments.training_choices import batch_limit
from tfcopy.models.assembly import head_class


def check_named_files(config):
    """Raises an OSError if a flag names what is not there."""
    for field in dataclasses.fields(config):
        given = getattr(config, field.name)
        if given is None or not field.metadata.get("is_file"):
            continue
        for path in given if isinstance(given, list) else [given]:
            number = None
            if (field.name, path) == ("shortlist", "dictionary"):
                continue  # No file, but one that is learned.
            if not filesystem.exists(path):
                number = errno.ENOENT
            elif not filesystem.is_url(path) and not os.access(path, os.R_OK):
                number = errno.EACCES
            if number:
                raise OSError(
                    f"--{field.name}: cannot read {path} "
                    f"({os.strerror(number)})."
                )


def check_head(config):
    """Raises a ValueError if `--head` names no class of a head."""
    if any(field.name == "head" for field in dataclasses.fields(config)):
        try:
            head_class(config.head)
        except ValueError as error:
            raise ValueError(f"--head {error}") from error


def check_systems(config):
    """Raises a ValueError if `--systems` names none of the recipe's."""
    if not config.systems:
        kind = typing.get_type_hints(type(config))["systems"]
        names = typing.get_args(*typing.get_args(kind))
        raise ValueError(
            f"--systems must name some of {', '.join(names)}. "
            f"Received: {config.systems}."
        )


def check_vocabulary_sizes(config, *flags):
    """Raises a ValueError if a flag's number of words leaves no word."""
    least = len(tokens.SPECIAL_TOKENS)
    for flag in flags:
        size = getattr(config, flag)
        if size is not None and size <= least:
            raise ValueError(
                f"--{flag} must be above {least}, the number of special words. "
                f"Received: {size}."
            )


def check_activation(name, flag):
    """Raises a ValueError if a flag's value names no activation."""
    if name == "noisy_tanh":
        return
    try:
        keras.activations.get(name)
    except ValueError:
        raise ValueError(
            f"--{flag} must be noisy_tanh or the name of a Keras activation. "
            f"Received: {name}."
        ) from None


def check_schedule(config: TrainingConfig):
    """Raises a ValueError if the learning rate never gets where it should."""
    schedule, warmup = config.schedule, config.warmup
    if config.updates is None and schedule not in ENDLESS_SCHEDULES:
        raise ValueError(f"--schedule {schedule} needs --updates.")
    if schedule == "inverse_sqrt" and not warmup:
        raise ValueError(
            "--schedule inverse_sqrt needs --warmup, the updates after which "
            "the learning rate falls. Received: 0."
        )
    if config.updates is not None and warmup >= config.updates:
        raise ValueError(
            f"--warmup must be below --updates, {config.updates}. "
            f"Received: {warmup}."
        )


def check_batch_size(config: TrainingConfig, lengths, *, multiple=1):
    """Raises a ValueError if `--batch_tokens` holds no training example.

    Args:
        config: The flags.
        lengths: Arrays of the lengths of texts, a number for each example.
        multiple: What lengths are padded to a multiple of.
    """
    if config.batch_tokens is not None:
        with naming_batch_tokens():
            batch_limit(config, multiple=multiple).check(lengths)


@contextlib.contextmanager
def naming_batch_tokens():
    """Names the flag in what a `TokenLimit` has to say."""
    try:
        yield
    except ValueError as error:
        raise naming_flags(error, {"tokens": "batch_tokens"}) from error


def check_devices(config: TrainingConfig, count):
    """Raises a ValueError if devices cannot share a batch evenly."""
    if config.batch_tokens is None and config.batch_size % count:
        raise ValueError(
            f"--batch_size must be a multiple of {count}, the number of "
            f"devices. Received: {config.batch_size}."
        )


def check_files(config):
    """Raises a ValueError if flags of files do not go together."""
    check_one_corpus(config, "train", "prepared")
    for flag in ("validation", "test"):
        if getattr(config, flag) is not None and config.train is None:
            raise ValueError(f"--{flag} needs --train as well.")


def check_one_corpus(config, *flags):
    """Raises a ValueError if several flags name a corpus.

    Args:
        config: The flags.
        *flags: The names of the flags that can.
    """
    given = [x for x in flags if getattr(config, x) is not None]
    # TFDS may be told where it keeps its datasets.
    if len(given) > 1 and given != ["tfds", "data_dir"]:
        *first, last = (f"--{flag}" for flag in flags)
        raise ValueError(
            f"Only one of {', '.join(first)} and {last} can name the corpus. "
            f"Received: --{', --'.join(given)}."
        )


def file_pair(files, flag):
    """Two file names as a tuple; `None` if the flag was not given."""
    if files is None:
        return None
    if len(files) != 2:
        raise ValueError(
            f"{flag} takes two files, source and target: "
            f"{flag} '[a.en, a.fr]'. Received: {files}."
        )
    return tuple(files)


def file_pairs(config):
    """The file names of `--train`, `--validation` and `--test`."""
    return [
        file_pair(getattr(config, split), f"--{split}")
        for split in ("train", "validation", "test")
    ]


def load_file(kind, path, flag, *arguments):
    """A vocabulary, a dictionary and so on, from the file that a flag names.

    Args:
        kind: A class or module with `load`.
        path: The file; `None` gives `None`.
        flag: Named in the message of an OSError or ValueError.
        arguments: More arguments of `load`.
    """
    if path is None:
        return None
    try:
        return kind.load(path, *arguments)
    except OSError as error:
        raise OSError(
            f"{flag}: cannot read {path} ({error.strerror or error})."
        ) from error
    except ValueError as error:
        raise ValueError(f"{flag}: {error}") from error


def naming_flags(error, names):
    """A ValueError whose message names flags instead of arguments.

    Args:
        error: One with a message that names arguments, in backquotes.
        names: Dict from arguments to flags, or the names that both have.
    """
    message = str(error)
    pairs = names.items() if isinstance(names, dict) else zip(names, names)
    for argument, flag in pairs:
        message = message.replace(f"`{argument}`", f"--{flag}")
    return ValueError(message)
