"""A recipe's command line, made from its `Config`."""

import argparse
import contextlib
import dataclasses
import math
import os
import re
import signal
import sys
import typing

import jsonargparse

from tfcopy import terminal
from tfcopy.experiments.config import (
    COMMON,
    TOPICS,
    corpus_flag,
    default_of,
)
from tfcopy.head_names import HEADS, POINTING_HEADS
from tfcopy.terminal import (
    hide_notes,
    one_line,
    open_missing_streams,
    quiet,
    tolerant_output,
)

_REPEAT = "Interrupted. Repeat the command to resume."


@contextlib.contextmanager
def late_imports(module_name, config_class, presets, description):
    """Answers `--help` and wrong flags before what is imported inside.

    A recipe needs TensorFlow to run, but not to refuse a flag, and it takes
    seconds to import. What libraries say as they start is hidden.

    Args:
        module_name: `__name__` of the recipe; if it is not the program that
            was started, there is no command line to look at.
        config_class, presets, description: The arguments of `main`.
    """
    config_class.presets = presets
    if module_name == "__main__":
        open_missing_streams()
        parse(config_class, presets, description)
        hide_notes()
    with quiet():
        yield


def main(config_class, presets, run, description, arguments=None):
    """Parses the flags, runs the recipe, and turns errors into messages.

    Output that cannot be written, as to a closed pipe, is dropped.

    Args:
        config_class: The recipe's config; each field becomes a flag, as
            `config.flag` tells.
        presets: Name to the fields that differ from the defaults. Those of
            `demo`, if there are any, are for its own corpus alone.
        run: Function of the config. If it raises an exception with an
            `exit_code`, such as `TrainingInterrupted`, that is the exit status.
        description: First lines of `--help`.
        arguments: The command line; by default the process's own.

    Returns:
        The process's exit status.
    """
    with tolerant_output(), _terminable():
        try:
            run(parse(config_class, presets, description, arguments))
        except KeyboardInterrupt as error:
            print(f"\n{_REPEAT}", file=sys.stderr)
            return getattr(error, "exit_code", 130)
        except Exception as error:
            if hasattr(error, "exit_code"):
                print(f"\n{error}", file=sys.stderr)
                return error.exit_code
            if os.environ.get("TFCOPY_DEBUG"):
                raise
            print(f"\nError: {one_line(error)}", file=sys.stderr)
            print("(TFCOPY_DEBUG=1 shows the traceback.)", file=sys.stderr)
            return 1
    return 0


def parse(config_class, presets, description, arguments=None):
    """The config that a command line asks for.

    Flags win over `--config`, and both over the preset. A wrong flag ends the
    process with a message and the status 2. `--help` shows the flags of
    `config.COMMON`, `--help_all` all.
    """
    given = sys.argv[1:] if arguments is None else arguments
    names = {field.name for field in dataclasses.fields(config_class)}
    shown = names if "--help_all" in given else names & COMMON
    parser = jsonargparse.ArgumentParser(
        prog=_program(),
        usage="%(prog)s [flags]",
        description=description,
        epilog=(
            f"--help_all shows all {len(names)} flags."
            if shown < names
            else None
        ),
        formatter_class=_HelpFormatter,
        allow_abbrev=False,
        exit_on_error=False,
    )
    arguments = terminal.as_lists(config_class, given)
    parser.add_argument(
        "--config",
        action=jsonargparse.ActionConfigFile,
        help="YAML file of flags; flags that follow it override it.",
    )
    parser.add_argument(
        "--help_all", action="help", help="Show all flags and exit."
    )
    _add_flags(parser, config_class, list({"demo": {}} | presets), shown)
    try:
        for argument in given:
            argument.encode()
        namespace = parser.parse_args(arguments)
        config = _config(config_class, namespace)
        preset = presets.get(namespace.preset)
        if preset and not (namespace.preset == "demo" and corpus_flag(config)):
            # Its warm-up is for its own number of updates.
            is_short = preset.get("warmup") and config.updates < 200
            parser.set_defaults(preset | ({"warmup": 0} if is_short else {}))
            config = _config(config_class, parser.parse_args(arguments))
    except (
        argparse.ArgumentError,
        jsonargparse.ArgumentError,
        OverflowError,
        UnicodeDecodeError,  # of what --config names
        UnicodeEncodeError,
    ) as error:
        message = one_line(_explain(config_class, error))
        print(f"Error: {message}", file=sys.stderr)
        print(f"See {parser.prog} --help.", file=sys.stderr)
        raise SystemExit(2) from None
    return config


def _config(config_class, namespace):
    return config_class(
        **{
            field.name: _plain(field.name, getattr(namespace, field.name))
            for field in dataclasses.fields(config_class)
        }
    )


def _add_flags(parser, config_class, presets, shown):
    """Adds the fields of a config to a parser, by topic.

    Only the `shown` ones are in its help.
    """
    fields = dataclasses.fields(config_class)
    kinds = typing.get_type_hints(config_class)
    for topic in TOPICS:
        group = parser.add_argument_group(topic)
        for field in fields:
            if field.metadata["topic"] != topic:
                continue
            kind = kinds[field.name]
            options = {"type": kind, "metavar": _metavar(kind)}
            if field.name == "preset":
                options = {"choices": presets}
            text = field.metadata["help"].replace("%", "%%")
            group.add_argument(
                f"--{field.name}",
                default=default_of(field),
                help=text if field.name in shown else argparse.SUPPRESS,
                **options,
            )


