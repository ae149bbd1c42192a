"""A test that does not end fails by its name, and the others still run."""

import pathlib
import subprocess
import sys
import types

import pytest

from tests import conftest

HANGING = """
import subprocess, time, pytest

def test_before():
    pass

def test_without_end():
    while True:
        time.sleep(0.01)

def test_of_a_process():
    subprocess.run(["sleep", "60"])

@pytest.fixture
def slow():
    time.sleep(60)

def test_of_a_fixture(slow):
    pass

def test_after():
    pass
"""
ROOT = pathlib.Path(__file__).parent.parent


@pytest.mark.long
@pytest.mark.parametrize("processes", [0, 2])
def test_what_hangs_fails_by_its_name(tmp_path, processes):
    (tmp_path / "test_some.py").write_text(HANGING)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-c", ROOT / "pyproject.toml"]
        + ["--rootdir", tmp_path, "-p", "no:cacheprovider", "-n"]
        + [str(processes), "-o", "timeout=0.5", tmp_path / "test_some.py"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    for name in ("without_end", "of_a_process", "of_a_fixture"):
        assert f"test_some.py::test_{name} - Failed: Timeout" in done.stdout
    assert "2 passed" in done.stdout


def test_slow_tests_have_a_longer_limit(request):
    assert float(request.config.getini("timeout")) == 300
    for name, limits in (("slow", [3600]), ("other", [])):
        added = []
        item = types.SimpleNamespace(
            get_closest_marker={name: True}.get,
            add_marker=added.append,
            own_markers=[pytest.mark.long],
            function=test_what_hangs_fails_by_its_name,
            path=pathlib.Path(__file__),
        )
        conftest.pytest_collection_modifyitems(request.config, [item])
        assert [mark.args[0] for mark in added] == limits
        assert len(item.own_markers) == 1 - len(limits)
