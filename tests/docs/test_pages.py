"""Commands, flags, names and files on the pages are those of the program."""

import contextlib
import functools
import importlib.util
import io
import pathlib
import re
import shlex

import keras_hub
import pytest

from tfcopy import __main__ as tfcopy_command
from tfcopy.experiments import command_line
from tfcopy.layers.backbones import hub_backbone

ROOT = pathlib.Path(__file__).parents[2]
# What is history was true when it was written.
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
PAGES += [x for x in ROOT.glob("docs/**/*.md") if x.parent.name != "history"]
COMMAND = re.compile(
    r"(?:python -m (?P<module>tfcopy\.[\w.]+|benchmarks\.\w+)"
    r"|tfcopy (?P<name>[a-z]\w+))(?P<rest> .*|$)"
)
FLAG = re.compile(r"(?<![\w-])--([a-z]\w*)")
# A page shows what is said of wrong ones; a program's flags are its own.
WRONG = re.compile(r"^tfcopy (aks|recipe europarl_ps --unit 3)$")
OTHERS = {"profile"}
# Words in a command that stand for others.
PLACEHOLDER = re.compile(r"(^| )([A-Z]+|[a-z]|\.\.\.)( |$)")


def name_of(page):
    return str(page.relative_to(ROOT))


def code_and_words(page):
    """The lines of a page's code, and the rest of its text."""
    code, words, fenced, indented = [], [], False, True
    for line in page.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or (indented and line.startswith("    ")):
            code.append(line.removeprefix("    ").removeprefix("$ "))
        else:
            words.append(line)
            indented = not line
    return code, "\n".join(words)


def spans(page):
    """Yields the texts between backticks of a page."""
    words = code_and_words(page)[1]
    return [" ".join(x.split()) for x in re.findall("`([^`]+)`", words)]


def commands(page):
    """All commands of a page, in blocks of code and between words."""
    lines = "\n".join(code_and_words(page)[0]).replace("\\\n", " ")
    for command in re.split(r"\n| && | \| ", lines) + spans(page):
        command = re.sub(r"\s(#|<\s).*|\.\.\.", "", command).strip()
        match = COMMAND.match(command)
        if match and not WRONG.match(command) and " NAME" not in command:
            yield match["module"], match["name"], match["rest"]


def is_taken(recipe, arguments):
    """Returns whether a recipe's command line takes these arguments."""
    module = importlib.import_module(f"tfcopy.recipes.{recipe}")
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            command_line.parse(module.Config, arguments)
    except SystemExit:
        return False
    return True


def fields(recipe):
    config = importlib.import_module(f"tfcopy.recipes.{recipe}").Config
    return {*config.__dataclass_fields__, "config", "help", "help_all"}


@functools.cache
def flags_of(module):
    """The flags that a command's help names, or a benchmark's source.

    A benchmark may have them from another one, or be a recipe's command.
    """
    if module.startswith("benchmarks."):
        path = ROOT / f"{module.replace('.', '/')}.py"
        source = path.read_text(encoding="utf-8")
        found = set(re.findall(r'"(?:--)?(\w+)"', source))
        others = re.findall(r"^from (benchmarks\.\w+) import", source, re.M)
        recipes = re.findall(r"^from tfcopy.recipes import (.*)", source, re.M)
        names = re.findall(r"\w+", " ".join(recipes))
        return found.union(*map(flags_of, others), *map(fields, names))
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), pytest.raises(SystemExit):
        importlib.import_module(module).main(["--help"])
    return set(FLAG.findall(printed.getvalue()))


def refused(module, name, rest):
    """Returns whether a command is none, or does not take its flags."""
    if name == "recipe":
        recipe, *arguments = shlex.split(rest)
        return not is_taken(recipe, arguments)
    if module and module.startswith("tfcopy.recipes."):
        recipe = module.removeprefix("tfcopy.recipes.")
        return not is_taken(recipe, shlex.split(rest))
    module = module or tfcopy_command.COMMANDS[name][0]
    if name == "worker":
        return not set(FLAG.findall(rest)) <= (
            flags_of(module) | fields("europarl_ps")
        )
    return module and not set(FLAG.findall(rest)) <= flags_of(module)