def _metavar(kind):
    """What stands for a value in the help, whose text has the choices."""
    if kind is bool:
        return "{true,false}"
    arguments = [a for a in typing.get_args(kind) if a is not type(None)]
    if typing.get_origin(kind) is typing.Literal:
        return "NAME"
    if typing.get_origin(kind) is list:
        return f"{_metavar(arguments[0])} ..."
    if arguments:
        return _metavar(arguments[0])
    return next(
        (x for base, x in ((int, "N"), (float, "X")) if issubclass(kind, base)),
        "TEXT",
    )


def _plain(name, value):
    """A number as Python's own: Keras derives a dtype from the type's name."""
    if isinstance(value, float) and not math.isfinite(value):
        raise OverflowError(
            f"--{name} must be a finite number. Received: {value}."
        )
    for kind in (int, float):
        if isinstance(value, kind) and not isinstance(value, bool):
            return kind(value)
    return value


class _HelpFormatter(jsonargparse.DefaultHelpFormatter):
    """Keeps the line breaks of the description, and says choices once."""

    def _fill_text(self, text, width, indent):
        lines = text.strip().splitlines()
        return "\n".join(indent + line for line in lines)

    def _get_help_string(self, action):
        if action.dest == "print_config":
            return "Print the flags as such a file, and exit."
        if action.nargs == 0 or action.dest == "config":
            return action.help
        return f"{action.help} (default: %(default)s)"

    def _format_action_invocation(self, action):
        names = [x for x in action.option_strings if not x.endswith("+")]
        if action.nargs == 0:
            return ", ".join(names)
        metavar = self._format_args(action, action.dest.upper())
        return f"{', '.join(names)} {metavar}"


class _Terminated(KeyboardInterrupt):
    """A signal asks to end; `exit_code` tells which."""

    def __init__(self, number):
        super().__init__()
        self.exit_code = 128 + number


@contextlib.contextmanager
def _terminable():
    """Makes SIGTERM and SIGHUP exceptions, as SIGINT is."""

    def terminate(number, frame):
        raise _Terminated(number)

    previous = {}
    with contextlib.suppress(ValueError):  # not in the main thread
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) != signal.SIG_IGN:  # as by `nohup`
                previous[number] = signal.signal(number, terminate)
    try:
        yield
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


# What a flag of a type must be.
_EXPECTED = {
    "int": "an integer",
    "float": "a number",
    "bool": "true or false",
    "PositiveInt": "a positive integer",
    "NonNegativeInt": "a non-negative integer",
    "PositiveFloat": "a positive number",
    "NonNegativeFloat": "a non-negative number",
    "Share": "a number of at least 0 and below 1",
    "Seed": "a non-negative integer below 2^32",
    "Head": f"{', '.join(HEADS)} or MODULE:CLASS",
    "PointingHead": f"{', '.join(POINTING_HEADS)} or MODULE:CLASS",
}
_RECEIVED = (
    r"Given value: (.*)$",
    r"Got value: (.*)$",
    r"Not of type \w+: (.*) does not (?:conform|match)",
    r"Not of type \w+: .*: '(.*)'",
)


def _explain(config_class, error):
    """One line on a wrong flag: its name, what it must be, what came."""
    if isinstance(error, UnicodeEncodeError):
        return one_line(error)
    text = str(error)
    flag = re.match(r'Parser key "(\w+)":', text)
    kinds = typing.get_type_hints(config_class)
    if flag and flag[1] in kinds:
        expected = f"--{flag[1]} must be {_expected(kinds[flag[1]])}."
        found = (re.search(form, text, re.MULTILINE) for form in _RECEIVED)
        received = next((match[1] for match in found if match), None)
        return f"{expected} Received: {received}." if received else expected
    text = re.sub(
        r"Option '(.*)' is not accepted", r"--config: unknown flag \1", text
    )
    text = text.replace('Parser key "config":', "--config:")
    text = text.replace("Problems parsing config:", "--config:")
    text = re.sub("^'utf-8' codec", r"--config: \g<0>", text)
    text = text.replace("argument --", "--")
    text = re.sub(r"(--\w+)/\1\+", r"\1", text)  # jsonargparse also appends
    return " ".join(text.split()).removesuffix(".") + "."


def _expected(kind):
    arguments = [a for a in typing.get_args(kind) if a is not type(None)]
    if typing.get_origin(kind) is typing.Literal:
        return " or ".join(map(str, arguments))
    if typing.get_origin(kind) is list:
        return f"a list, such as a b, of {_expected(arguments[0])}"
    if arguments:
        return _expected(arguments[0])
    return _EXPECTED.get(kind.__name__, "text")


def _program():
    main_module = sys.modules.get("__main__")
    spec = getattr(main_module, "__spec__", None)
    return f"python -m {spec.name}" if spec else None
