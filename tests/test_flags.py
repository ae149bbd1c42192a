"""Flags of commands: the fields of dataclasses."""

import dataclasses
import re
from typing import Literal

import pytest
import yaml

from tfcopy.flags import File, Parser, PositiveInt, flag, make_matching


@dataclasses.dataclass(kw_only=True)
class Base:
    """Flags that all have.

    Attributes:
        size: how large it is,
            in lines of 100 %
    """

    size: PositiveInt = 32


@dataclasses.dataclass(kw_only=True)
class Options(Base):
    """Flags of a command.

    Attributes:
        folder: where it is
        output: what is written
        kind: how
        words: which words
        label: its name
        json: whether it is JSON
    """

    positional = {"folder": "FOLDER"}

    folder: str = "models"
    output: File
    kind: Literal["a", "b"] = "a"
    words: list[str] | None = None
    label: str | None = None
    setting: list[make_matching("NAME=V", r"\w+=\d")] = flag(
        [], "another value", action="extend"
    )
    json: bool = False

    def __post_init__(self):
        if self.label == self.output:
            raise ValueError("--label is --output")


@dataclasses.dataclass(kw_only=True)
class FileOptions(Base):
    """Flags that may be in a file.

    Attributes:
        output: what is written
        words: which words
        label: its name
        json: whether it is JSON
    """

    output: File
    words: list[str] | None = None
    label: str | None = None
    json: bool = False


def parse(line, **options):
    return Parser(Options, "What it does.").parse(line.split(), **options)


def from_files(*arguments):
    return Parser(FileOptions, "What it does.", from_files=True).parse(
        arguments
    )


@pytest.mark.parametrize(
    ("line", "changes"),
    [
        ("", {}),
        ("f", {"folder": "f"}),
        ("--si 3 --json f", {"size": 3, "json": True, "folder": "f"}),
        ("f --words a [b c", {"folder": "f", "words": ["a", "[b", "c"]}),
        ("--words a --words b", {"words": ["b"]}),
        ("--label null", {"label": "null"}),
        ("--setting a=1 b=2 --set c=3", {"setting": ["a=1", "b=2", "c=3"]}),
    ],
)
def test_a_command_line_is_an_object(line, changes):
    assert parse(f"{line} --output o") == Options(output="o", **changes)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("f", "the following arguments are required: --output."),
        ("--output o --size 0", "--size must be a positive integer. Rec.*: 0."),
        ("--output o --size 1_0", "--size must be a positive integer. "),
        ("--output o --size \uff11", "--size must be a positive integer. "),
        ("--output o --kind c", "--kind must be a or b. Received: c."),
        ("--output o --setting a", "--setting must be NAME=V. Received: a."),
        ("--output o --label o", "--label is --output."),
        ("--output o f g", "unrecognized arguments: g."),
        ("--output o --s 3", "ambiguous option: --s could match"),
    ],
)
def test_what_is_wrong_is_one_line(line, message, capsys):
    with pytest.raises(SystemExit, match="2"):
        parse(line)
    first, second = capsys.readouterr().err.splitlines()
    assert re.match(f"test_flags: {message}", first), first
    assert second == "See python -m tests.test_flags --help."


def test_help_tells_types_texts_and_defaults(capsys):
    with pytest.raises(SystemExit, match="0"):
        parse("--help")
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.startswith("usage: python -m tests.test_flags [-h]")
    for text in (
        "[FOLDER] What it does.",
        "--size N how large it is, in lines of 100 % (default: 32)",
        "--output FILE what is written --kind {a,b} how (default: a)",
        "--setting NAME=V [NAME=V ...] another value --json whether",
    ):
        assert text in printed


def test_a_file_has_flags_that_must_be_given(tmp_path):
    path = tmp_path / "flags.yaml"
    path.write_text("output: 1\nwords: [a, 2]\njson: yes\nlabel:\n")
    made = FileOptions(output="1", words=["a", "2"], json=True)
    assert from_files("--config", str(path)) == made
    assert from_files("--config", "{output: 1}") == FileOptions(output="1")
    more = from_files("--config", str(path), "--words", "b", "--json", "no")
    assert more == dataclasses.replace(made, words=["b"], json=False)


def test_flags_are_printed_as_a_file(capsys):
    with pytest.raises(SystemExit, match="0"):
        from_files("--output=o", "--print_config", "--size=3")
    assert yaml.safe_load(capsys.readouterr().out) == {
        **{"size": 3, "output": "o", "words": None, "label": None},
        "json": False,
    }
