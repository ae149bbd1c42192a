"""Tests run in empty folders, and a run that changes the checkout fails."""

import os
import types

import pytest

from tests import checkout


@pytest.mark.parametrize("number", range(2))
def test_each_test_starts_in_an_empty_folder(number):
    assert os.listdir() == []
    open(f"left by {number}", "w").close()


@pytest.mark.parametrize(
    "change, names",
    [
        (lambda x: (x / "site").mkdir(), ["site"]),
        (lambda x: (x / "tfcopy/a.py").unlink(), ["tfcopy/a.py"]),
        (
            lambda x: (x / "savedmodels/demo/1").write_text("other"),
            ["savedmodels/demo/1"],
        ),
        (lambda x: (x / "tfcopy/a.py").write_text("edited"), []),
        (lambda x: (x / "tfcopy/__pycache__").mkdir(), []),
        (lambda x: (x / "env/bin").mkdir(), []),
    ],
    ids="made removed written edited cache environment".split(),
)
def test_a_run_that_changes_the_checkout_fails(tmp_path, change, names):
    for name in ("tfcopy/a.py", "savedmodels/demo/1", "env/pyvenv.cfg"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    guard = checkout.Guard(tmp_path)
    change(tmp_path)
    session = types.SimpleNamespace(exitstatus=0)
    guard.pytest_sessionfinish(session)
    lines = []
    guard.pytest_terminal_summary(
        types.SimpleNamespace(section=lines.append, write_line=lines.append)
    )
    assert session.exitstatus == bool(names)
    assert lines[1:] == names
