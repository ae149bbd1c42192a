"""The flags of a command: a dataclass, each field of which is one of them.

    @dataclasses.dataclass(kw_only=True)
    class Options:
        positional = {"folder": "FOLDER"}

        folder: str = "models"
        output: File
        size: PositiveInt = 32

A flag has the field's type and default; without one it must be given. Its help
is the attribute's entry in the docstring, or an argument of `flag`.
`__post_init__` checks flags against each other, and raises a ValueError. This
file imports nothing heavy, so that `--help` and wrong flags are answered at
once.
"""

import argparse
import collections
import contextlib
import dataclasses
import functools
import inspect
import json
import math
import pathlib
import re
import reprlib
import sys
import typing
from collections.abc import Callable
from dataclasses import MISSING
from typing import Annotated, Literal, NamedTuple

from tfcopy import terminal

_EXPECTED = {int: "an integer", float: "a number", bool: "true or false"}
_ATTRIBUTE = r"^    (\w+): (.*(?:\n     .*)*)"
# Python's numbers may have them, but no others: 1_0, full-width digits, blanks.
_NO_NUMBER = re.compile(r"[^!-~]|_")
_NO_TEXT = re.compile("[\0\ud800-\udfff]")
_NULLS = (None, "null", "Null", "NULL", "~")
_SWITCHES = dict.fromkeys(("true", "yes", "on"), True)
_SWITCHES |= dict.fromkeys(("false", "no", "off"), False)


class Check(NamedTuple):
    """Constraint on a value besides its type: `Annotated[int, Check(...)]`.

    Attributes:
        expected: What messages call it.
        holds: Function of a value of the type.
        metavar: What stands for it in the help.
    """

    expected: str
    holds: Callable = lambda value: True
    metavar: str | None = None


def make_matching(expected, pattern):
    """Returns a type of string flag, checked against a pattern."""
    check = Check(expected, re.compile(pattern).fullmatch, expected)
    return Annotated[str, check]


File = Annotated[str, Check("a file", metavar="FILE")]
Folder = Annotated[str, Check("a folder", metavar="FOLDER")]
PositiveInt = Annotated[int, Check("a positive integer", lambda x: x > 0)]
NonNegativeInt = Annotated[
    int, Check("a non-negative integer", lambda x: x >= 0)
]
PositiveFloat = Annotated[float, Check("a positive number", lambda x: x > 0)]
NonNegativeFloat = Annotated[
    float, Check("a non-negative number", lambda x: x >= 0)
]


def flag(default, help=None, **more):
    """Declares a flag that needs more than a type and a default.

    Args:
        default: Its default; each object gets its own copy of a list.
        help: Its description in `--help`, if the docstring has none.
        more: `action` of argparse, and other metadata.
    """
    options = {"metadata": more | ({"help": help} if help else {})}
    if isinstance(default, list):
        return dataclasses.field(default_factory=default.copy, **options)
    return dataclasses.field(default=default, **options)


def default_of(field: dataclasses.Field):
    """Returns the default of a flag, or `MISSING` if it is required."""
    if field.default_factory is not MISSING:
        return field.default_factory()
    return field.default


