"""The tiers of tests, and what is too long for the first one."""

import os
import subprocess
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import time_budget

LONG = pytest.mark.long
DRAWN = []


@pytest.mark.parametrize(
    ("seconds", "found"),
    [
        ({("a", "call"): 10.0, ("a", "setup"): 30.0}, []),
        ({("long", "setup"): 40.0}, []),
        ({("long", "setup"): 41.0}, ["long: its setup takes 41.0 s of 40"]),
        (
            {("a", "call"): 10.1, ("b", "call"): 11.0, ("a", "setup"): 30.1},
            [
                "a: its setup takes 30.1 s of 30",
                "b: its call takes 11.0 s of 10",
                "a: its call takes 10.1 s of 10",
            ],
        ),
        ({(str(i), "call"): 5.0 for i in range(22)}, []),
        (
            {(str(i), "call"): 5.0 for i in range(23)},
            ["All tests take 115 s of 110"],
        ),
    ],
)
def test_what_takes_too_long_is_named(seconds, found):
    budget = {"seconds": 100, "tests": {"long": 40}}
    assert time_budget.faults(seconds, budget) == found


def test_what_takes_long_is_there():
    files = {x.name for x in time_budget.PATH.parent.rglob("test_*.py")}
    named = {x.split("::")[0] for x in time_budget.BUDGET["tests"]}
    first = set(time_budget.BUDGET["first"])
    assert first | {x.rpartition("/")[2] for x in named} <= files


@pytest.mark.few(1)
@pytest.mark.parametrize("case", range(3))
def test_few_cases_are_of_the_first_tier(request, case):
    is_long = request.node.get_closest_marker("long") is not None
    assert is_long == (case > 0)


@settings(max_examples=30)
@given(st.integers())
def test_hypothesis_draws_a_third(number):
    DRAWN.append(number)


@pytest.mark.parametrize("tier", ["first", pytest.param("long", marks=LONG)])
def test_a_third_was_drawn(request, tier):
    if not DRAWN:
        pytest.skip("needs the test before")
    is_first = request.config.option.markexpr == time_budget.TIER
    assert len(DRAWN) == (10 if is_first else 30)


SUITE = """
import subprocess, sys, time

def test_short():
    pass

def test_long():
    end = time.process_time() + 0.5
    while time.process_time() < end:
        pass

def test_of_a_process():
    loop = "import time\\nwhile time.process_time() < 0.5: pass"
    subprocess.run([sys.executable, "-c", loop], check=True)
"""
CONFTEST = """
from tests import time_budget

time_budget.BUDGET = {"seconds": 60, "loop_seconds": 1.0, "tests": {}}
time_budget.MAX_SECONDS["call"] = 0.4
time_budget.loop_seconds = lambda: 1.0

def pytest_configure(config):
    config.pluginmanager.register(time_budget.Clock())
"""
SETTINGS = f"""
[pytest]
addopts = -m "{time_budget.TIER}"
testpaths = suite
markers =
    slow
    long
"""


@pytest.mark.few(1)
@pytest.mark.parametrize("arguments", [["-n0"], ["-n2"], ["-n0", "suite"]])
def test_a_whole_run_fails_if_a_test_takes_too_long(tmp_path, arguments):
    suite = tmp_path / "suite"
    suite.mkdir()
    (suite / "test_some.py").write_text(SUITE)
    (suite / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text(SETTINGS)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *arguments],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(time_budget.PATH.parents[1])},
        capture_output=True,
        text=True,
    )
    assert "3 passed" in done.stdout
    is_whole = "suite" not in arguments
    assert done.returncode == is_whole, done.stdout
    for name in ("long", "of_a_process"):
        fault = f"suite/test_some.py::test_{name}: its call takes"
        assert (fault in done.stdout) == is_whole
    assert "test_short: its call" not in done.stdout
