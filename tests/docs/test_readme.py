"""README's commands and programs, as they are printed."""

import importlib
import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from tests.recipes.test_europarl_ps import TINY
from tfcopy import __main__ as tfcopy_command
from tfcopy.experiments import command_line
from tfcopy.recipes import europarl_ps

README = pathlib.Path(__file__).parents[2] / "README.md"
BLOCK = re.compile(r"(?:(?:^    .*)?\n)+", re.MULTILINE)
# Commands of other programs, and one that waits for a browser.
NOT_RUN = ("pip ", "tensorboard ", "docker ", "curl ", "pytest", ". ")
NOT_RUN += ("python3 -m venv", "python -m tfcopy.serving.demo")


def blocks():
    """The indented parts of the page, without the blanks before them."""
    for match in BLOCK.finditer(README.read_text(encoding="utf-8")):
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


RECIPES = [x for x in commands() if " tfcopy.recipes." in x]
OTHERS = [x for x in commands() if x not in RECIPES]
# Commands whose files are not there, and what they say.
EXPECTED = {
    "python -m tfcopy.serving.translate_po": "manual.po: cannot be read",
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
        arguments = [*TINY, "--train", "test.en", "test.fr", "--run=demo"]
        status = command_line.main(
            europarl_ps.Config,
            europarl_ps.PRESETS,
            europarl_ps.run,
            europarl_ps.__doc__,
            arguments,
        )
        assert status == 0
    return folder


def test_the_page_has_what_is_tested_here():
    assert len(RECIPES) > 25 and len(OTHERS) >= 5
    assert sum(map(is_program, blocks())) >= 3


@pytest.mark.parametrize("command", RECIPES)
def test_flags_of_recipes_are_there(command):
    _, _, module, *arguments = shlex.split(command)
    recipe = importlib.import_module(module)
    command_line.parse(recipe.Config, recipe.PRESETS, "", arguments)


@pytest.mark.parametrize("command", OTHERS)
def test_commands_on_what_was_trained(trained, command, monkeypatch, capsys):
    monkeypatch.chdir(trained)
    if "|" in command:
        python = shlex.quote(sys.executable)
        shell = re.sub(r"\bpython(?= -m)", python, command)
        done = subprocess.run(
            ["bash", "-c", shell], capture_output=True, text=True
        )
        assert done.returncode == 0 and done.stdout, done.stderr
        return
    # In this process, which has TensorFlow already.
    name, *arguments = shlex.split(command.removeprefix("python -m "))
    if name == "tfcopy":
        name = tfcopy_command.COMMANDS[arguments.pop(0)][0]
    status = importlib.import_module(name).main(arguments)
    printed = capsys.readouterr()
    for start, message in EXPECTED.items():
        if command.startswith(start):
            assert status == 2 and message in printed.err
            return
    assert not status and printed.out, printed.err


def test_programs(trained, monkeypatch):
    monkeypatch.chdir(trained)
    names = {}
    for program in filter(is_program, blocks()):
        exec(compile(program, README, "exec"), names)
    assert names["distribution"].log_generate.shape == (1, 3)


def test_commands_in_the_text_are_there():
    text = README.read_text(encoding="utf-8")
    for module in set(re.findall(r"python -m\s(tfcopy[\w.]+)", text)):
        assert importlib.util.find_spec(module), module
    for name in set(re.findall(r"`tfcopy (\w+)", text)):
        assert name in tfcopy_command.COMMANDS, name
