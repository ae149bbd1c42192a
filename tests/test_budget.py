"""How large the package may become: files and lines of code of each room.

Raising a number is a line in a commit that says why. `python -m
benchmarks.house` counts the whole.
"""

import pathlib

import pytest

import tfcopy
from benchmarks.house import code_lines

ROOT = pathlib.Path(tfcopy.__file__).parent
# Files and lines of code, at most. Docstrings and comments are free.
ROOMS = {
    "": (12, 1684),
    "data": (80, 12503),
    "decoding": (12, 1395),
    "evaluation": (5, 535),
    "experiments": (32, 5196),
    "figures": (4, 629),
    "layers": (50, 5200),
    "models": (16, 1689),
    "recipes": (14, 2648),
    "serving": (74, 10463),
    "training": (17, 2258),
}


def size(room):
    """The files and the lines of code of a room: a folder, or the top."""
    paths = (ROOT / room).rglob("*.py") if room else ROOT.glob("*.py")
    sources = [path.read_text("utf-8") for path in paths]
    return len(sources), sum(len(code_lines(source)) for source in sources)


@pytest.mark.parametrize("room", ROOMS, ids=lambda room: room or "top")
def test_a_room_keeps_its_budget(room):
    files, lines = size(room)
    most_files, most_lines = ROOMS[room]
    assert files <= most_files, f"{files} files, and {most_files} are allowed"
    assert lines <= most_lines, f"{lines} lines, and {most_lines} are allowed"


def test_each_folder_is_a_room():
    folders = {x.parent.name for x in ROOT.glob("*/*.py")}
    assert folders == {*ROOMS} - {""}
