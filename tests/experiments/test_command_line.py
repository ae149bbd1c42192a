import dataclasses
import importlib
import os
import re
import signal
import sys
import time
import typing
from typing import ClassVar, Literal

import pytest

from tests.experiments.test_config import FILES, RECIPES
from tfcopy import __main__ as tfcopy_command
from tfcopy.experiments import command_line, config
from tfcopy.flags import PositiveFloat, PositiveInt
from tfcopy.recipes import europarl_ps

# What names the training corpus, and is read first of all.
CORPORA = """prepared train train_file tfds data_dir download bin_dir data
    catalogs""".split()
PRESETS = {"paper": {"units": 1024, "rate": 0.5}}


@config.group
class Config:
    """Sizes."""

    presets: ClassVar = PRESETS
    recipe: ClassVar = "mine"

    preset: str = config.results("demo", "Sizes to start from.")
    units: PositiveInt = config.model(8, "Size of the state.")
    width: PositiveInt | None = config.model(None, "Width of the output.")
    dropout: config.Share = config.model(0.1, "Share dropped, 10 % or so.")
    rate: PositiveFloat = config.training(1.0, "Learning rate.")
    merge: Literal["max", "sum"] = config.search("max", "How to add up.")
    systems: list[Literal["a", "b"]] = config.training(["a"], "To train.")
    files: list[str] | None = config.data(None, "Two files.")
    head: config.PointingHead = config.model("copynet", "Output head.")
    fresh: bool = config.results(False, "Start anew.")


def parse(*arguments):
    return command_line.parse(Config, list(arguments))


def write(path, text):
    path.write_text(text, errors="surrogateescape")
    return str(path)


def test_defaults_are_those_of_the_config():
    assert parse() == Config()


@pytest.mark.parametrize(
    ("flags", "is_own"),
    [
        ([], False),
        (["--preset", "demo", "--updates", "3"], False),
        (["--train", "[a, b]"], True),
        (["--preset=demo", "--tfds=x", "--run=x"], True),
        (["--preset=thorough"], True),
    ],
)
def test_the_demos_preset_is_for_its_own_corpus_alone(flags, is_own):
    parsed = command_line.parse(europarl_ps.Config, flags)
    defaults = europarl_ps.Config()
    for name, value in europarl_ps.PRESETS["demo"].items():
        expected = getattr(defaults, name) if is_own else value
        if f"--{name}" not in flags and name != "warmup":
            assert getattr(parsed, name) == expected, name
    warmup = 0 if is_own or "--updates" in flags else 60
    assert parsed.warmup == warmup


def test_flags_win_over_config_and_config_over_preset(tmp_path):
    path = write(tmp_path / "c.yaml", "units: 3\nrate: 0.25\nsystems: [b]\n")
    preset = Config(preset="paper", units=1024, rate=0.5)
    assert parse("--preset", "paper") == preset
    assert parse("--preset=paper", "--rate=2") == dataclasses.replace(
        preset, rate=2.0
    )
    parsed = parse("--preset", "paper", "--config", path, "--rate", "2")
    assert parsed == Config("paper", units=3, rate=2.0, systems=["b"])


def test_numbers_are_pythons_own():
    """Keras would derive a dtype from the name of another type."""
    parsed = parse("--units", "3", "--width", "4", "--dropout", "0.2")
    numbers = (parsed.units, parsed.width, parsed.dropout, parsed.rate)
    assert [type(x) for x in numbers] == [int, int, float, float]
    assert parse("--fresh").fresh is True


def test_config_may_name_the_preset(tmp_path):
    path = write(tmp_path / "c.yaml", "preset: paper\nrate: 0.25\n")
    assert parse("--config", path) == Config("paper", units=1024, rate=0.25)


@pytest.mark.parametrize(
    ("arguments", "files"),
    [
        ("--files a.en a.fr --fresh", ["a.en", "a.fr"]),
        ("--files [a.en, a.fr] --fresh", ["a.en", "a.fr"]),
        ("--files=[a.en,a.fr] --fresh", ["a.en", "a.fr"]),
        ("--files=a.en a.fr --fresh", ["a.en", "a.fr"]),
        ("--files a, --fresh", ["a,"]),
        ("--files 1 --fresh", ["1"]),
        ("--fresh --files null", None),
    ],
)
def test_lists_need_no_brackets(arguments, files):
    arguments = arguments.replace("[a.en, a.fr]", "[a.en,_a.fr]").split()
    arguments = [x.replace(",_", ", ") for x in arguments]
    assert parse(*arguments) == Config(files=files, fresh=True)


