"""Commands and programs of the first pages, as they are printed."""

import importlib
import io
import pathlib
import re
import shlex
import sys

import pytest

from tests.recipes.test_europarl_ps import TINY
from tfcopy import __main__ as tfcopy_command
from tfcopy.experiments import command_line
from tfcopy.recipes import europarl_ps

ROOT = pathlib.Path(__file__).parents[2]
README = ROOT / "README.md"
# What README has no room for.
PAGES = (README, ROOT / "docs" / "own_data.md")
BLOCK = re.compile(r"(?:(?:^    .*)?\n)+", re.MULTILINE)
# Commands of other programs, and one that waits for a browser.
NOT_RUN = ("pip ", "tensorboard ", "docker ", "curl ", "pytest", ". ")
NOT_RUN += ("python3 -m venv", "python -m tfcopy.serving.demo")


def blocks():
    """The indented parts of the pages, without the blanks before them."""
    for page in PAGES:
        for match in BLOCK.finditer(page.read_text(encoding="utf-8")):
            text = re.sub("^    ", "", match[0], flags=re.MULTILINE).strip("\n")
            if text:
                yield text


def is_program(block):
    return block.startswith(("import ", "from "))


def commands():
    """All commands but those of `NOT_RUN`, without comments."""
    lines = "\n".join(x for x in blocks() if not is_program(x)).splitlines()
    for line in lines:
        for command in line.split(" && "):
            command = command.split("  #")[0].strip()
            if command and not command.startswith(NOT_RUN):
                yield command


def words_of(command):
    """Those of a command, without `tfcopy` or its module's package."""
    name, *rest = shlex.split(command.removeprefix("python -m tfcopy."))
    if name.startswith("recipes."):
        return ["recipe", name.removeprefix("recipes."), *rest]
    return rest if name == "tfcopy" else [name, *rest]


RECIPES = [x for x in commands() if words_of(x)[0] == "recipe"]
OTHERS = [x for x in commands() if x not in RECIPES]
# Commands whose files are not there, and what they say.
EXPECTED = {
    "tfcopy translate_po savedmodels/pydocs_ps manual": "read manual.po",
    "tfcopy translate_po savedmodels/pydocs_ps locale": "savedmodels/pydocs_ps",
    "tfcopy translate_po savedmodels/catalogs_ps locale": (
        "savedmodels/catalogs_ps"
    ),
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A folder in which the first command has been given, with tiny sizes."""
    folder = tmp_path_factory.mktemp("readme")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for the, name in (("the", "test.en"), ("le", "test.fr")):
            lines = (f"{the} name{i} is {i % 7} .\n" for i in range(60))
            pathlib.Path(name).write_text("".join(lines))
        pathlib.Path("theirs.fr").write_text("le nom .\n" * 60)
        units = (
            f'<tu><tuv xml:lang="en"><seg>the {i}</seg></tuv>'
            f'<tuv xml:lang="es"><seg>el {i}</seg></tuv></tu>'
            for i in range(60)
        )
        pathlib.Path("memory.tmx").write_text(
            f"<tmx><body>{''.join(units)}</body></tmx>"
        )
        pathlib.Path("locale").mkdir()
        arguments = [*TINY, "--train", "test.en", "test.fr", "--run=demo"]
        arguments.append("--litert=none")
        status = command_line.main(
            europarl_ps.Config, europarl_ps.run, arguments
        )
        assert status == 0
    return folder


def test_the_pages_have_what_is_tested_here():
    assert len(RECIPES) > 25 and len(OTHERS) >= 5
    assert sum(map(is_program, blocks())) >= 3


@pytest.mark.long
@pytest.mark.parametrize("command", OTHERS)
def test_commands_on_what_was_trained(trained, command, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    text, _, asked = command.rpartition(" | ")
    if text:
        (text,) = shlex.split(text)[1:]  # after `echo`
        stdin = io.TextIOWrapper(io.BytesIO(f"{text}\n".encode()))
        monkeypatch.setattr(sys, "stdin", stdin)
    name, *arguments = words_of(asked)
    module = importlib.import_module(tfcopy_command.COMMANDS[name][0])
    status = module.main(arguments)
    printed = capsys.readouterr()
    for start, message in EXPECTED.items():
        if command.startswith(start):
            assert status == 2 and message in printed.err
            return
    assert not status and printed.out, printed.err


@pytest.mark.long
def test_programs(trained, monkeypatch):
    monkeypatch.chdir(trained)
    names = {}
    for program in filter(is_program, blocks()):
        exec(compile(program, README, "exec"), names)
    assert names["distribution"].log_generate.shape == (1, 3)


def test_the_package_index_gets_no_link_that_it_has_no_file_for():
    source = (ROOT / "setup.py").read_text(encoding="utf-8")
    names = {"__file__": str(ROOT / "setup.py")}
    exec(source[: source.index("\nsetup(")], names)
    text = names["long_description"]()
    assert "](" in text
    assert re.findall(r"\]\((?!https://)|!\[", text) == []
    # Only links and pictures are other than on the page.
    words = re.sub(r"\]\([^)]*\)", "", README.read_text(encoding="utf-8"))
    for word in re.sub(r"\]\([^)]*\)", "", text).replace("[", "").split():
        assert word in words.replace("[", "")


def test_minutes_are_those_that_the_recipes_announce():
    rows = re.findall(
        r"^\| \[`(\w+)`\].* (\d+) \|$", README.read_text("utf-8"), re.MULTILINE
    )
    assert {name for name, _ in rows} == {*tfcopy_command.recipes()}
    for name, minutes in rows:
        recipe = importlib.import_module(f"tfcopy.recipes.{name}")
        assert int(minutes) == round(recipe.Config.minutes["demo"])