class Parser(argparse.ArgumentParser):
    """Reads the flags of a command.

    A wrong flag ends the process with a message and the status 2.

    Args:
        config_class: Dataclass whose fields are the flags. If it has
            `positional`, a dict, the fields that this names have no flag; what
            stands for them in the help are the values. Its `command` is the
            name of the command, if that is not its module's.
        description, epilog: First and last lines of `--help`.
        from_files: Whether `--config` reads flags from a file of YAML, and
            `--print_config` prints them as one. Then `null` is no value, a
            switch may be given true or false, a list may be in brackets, no
            flag is abbreviated, and the help of a flag names its choices.
        topics: Headings of `--help`, in its order: each field's `topic`.
        shown: Names of the flags that `--help` shows; all by default.
        choices: Tuples of the values that flags may have, by name, where their
            types do not list them; the help does.
    """

    def __init__(
        self,
        config_class,
        description,
        epilog=None,
        *,
        from_files=False,
        topics=(None,),
        shown=None,
        choices={},
    ):
        self.config_class, self.from_files = config_class, from_files
        self.choices, self.shown = choices, shown
        self.kinds = typing.get_type_hints(config_class, include_extras=True)
        self.kinds |= {name: Literal[x] for name, x in choices.items()}
        self.helps = _read_descriptions(config_class)
        self.positional = getattr(config_class, "positional", {})
        super().__init__(
            _program(config_class),
            description=(description or "").strip(),  # no text by `-OO`
            epilog=epilog,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=not from_files,
        )
        if from_files:
            self._add_files()
        for topic in topics:
            group = self.add_argument_group(topic) if topic else self
            for field in dataclasses.fields(config_class):
                name = field.name
                if field.metadata.get("topic") != topic:
                    continue
                options = self._options(field)
                if shown is not None and name not in shown:
                    options["help"] = argparse.SUPPRESS
                if name in self.positional:
                    group.add_argument(name, **options)
                else:
                    options["required"] = default_of(field) is MISSING
                    group.add_argument(f"--{name}", **options)
        if from_files:
            must = [x for x in self._actions if x.required]
            must = [f"{x.option_strings[0]} {x.metavar}" for x in must]
            self.usage = " ".join(["%(prog)s", *must, "[flags]"])

    def parse(self, arguments=None, *, intermixed=False):
        """Returns the object that a command line describes.

        Args:
            arguments: The command line; by default the process's own.
            intermixed: Whether flags may stand between arguments without.
        """
        arguments = sys.argv[1:] if arguments is None else arguments
        if self.from_files:
            arguments = self._join_lists(arguments)
        parse = self.parse_intermixed_args if intermixed else self.parse_args
        values = vars(parse(arguments))
        if self.from_files:
            del values["config"]
            if values.pop("print_config"):
                self._print(values)
        try:
            return self.config_class(**values)
        except (ValueError, ImportError) as error:
            self.error(terminal.one_line(error))

    @property
    def program(self) -> str:
        """Returns the last word of the command, which begins its messages."""
        return re.split(r"[ .]", self.prog)[-1]

    def print_help(self, file=None):
        """Ends the process; with 1 if the help cannot be written."""
        self._print_and_exit(self.format_help())

    def error(self, message):
        """Ends the process with a line that describes the error."""
        message = terminal.one_line(message.removeprefix("argument "))
        terminal.report(self.program, f"{message.removesuffix('.')}.")
        print(f"See {self.prog} --help.", file=sys.stderr)
        raise SystemExit(2)

    def read(self, name, kind, given):
        """Converts a value from the command line or from a file.

        Raises:
            argparse.ArgumentError: If it is not what the flag must be.
        """
        try:
            value = parse(kind, given)
        except ValueError as error:
            raise argparse.ArgumentError(None, f"--{name} {error}") from None
        for text in value if isinstance(value, list) else [value]:
            # Files that are only read may have names that are not UTF-8.
            if self.from_files and _NO_TEXT.search(str(text)):
                raise argparse.ArgumentError(
                    None,
                    f"--{name} must be UTF-8 text without NUL. "
                    f"Received: {text!r}",
                )
        return value

    def _options(self, field):
        """Returns the arguments of `add_argument` for a field."""
        kind, default = self.kinds[field.name], default_of(field)
        text = field.metadata.get("help") or self.helps.get(field.name, "")
        options = {"help": text.replace("%", "%%")}
        if kind is bool and not self.from_files:
            return options | {"action": "store_true"}
        if default is MISSING:
            default = None
        elif self.from_files or default not in (None, []):
            shown = json.dumps(default).strip('"')
            options["help"] += f" (default: {shown})"
        if kind is bool:
            options |= {"nargs": "?", "const": True}
        elif not self.from_files:
            kind = _remove_none(kind)
            if typing.get_origin(kind) is list:
                # A list that is not empty by default can be made so.
                options["nargs"] = "*" if default else "+"
                kind = _inner(kind)
            elif field.name in self.positional and default is not None:
                options["nargs"] = "?"
        listed = not self.from_files or field.name in self.choices
        metavar = self.positional.get(field.name) or _metavar(kind, listed)
        return options | {
            "action": field.metadata.get("action", "store"),
            "default": default,
            "metavar": metavar,
            "type": functools.partial(self.read, field.name, kind),
        }

    def _add_files(self):
        self.add_argument(
            "--config",
            action=_File,
            metavar="FILE",
            help="YAML file of flags; flags that follow it override it.",
        )
        self.add_argument(
            "--print_config",
            action="store_true",
            help="Print the flags as such a file, and exit.",
        )

    def _join_lists(self, arguments):
        """Joins each list to one argument: `--train=["a.en", "a.fr"]`.

        What is in brackets already stays as it is.
        """
        lists = [f"--{x}" for x, kind in self.kinds.items() if _is_list(kind)]
        joined, rest = [], list(arguments)
        while rest:
            flag, equals, value = rest.pop(0).partition("=")
            if flag not in lists:
                joined.append(flag + equals + value)
                continue
            values = [value] if equals else []
            while rest and not rest[0].startswith("--"):
                values.append(rest.pop(0))
            if len(values) == 1 and (
                values == ["null"] or values[0].startswith("[")
            ):
                joined.append(f"{flag}={values[0]}")
            else:
                joined += [f"{flag}={json.dumps(values)}"] if values else [flag]
        return joined

    def _print(self, values):
        """Prints flags as `--config` reads them, and ends the process.

        Flags that the help does not show are printed only if they are given.
        """
        import yaml

        values = {
            flag: value
            for flag, value in values.items()
            if self.shown is None
            or flag in self.shown
            or value != self.get_default(flag)
        }
        text = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
        self._print_and_exit(text)

    def _print_and_exit(self, text):
        raise SystemExit(
            terminal.run(self.program, lambda: print(text, end=""))
        )