@pytest.mark.parametrize(
    ("arguments", "fresh"),
    [
        (["--fresh"], True),
        (["--fresh", "true"], True),
        (["--fresh", "false"], False),
        (["--fresh", "--units", "8"], True),
    ],
)
def test_switches_need_no_value(arguments, fresh):
    assert parse(*arguments) == Config(fresh=fresh)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--units 0", "--units must be a positive integer. Received: 0."),
        ("--units x", "--units must be a positive integer. Received: x."),
        ("--width -2", "--width must be a positive integer. Rec.*-2."),
        ("--dropout 1.5", "--dropout must be a number of at least 0 .*1.5"),
        ("--dropout nan", "--dropout must be .* Received: nan."),
        ("--rate 1e400", "--rate must be a finite number. Received: 1e400."),
        ("--rate inf", "--rate must be a finite number. Received: inf."),
        ("--units 1" + "0" * 22, r"--units must be an integer below 2\*\*63. "),
        ("--units 1e400", "--units must be a positive integer. .*1e400"),
        ("--rate 0", "--rate must be a positive number. Received: 0."),
        ("--merge foo", "--merge must be max or sum. Received: foo."),
        (
            "--head foo",
            "--head must be pointer_softmax, pointer_generator, copynet or "
            "MODULE:CLASS. Received: foo.",
        ),
        ("--head my_heads:", "--head must be .* Received: my_heads:."),
        ("--systems c", "--systems must be a list, such as a b, of a or b. "),
        ("--systems [c]", "--systems must be a list, .* of a or b. "),
        ("--files --fresh", "--files: expected one argument."),
        ("--files [a", "--files must be a list, such as a b, of text. "),
        ("--files " + "[" * 9_999, "--files must be a list, such as a b, of "),
        ("--config {units:3,units:4}", "--config: "),
        ("--fresh maybe", "--fresh must be true or false. Received: maybe."),
        ("--preset foo", "--preset must be demo or paper. Received: foo."),
        ("--unit 3", "unrecognized arguments: --unit 3."),
        ("--units", "--units: expected one argument."),
        ("more", "unrecognized arguments: more."),
        ("--config /nowhere.yaml", "--config: .*/nowhere.yaml"),
        ("--files a b\udcff", r"--files must be UTF-8 .*: 'b\\udcff'."),
        ("--files a\0", r"--files must be UTF-8 .*: 'a\\x00'."),
    ],
)
def test_wrong_flag_gives_one_line(capsys, arguments, message):
    assert_wrong(capsys, arguments.split(), message)


# Lists, each of which has the one before twice.
BOMB = "files:\n- &x0 [a]\n" + "".join(
    f"- &x{i + 1} [*x{i}, *x{i}]\n" for i in range(40)
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("units: x", "--units must be a positive integer. "),
        ("unitz: 3", "unknown flag unitz."),
        ("preset: foo", "--preset must be demo or paper. Received: foo."),
        ("units:", "--units must be a positive integer. "),
        ("units: [3", ".*line 1"),
        ("- units", "expected flags and their values, such as seed"),
        ("a text " * 9_999, "expected flags and their values, such"),
        ("[" * 9_999, "brackets are nested too deep."),
        ("files: " + "[" * 9_999, "brackets are nested too deep."),
        ("units: 3\nrate: 2\nunits: 3", "the flag units is given m"),
        ('{"units": 3, "units": 4}', "the flag units is given more"),
        ("? " + "units" * 999 + "\n: 3", "unknown flag unitsunits"),
        ("units: " + "x" * 9_999, "--units must be a positive integer. "),
        (BOMB, "--files must be a list, such as a b, of text. Received: "),
        ("\udcff", "'utf-8' codec can't decode byte 0xff"),
    ],
)
def test_wrong_key_of_the_config_gives_one_line(
    tmp_path, capsys, text, message
):
    path = write(tmp_path / "c.yaml", text)
    message = f"--config: {re.escape(path)}: {message}"
    assert_wrong(capsys, ["--config", path], message)


def assert_wrong(capsys, arguments, message):
    with pytest.raises(SystemExit) as error:
        parse(*arguments)
    assert error.value.code == 2
    first, second = capsys.readouterr().err.splitlines()
    assert re.match(f"[a-z_]+: {message}", first), first
    assert second.endswith("--help.")


