"""Guard of the checkout: tests leave its files as they were.

What a trained demo has left in `savedmodels`, `tensorboard_logs` and `serving`
is not touched either.
"""

import os

import pytest

# Written by Python, the tests' own tools and version control.
_CACHES = {"__pycache__", ".git", ".hypothesis", ".pytest_cache", ".ruff_cache"}
# Files that runs and commands write below the folder that they are started in.
_OUTPUT = ("savedmodels", "tensorboard_logs", "serving")


def snapshot(root):
    """Returns the files of a checkout, and the sizes and times of outputs.

    Environments and caches are left out. A source file may be edited while
    the tests run.
    """
    files = {}
    for folder, names, found in os.walk(root):
        names[:] = [
            x
            for x in names
            if x not in _CACHES
            and not os.path.exists(os.path.join(folder, x, "pyvenv.cfg"))
        ]
        for path in (os.path.join(folder, x) for x in [*names, *found]):
            name = os.path.relpath(path, root)
            files[name] = None
            if name.startswith(_OUTPUT) and not os.path.isdir(path):
                status = os.lstat(path)
                files[name] = status.st_size, status.st_mtime_ns
    return files


def changes(before, after):
    """Returns the names of files that were made, removed or changed."""
    names = before.keys() | after.keys()
    # Neither snapshot has a status `...`, so a missing file differs.
    return sorted(x for x in names if before.get(x, ...) != after.get(x, ...))


class Guard:
    """Plugin that fails a run whose tests change the checkout."""

    def __init__(self, root):
        self._root = root
        self._before = snapshot(root)
        self._changes = []

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session):
        self._changes = changes(self._before, snapshot(self._root))
        if self._changes:
            session.exitstatus = 1

    def pytest_terminal_summary(self, terminalreporter):
        if self._changes:
            terminalreporter.section("the tests changed the checkout")
            terminalreporter.write_line("\n".join(self._changes))