class _File(argparse.Action):
    """Takes flags from a file of YAML, or from YAML itself."""

    def __call__(self, parser, namespace, path, option_string=None):
        is_file = not path.startswith("{")
        try:
            text = pathlib.Path(path).read_text("utf-8") if is_file else path
            flags = _flags(text)
            for name, value in flags.items():
                if name not in parser.kinds:
                    raise ValueError(f"unknown flag {name}")
                given = None if value == "" else value
                value = parser.read(name, parser.kinds[name], given)
                setattr(namespace, name, value)
        except (OSError, ValueError, argparse.ArgumentError) as error:
            place = f"{path}: " * (is_file and not isinstance(error, OSError))
            message = f"{place}{terminal.one_line(error)}"
            raise argparse.ArgumentError(self, message) from None
        for action in parser._actions:
            action.required = action.required and action.dest not in flags


def _read_descriptions(config_class):
    """Returns the help of each flag that a docstring describes."""
    descriptions = {}
    for base in reversed(config_class.__mro__):
        text = inspect.cleandoc(base.__doc__ or "")
        listed = text.partition("\nAttributes:\n")[2]
        for name, help in re.findall(_ATTRIBUTE, listed, re.MULTILINE):
            descriptions[name] = " ".join(help.split())
    return descriptions


def _program(config_class):
    """Returns the command that reads the flags: `tfcopy ask`."""
    module = config_class.__module__
    if module == "__main__":
        spec = getattr(sys.modules[module], "__spec__", None)
        if spec is None:
            return None
        module = spec.name
    package, _, name = module.rpartition(".")
    if not package.startswith("tfcopy"):
        return f"python -m {module}"
    name = getattr(config_class, "command", name)
    return f"tfcopy {'recipe ' * package.endswith('.recipes')}{name}"