def helps(capsys, recipe, flag):
    """Returns the output of `--help` and the like, and each flag's text."""
    with pytest.raises(SystemExit) as error:
        command_line.parse(recipe.Config, [flag])
    assert error.value.code == 0
    out = capsys.readouterr().out
    groups = out[out.index("\ndata:") :].split("\n\n")
    options = [x for group in groups for x in group.split("\n  --")[1:]]
    return out, {x.split()[0]: " ".join(x.split()) for x in options}


@pytest.mark.parametrize("name", tfcopy_command.recipes())
def test_help_groups_the_flags_and_has_text_and_default_of_each(capsys, name):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    out, found = helps(capsys, recipe, "--help_all")
    headings = re.findall(r"^(\w+):$", out, re.MULTILINE)
    fields = {x.name: x for x in dataclasses.fields(recipe.Config)}
    topics = {field.metadata["topic"] for field in fields.values()}
    assert headings == ["options", *[x for x in config.TOPICS if x in topics]]
    kinds = typing.get_type_hints(recipe.Config)
    assert sorted(found) == sorted(fields)
    for field in fields:
        text, _, default = found[field].partition(" (default: ")
        assert default, field
        assert len(text.split()) > 3, f"--{field} has no help"
        for choice in choices(kinds[field]):  # None of them is said twice.
            assert re.search(rf"\b{choice}\b", text), (field, choice)
        assert ("{" in text) == (field == "preset" or kinds[field] is bool)


def choices(kind):
    """Returns the choices of a `Literal` in a type."""
    arguments = typing.get_args(kind)
    if typing.get_origin(kind) is Literal:
        return arguments
    return [x for argument in arguments for x in choices(argument)]


@pytest.mark.parametrize("name", tfcopy_command.recipes())
def test_help_shows_what_is_changed_most(capsys, name):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    out, found = helps(capsys, recipe, "--help")
    number = len(dataclasses.fields(recipe.Config))
    assert out.endswith(f"\n--help_all shows all {number} flags.\n")
    assert 12 <= len(found) <= 28 and out.count("\n") < 130
    assert {"preset", "run", "fresh", "updates", "systems"} <= found.keys()
    assert found.items() <= helps(capsys, recipe, "--help_all")[1].items()


def test_output_that_nobody_reads_ends_nothing(monkeypatch):
    reader, writer = os.pipe()
    os.close(reader)
    reached = []

    def run(_):
        for _ in range(9):
            print("x" * 10_000, flush=True)
            print("y", file=sys.stderr, flush=True)
        reached.append(True)

    with open(writer, "w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        monkeypatch.setattr(sys, "stderr", None)
        assert command_line.main(Config, run, []) == 0
    assert reached


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)],
)
def test_signals_end_with_a_message(capsys, number, code):
    def run(_):
        os.kill(os.getpid(), number)
        time.sleep(10)

    before = signal.getsignal(number)
    assert command_line.main(Config, run, []) == code
    assert "Repeat the command to resume." in capsys.readouterr().err
    assert signal.getsignal(number) is before


@pytest.mark.parametrize("name", RECIPES)
def test_a_file_that_is_not_there_is_told_at_once(name, tmp_path):
    recipe = importlib.import_module(f"tfcopy.recipes.{name}")
    late = {"init_from", "glossary", "shortlist", "output_dictionary"}
    late |= {*FILES.split()} - {*CORPORA}
    made = recipe.Config(log_dir=f"{tmp_path}/logs", run="demo")
    for field in dataclasses.fields(made):
        path = f"{tmp_path}/no such"
        if "list" in str(field.type):
            path = [str(tmp_path), path]
        if field.name in late:
            wrong = dataclasses.replace(made, **{field.name: path})
            with pytest.raises(OSError, match=f"^--{field.name}: .*no such"):
                command_line.check_named_files(wrong)
    assert not os.listdir(tmp_path)


def test_a_folder_is_new_only_if_the_corpus_is_downloaded(tmp_path):
    made = europarl_ps.Config(data_dir=str(tmp_path / "no such"), download=True)
    command_line.check_named_files(made)
    made = dataclasses.replace(made, download=False)
    with pytest.raises(OSError, match="^--data_dir: cannot read .*no such"):
        command_line.check_named_files(made)


def test_what_is_there_is_not_opened(tmp_path):
    """A pipe can be read only once, and a store has folders."""
    recipe = importlib.import_module("tfcopy.recipes.europarl_ps")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    made = recipe.Config(
        dictionary=str(pipe), init_from=str(tmp_path), shortlist="dictionary"
    )
    command_line.check_named_files(made)
