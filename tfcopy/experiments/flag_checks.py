"""Checks of flags; an error names the flag that makes no sense."""

import contextlib
import dataclasses
import functools
import re
import typing

from tfcopy import atomic_files, filesystem
from tfcopy.experiments.config import (
    ENDLESS_SCHEDULES,
    corpus_flags,
    find_given_corpora,
)
from tfcopy.flags import name_flag


def check_named_files(config):
    """Raises an OSError if a flag names a file that cannot be read.

    A flag that names the corpus may be a pattern, or a new folder if that is
    downloaded.
    """
    kinds = ["file", "folder"]
    kinds += ["place"] * (not getattr(config, "download", False))
    for field in dataclasses.fields(config):
        given = getattr(config, field.name)
        is_corpus = field.metadata.get("corpus") in kinds
        if given in (None, False) or not (
            is_corpus or field.metadata.get("is_file")
        ):
            continue
        for path in given if isinstance(given, list) else [given]:
            is_learned = (field.name, path) == ("shortlist", "dictionary")
            if not (is_learned or is_corpus and filesystem.glob(path)):
                atomic_files.check_readable(f"--{field.name}", path)


def check_head(name):
    """Raises a ValueError if `--head` names no class of a head."""
    # Late: it imports Keras, for which wrong paths need not wait.
    from tfcopy.models.assembly import head_class

    try:
        head_class(name)
    except ValueError as error:
        raise ValueError(f"--head {error}") from error


def check_systems(systems, kind):
    """Raises a ValueError if `--systems` names none of the recipe's.

    Args:
        systems: The value of the flag.
        kind: The recipe's `Config`.
    """
    if not systems:
        names = typing.get_args(
            *typing.get_args(typing.get_type_hints(kind)["systems"])
        )
        raise ValueError(
            f"--systems must name some of {', '.join(names)}. "
            f"Received: {systems}."
        )


def check_schedule(schedule, warmup, updates):
    """Raises a ValueError if the learning rate never gets where it should.

    Args:
        schedule, warmup, updates: The values of these flags.
    """
    if updates is None and schedule not in ENDLESS_SCHEDULES:
        raise ValueError(f"--schedule {schedule} needs --updates.")
    if schedule == "inverse_sqrt" and not warmup:
        raise ValueError(
            "--schedule inverse_sqrt needs --warmup, the updates after which "
            "the learning rate falls. Received: 0."
        )
    if updates is not None and warmup >= updates:
        raise ValueError(
            f"--warmup must be below --updates, {updates}. Received: {warmup}."
        )


def check_corpus(config):
    """Raises a ValueError if flags of the corpus do not go together."""
    given = find_given_corpora(config)
    kinds = [x.metadata["corpus"] for x in given]
    # The folder of a dataset may be given beside it.
    beside = "place" if kinds[:1] in (["dataset"], ["place"]) else None
    if any(x != beside for x in kinds[1:]):
        *first, last = (f"--{x.name}" for x in corpus_flags(type(config)))
        raise ValueError(
            f"Only one of {', '.join(first)} and {last} can name the corpus. "
            f"Received: --{', --'.join(x.name for x in given)}."
        )
    check_needed(config, "train", ("validation", "test"))


def check_needed(config, corpus, names):
    """Raises a ValueError if one of some flags is given without a corpus.

    Args:
        config: The recipe's config.
        corpus: Name of the flag of the corpus.
        names: Names of the flags that need it.
    """
    for name in names:
        is_given = getattr(config, name) not in (None, [], False)
        if is_given and getattr(config, corpus) is None:
            raise ValueError(f"--{name} needs --{corpus} as well.")


def load_file(kind, path, flag, *arguments):
    """Loads a vocabulary, a dictionary or the like from a flag's file.

    Args:
        kind: A class or module with `load`.
        path: The file; if `None`, `None` is returned.
        flag: Named in the message of an OSError or ValueError.
        arguments: More arguments of `load`.
    """
    if path is None:
        return None
    with name_flag(flag, path):
        return kind.load(path, *arguments)


@contextlib.contextmanager
def name_flags(**names):
    """Names flags instead of arguments in the message of a ValueError.

    Args:
        **names: Flags by the arguments that have other names.
    """

    def flag(argument):
        return f"--{names.get(argument[1], argument[1])}"

    try:
        yield
    except ValueError as error:
        message = re.sub(r"`(\w+)`", flag, str(error))
        raise ValueError(message) from error


# Around what a `TokenLimit` refuses.
naming_batch_tokens = functools.partial(name_flags, tokens="batch_tokens")
