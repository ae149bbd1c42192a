"""The command `tfcopy`: what it runs, and what it says itself."""

import dataclasses
import importlib
import importlib.util
import os
import subprocess
import sys

import pytest

import tfcopy
from tests.python_process import run_python
from tfcopy import __main__ as command
from tfcopy import flags


def test_help_names_every_command(capsys):
    for arguments in ([], ["-h"], ["--help"]):
        assert command.main(arguments) == 0
        printed = capsys.readouterr().out
        assert all(f"  {name} " in printed for name in command.COMMANDS)
    assert command.main(["--version"]) == 0
    assert capsys.readouterr().out == f"tfcopy {tfcopy.__version__}\n"


def test_recipes_are_listed(capsys):
    assert command.main(["recipes"]) == 0
    printed = capsys.readouterr().out
    assert command.main(["recipe"]) == 0
    assert capsys.readouterr().out.endswith(printed)
    lines = dict(line.split(maxsplit=1) for line in printed.splitlines())
    assert lines["europarl_ps"].startswith("Pointer softmax")
    assert len(lines) == 14


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["aks"], "no command 'aks'. Did you mean 'ask'?"),
        (["recipe", "europarl"], "Did you mean 'europarl_ps'?"),
        (["recipe", "x"], "no recipe 'x'. Available: catalogs_ps, "),
    ],
)
def test_what_there_is_not_is_told(capsys, arguments, message):
    assert command.main(arguments) == 2
    assert message in capsys.readouterr().err


def test_each_command_is_a_module():
    modules = [module for module, _ in command.COMMANDS.values() if module]
    assert all(map(importlib.util.find_spec, modules))


def test_every_flag_has_a_help():
    for name in filter(None, (x for x, _ in command.COMMANDS.values())):
        module = importlib.import_module(name)
        options = getattr(module, "Options", None) or module.Config
        parser = flags.Parser(options, "")
        for field in dataclasses.fields(options):
            assert field.metadata.get("help") or parser.helps[field.name]


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["recipes"], ["ask", "--help"], ["recipe", "--help"]],
)
def test_a_reader_may_leave_early(arguments):
    program = [sys.executable, "-m", "tfcopy", *arguments]
    shell = 'set -o pipefail; (sleep 0.3; exec "$@") | true'
    done = subprocess.run(
        ["bash", "-c", shell, "bash", *program],
        env={**os.environ, "COLUMNS": "20"},
        stderr=subprocess.PIPE,
    )
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "arguments", [["--help"], ["ask", "--help"], ["recipe", "--help"]]
)
def test_help_that_cannot_be_written_is_a_failure(arguments):
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tfcopy", *arguments],
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert done.returncode == 1
    assert b"No space left on device" in done.stderr
    assert done.stderr.count(b"\n") == 1


def test_help_of_every_command_needs_no_tensorflow():
    program = """
import contextlib, io, runpy, sys
for heavy in ("tensorflow", "keras", "grpc", "fastapi", "uvicorn"):
    sys.modules[heavy] = None  # whoever imports it fails
for argument in sys.argv[1:]:
    name, module = argument.split("=")
    sys.argv = [module, "--help"]
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert end.code in (None, 0), module
    assert printed.getvalue().startswith(f"usage: tfcopy {name} "), module
"""
    modules = [f"{x}={y}" for x, (y, _) in command.COMMANDS.items() if y]
    done = run_python("-c", program, *modules)
    assert done.returncode == 0, done.stderr


NOISE = """
import os
os.write(2, b"noise")
raise ImportError("no TensorFlow here")
"""
USES = """
ask model
score run --source a --target a
export run
translate_po model c.po
build_vocabulary --input a --output out
build_dictionary --source a --target a --output out
build_definitions --wordnet . --output out
train_sentencepiece --input a --output out --protect html
prepare --train a a --output out
"""


@pytest.mark.long
def test_no_command_shows_what_tensorflow_says(tmp_path):
    catalog = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

msgid "a"
msgstr ""
"""
    for name, text in (
        ("tensorflow/__init__.py", NOISE),
        ("model/1/saved_model.pb", ""),
        ("run/config.json", '{"recipe": "x", "config": {}}'),
        ("a", "a\n"),
        ("c.po", catalog),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    program = """
import runpy, sys
for line in sys.argv[1].strip().splitlines():
    module, *sys.argv[1:] = line.split()
    for name in [x for x in sys.modules if x.startswith("tfcopy")]:
        del sys.modules[name]  # Each command imports its own.
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as end:
        assert end.code in (1, 2), line
"""
    uses = [line.split(" ", 1) for line in USES.strip().splitlines()]
    lines = [f"{command.COMMANDS[name][0]} {rest}" for name, rest in uses]
    env = {k: v for k, v in os.environ.items() if "TF_CPP" not in k}
    env["PYTHONPATH"] = os.pathsep.join([str(tmp_path), *sys.path])
    done = run_python("-c", program, "\n".join(lines), cwd=tmp_path, env=env)
    assert done.returncode == 0, done.stderr
    assert "noise" not in done.stderr
    told = done.stderr.splitlines()
    assert len(told) == len(uses), told
    assert sum("no TensorFlow here" in x for x in told) >= len(uses) - 1, told


@pytest.mark.slow
def test_tensorflow_starts_in_silence(tmp_path):
    (tmp_path / "a").write_text("a b\n")
    env = {k: v for k, v in os.environ.items() if "TF_CPP" not in k}
    flags = ["--input", tmp_path / "a", "--output", tmp_path / "vocabulary"]
    done = run_python("-m", "tfcopy.data.build_vocabulary", *flags, env=env)
    assert done.returncode == 0 and not done.stderr, done.stderr


def test_a_command_is_run_with_its_arguments():
    for arguments, status, expected in (
        (["ask", "nowhere"], 2, "ask: nowhere: no such folder."),
        (["recipe", "europarl_ps", "--unit", "3"], 2, "--unit"),
    ):
        done = run_python("-m", "tfcopy", *arguments)
        assert done.returncode == status and expected in done.stderr


def test_a_path_that_is_not_there_needs_no_tensorflow(tmp_path):
    """And nothing is left behind."""
    (tmp_path / "tensorflow.py").write_text("raise SystemExit(9)")
    (tmp_path / "keras.py").write_text("raise SystemExit(9)")
    folder = tmp_path / "here"
    folder.mkdir()
    path = os.pathsep.join([str(tmp_path), *sys.path])
    environment = {**os.environ, "PYTHONPATH": path}
    for line, name in (
        ("ask no", "no"),
        ("batch no --input no.txt --output out", "no.txt"),
        ("demo no", "no"),
        ("evaluate no --source no.en --reference no.fr", "no.en"),
        ("export no", "no"),
        ("export no --list", "no"),
        ("score no --source no.en --target no.fr", "no"),
        ("serve no", "no"),
        ("translate_po no no.po", "no"),
        ("recipe europarl_ps --train no.en no.fr", "no.en"),
        ("recipe europarl_ps --init_from no", "no"),
        ("recipe lm1b_definitions --corpus files --data no*", r"no*"),
    ):
        program, *rest = line.removeprefix("recipe ").split()
        done = run_python(
            *("-m", "tfcopy", *line.split()), cwd=folder, env=environment
        )
        assert done.returncode == 2, done
        assert done.stderr.count("\n") == 1, done.stderr
        assert done.stderr.startswith(f"{program}: ") and name in done.stderr
        assert not list(folder.iterdir())
