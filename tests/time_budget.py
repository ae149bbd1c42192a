"""Processor time that the first tier of tests takes, and may take.

Seconds are those of the machine that `time_budget.json` was measured on: those
measured here are divided by what a loop takes here, and multiplied by what it
took there. What other programs do meanwhile slows both alike.
"""

import json
import os
import pathlib
import statistics
import time

import pytest

PATH = pathlib.Path(__file__).with_name("time_budget.json")
BUDGET = json.loads(PATH.read_text())
# What `addopts` chooses.
TIER = "not slow and not long"
# For a test, and for fixtures, which it may be the first of many to need.
MAX_SECONDS = {"setup": 30, "call": 10, "teardown": 10}
GROWTH = 1.1


def processor_seconds():
    """Of this process and of those children of it that have ended."""
    return sum(os.times()[:4])


def loop_seconds():
    """Times a loop that makes small objects, as most tests do."""
    start = time.thread_time()
    names = {}
    for i in range(20_000):
        names[f"name/{i}"] = [i, str(i), {"index": i}]
    sorted(names, key=lambda name: names[name][1])
    return time.thread_time() - start


def is_whole(config):
    """Returns whether all of the first tier runs, and on TensorFlow."""
    option = config.option
    chosen = ("keyword", "deselect", "ignore", "ignore_glob", "lf", "maxfail")
    return (
        config.args_source is config.ArgsSource.TESTPATHS
        and option.markexpr == TIER
        and not any(getattr(option, name, None) for name in chosen)
        and not option.collectonly
        and os.environ.get("KERAS_BACKEND", "tensorflow") == "tensorflow"
    )


def faults(seconds, budget):
    """Returns the tests that take too long, a line each.

    Args:
        seconds: Dict of seconds on the budget's machine, by pairs of a test
            and its `setup`, `call` or `teardown`.
        budget: Dict of `seconds`, what all of them are known to take, and
            `tests`, those of tests that may take longer than others.
    """
    found = []
    for (name, when), spent in sorted(seconds.items(), key=lambda x: -x[1]):
        most = budget["tests"].get(name, MAX_SECONDS[when])
        if spent > most:
            found.append(f"{name}: its {when} takes {spent:.1f} s of {most}")
    total, most = sum(seconds.values()), GROWTH * budget["seconds"]
    if total > most:
        found.append(f"All tests take {total:.0f} s of {most:.0f}")
    return found


class Clock:
    """A plugin: each report tells its seconds; the end judges their sums."""

    def __init__(self):
        self._seconds = {}
        self._loops = []
        self._begun = 0.0
        self._lines = []

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        self._begun = processor_seconds()
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self):
        report = yield
        begun, self._begun = self._begun, processor_seconds()
        spent = self._begun - begun
        report.user_properties.append(("processor_seconds", spent))
        return report

    def pytest_runtest_logreport(self, report):
        """Counts in the process that hands out the tests, too."""
        spent = dict(report.user_properties).get("processor_seconds", 0.0)
        self._seconds[report.nodeid, report.when] = spent
        if spent > 1 or not self._loops:
            self._loops.append(loop_seconds())

    def pytest_sessionfinish(self, session, exitstatus):
        config = session.config
        is_worker = hasattr(config, "workerinput")
        if is_worker or exitstatus > 1 or not is_whole(config):
            return
        loop = statistics.median(self._loops)
        scale = BUDGET["loop_seconds"] / loop
        seconds = {x: scale * spent for x, spent in self._seconds.items()}
        found = faults(seconds, BUDGET)
        self._lines = [
            f"{sum(seconds.values()):.0f} s of {BUDGET['seconds']}, times "
            f"{1 / scale:.2f} here (the loop takes {loop:.4f} s)",
            *found,
        ]
        if found:
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter):
        if self._lines:
            terminalreporter.section(f"processor time ({PATH.name})")
            terminalreporter.write_line("\n".join(self._lines))
