"""The project keeps its size.

Whoever adds a hundred lines shows a hundred that went. `python -m
benchmarks.house` counts them.
"""

import pathlib

from benchmarks.house import code_lines, script_lines
from tests import time_budget

ROOT = pathlib.Path(__file__).parents[1]
# At most. Docstrings and comments are free.
FILES = 304
LINES = {"tfcopy": 42_600, "tests": 44_300, "benchmarks": 5_590}
LINES |= {"JavaScript": 2_130, "C": 523}


def test_the_project_keeps_its_budget():
    lines = {
        folder: sum(
            len(code_lines(path.read_text("utf-8")))
            for path in (ROOT / folder).rglob("*.py")
        )
        for folder in ("tfcopy", "tests", "benchmarks")
    }
    lines |= {"JavaScript": script_lines(ROOT, "js")}
    lines |= {"C": script_lines(ROOT, "[ch]")}
    assert len([*(ROOT / "tfcopy").rglob("*.py")]) <= FILES
    assert {x: n for x, n in lines.items() if n > LINES[x]} == {}


def test_files_of_the_time_budget_are_there():
    files = {x.name for x in pathlib.Path(__file__).parent.rglob("test_*.py")}
    named = {x.split("::")[0] for x in time_budget.BUDGET["tests"]}
    first = {*time_budget.BUDGET["first"]}
    assert first | {x.rpartition("/")[2] for x in named} <= files
