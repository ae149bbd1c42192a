"""How large the package may become: files and lines of code, as a whole.

Whoever adds a hundred lines shows a hundred that went. `python -m
benchmarks.house` counts them.
"""

import pathlib

import tfcopy
from benchmarks.house import code_lines

ROOT = pathlib.Path(tfcopy.__file__).parent
# At most. Docstrings and comments are free.
FILES = 316
LINES = 44_200


def test_the_package_keeps_its_budget():
    sources = [path.read_text("utf-8") for path in ROOT.rglob("*.py")]
    lines = sum(len(code_lines(source)) for source in sources)
    assert len(sources) <= FILES
    assert lines <= LINES