@contextlib.contextmanager
def name_flag(flag, path, kind=None):
    """Names a flag in the error of a file that cannot be read.

    Args:
        flag: The flag, such as `--memory`.
        path: Its file.
        kind: Class of the error; by default OSError or ValueError.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        message = f"{flag}: cannot read {path} ({reason})."
        raise (kind or OSError)(message) from error
    except ValueError as error:
        raise (kind or ValueError)(f"{flag}: {error}") from error


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
        raise ValueError(re.sub(r"`(\w+)`", flag, str(error))) from error


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


# === Types ===


def parse(kind, given):
    """Parses a value of a flag's type.

    Args:
        kind: The type, such as `PositiveInt`.
        given: A text, or what a file of YAML holds.

    Raises:
        ValueError: naming the expected form, if it is another value.
    """
    try:
        return _value(kind, given)
    except OverflowError as error:
        expected = str(error)
    except (ValueError, TypeError, LookupError):
        expected = _describe_form(kind)
    if not isinstance(given, str):  # It may be as large as it likes.
        given = reprlib.repr(given)
    raise ValueError(f"must be {expected}. Received: {given}")


def _inner(kind):
    return typing.get_args(kind)[0]


def _remove_none(kind):
    return _inner(kind) if type(None) in typing.get_args(kind) else kind


def _is_list(kind):
    return typing.get_origin(_remove_none(kind)) is list


def _value(kind, given):
    """Converts a value; raises a ValueError, TypeError or LookupError."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        value = _value(arguments[0], given)
        if not arguments[1].holds(value):
            raise ValueError
        return value
    if type(None) in arguments:
        return None if given in _NULLS else _value(arguments[0], given)
    if origin is list:
        return [_value(arguments[0], x) for x in _items(given)]
    if given is None or isinstance(given, (list, dict)):
        raise TypeError
    if origin is Literal:
        return {str(choice): choice for choice in arguments}[given]
    if kind is bool:
        return _SWITCHES[given.lower()]
    if kind is not str and _NO_NUMBER.search(str(given)):
        raise ValueError
    value = kind(str(given))
    if kind is float and not math.isfinite(value):
        raise OverflowError("a finite number")
    if kind is int and abs(value) >> 63:
        raise OverflowError("an integer below 2**63")
    return value


def _items(given):
    """Returns a list, given as one or as text in brackets."""
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            given = _yaml(given)
    if not isinstance(given, list):
        raise TypeError
    return given


def _yaml(text):
    """Parses YAML whose scalars stay text, as on a command line."""
    import yaml

    try:
        return yaml.load(text, yaml.BaseLoader)
    except yaml.YAMLError as error:
        raise ValueError(terminal.one_line(error)) from None
    except RecursionError:
        raise ValueError("brackets are nested too deep") from None


def _flags(text):
    """Flags of YAML and their values."""
    import yaml

    flags = _yaml(text)
    if not isinstance(flags, dict):
        raise ValueError("expected flags and their values, such as seed: 1")
    names = [key.value for key, _ in yaml.compose(text, yaml.BaseLoader).value]
    if len(names) > len(flags):
        ((name, _),) = collections.Counter(names).most_common(1)
        raise ValueError(f"the flag {name} is given more than once")
    return flags


def _describe_form(kind):
    """Returns the expected form of a flag, for messages."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated:
        return arguments[1].expected
    if origin is Literal:
        return " or ".join(map(str, arguments))
    if origin is list:
        return f"a list, such as a b, of {_describe_form(arguments[0])}"
    if arguments:
        return _describe_form(arguments[0])
    return _EXPECTED.get(kind, "text")


def _metavar(kind, choices):
    """Returns the placeholder of a value in the help; may be its choices."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is Annotated and arguments[1].metavar:
        return arguments[1].metavar
    if origin is Literal:
        return f"{{{','.join(map(str, arguments))}}}" if choices else "NAME"
    if origin is list:
        return f"{_metavar(arguments[0], choices)} ..."
    if arguments:
        return _metavar(arguments[0], choices)
    return {int: "N", float: "X", bool: "{true,false}"}.get(kind, "TEXT")