@functools.cache
def all_flags():
    """Those of commands and benchmarks, but not of recipes."""
    modules = [x for x, _ in tfcopy_command.COMMANDS.values() if x]
    modules += [f"benchmarks.{x.stem}" for x in ROOT.glob("benchmarks/*.py")]
    found = set()
    for program in ROOT.glob("tfcopy/serving/server_files/c/*.c"):
        found |= set(FLAG.findall(program.read_text(encoding="utf-8")))
    return found.union(*map(flags_of, modules)) | OTHERS


def nobody_takes(span):
    """Returns whether no command has `--flag` or `--flag value`."""
    names = set(FLAG.findall(span))
    takers = [x for x in tfcopy_command.recipes() if names <= fields(x)]
    if not takers:
        return not names <= all_flags()
    if " " not in span or PLACEHOLDER.search(span):
        return False
    return not any(is_taken(x, shlex.split(span)) for x in takers)


def test_the_pages_have_what_is_tested_here():
    assert len([x for page in PAGES for x in commands(page)]) > 150
    assert nobody_takes("--xla true") and nobody_takes("--no_such_flag")
    assert refused(None, "recipe", "europarl_ps --unit 3")
    assert refused(None, "ask", "savedmodels/mine --beams 3")


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_commands_take_their_flags(page):
    assert [x for x in commands(page) if refused(*x)] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_flags_in_the_text_are_there(page):
    found = {x for x in spans(page) if x.startswith("--")}
    assert [x for x in sorted(found) if nobody_takes(x)] == []


def is_there(name):
    """Returns whether a dotted name is a module, or something in one."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:end]))
            break
        except ModuleNotFoundError:
            pass
    for part in parts[end:]:
        found = getattr(found, part, None)
    return found is not None


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_names_of_the_package_are_there(page):
    text = page.read_text(encoding="utf-8")
    names = set(re.findall(r"(?<![\w/.])tfcopy(?:\.\w+)+(?!\.?\w)", text))
    for module, imported in re.findall(
        r"^ *from (tfcopy[\w.]*) import (\w.*)$", text, re.MULTILINE
    ):
        names |= {f"{module}.{x}" for x in re.findall(r"\w+", imported)}
    assert [x for x in sorted(names) if not is_there(x)] == []


@pytest.mark.parametrize("part", ["layers", "models", "decoding", "data"])
def test_the_reference_has_what_a_part_offers(part):
    pages = (ROOT / "docs/reference").glob("*.md")
    texts = [page.read_text(encoding="utf-8") for page in pages]
    shown = {x for text in texts for x in re.findall("^::: (.*)", text, re.M)}
    offered = importlib.import_module(f"tfcopy.{part}")
    homes = {x: getattr(offered, x).__module__ for x in offered.__all__}
    missing = [
        name
        for name, home in homes.items()
        if not shown & {home, f"{home}.{name}"}
    ]
    assert missing == []


def test_no_index_is_asked_for_the_package():
    """It is not published: another's of its name would be installed."""
    wrong = r"\btfcopy\[[a-z]|pip install\s+(-\S+\s+)*[\"']?tfcopy(?!-\d)\b"
    files = [ROOT / "setup.py", *ROOT.glob("*.md")]
    for folder in ("tfcopy", "benchmarks", "docs", "cluster"):
        files += (x for x in (ROOT / folder).rglob("*") if x.is_file())
    found = [
        path
        for path in files
        if path.suffix in (".py", ".md", ".yaml", ".js", ".sh", "")
        and re.search(wrong, path.read_text("utf-8", "replace"))
    ]
    assert not found


def test_each_table_of_results_says_where_it_is_from():
    text = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    assert text.count("\n") <= 400
    _, *sections = text.split("\n## ")
    assert len(sections) > 15
    for section in sections:
        title, _, _ = section.partition("\n")
        assert section.count("\n|---") == 1, title
        assert re.search(r"python -m |pytest ", section), title
        assert re.search(r"\b20\d\d-\d\d-\d\d\b", section), title


def test_networks_load_from_where_the_page_says():
    page = (ROOT / "docs" / "backbones.md").read_text()
    table = page.partition("## What loads from where")[2].partition("##")[0]
    rows = re.findall(r"^\| `(\w+)` \| `([\w.]+)`", table, re.M)
    networks = filter(keras_hub.models.__dict__.get, hub_backbone._KINDS)
    assert {name for name, _ in rows} == {*networks}
    for name, preset in rows:
        assert preset in getattr(keras_hub.models, name).presets
