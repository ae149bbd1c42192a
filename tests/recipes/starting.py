"""Starting the whole command of a recipe, and reading what it left."""

import os
import re
import shutil

import pytest

from tfcopy import atomic_files
from tfcopy.checked_files import read_json
from tfcopy.experiments import command_line, run


def start(recipe, settings, folder, *arguments):
    """The command; returns its exit status, that of a wrong flag as well.

    Args:
        recipe: Its module.
        settings: Flags of all starts, that make it small.
        folder: Gets `logs` and `served`.
        arguments: More flags.
    """
    folders = [f"--log_dir={folder}/logs", f"--savedmodel_dir={folder}/served"]
    folders.append("--run=demo")  # Whatever the data.
    if "litert" in recipe.Config.__dataclass_fields__:
        folders.append("--litert=none")  # It takes seconds.
    try:
        return command_line.main(
            recipe.Config, recipe.run, [*settings, *folders, *arguments]
        )
    except SystemExit as error:
        return error.code


def finished(start, *arguments):
    """A fixture: the folder of a run that has ended, of all tests of a file."""

    @pytest.fixture(scope="module")
    def finished(tmp_path_factory):
        folder = tmp_path_factory.mktemp("finished")
        assert start(folder, *arguments) == 0
        return folder

    return finished


def go_on(start, finished, folder, *arguments):
    """Goes on with a copy of a finished run, and exports nothing.

    Args:
        start: Function of a folder and arguments, as of a test's file.
        finished: Folder of the run.
        folder: Folder that does not exist yet.
        arguments: More flags than those of `start`.

    Returns:
        The systems' results.
    """
    shutil.copytree(finished, folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(run, "export", lambda *_, **__: "served/1")
        assert start(folder, *arguments) == 0
    return results(folder)["systems"]


def results(folder):
    return read_json(os.path.join(folder, "logs", "demo", "results.json"))


def check_report(folder, *more):
    """Checks the keys of a finished run's results, and that it exported.

    Args:
        folder: As of `start`.
        more: Keys after those that all recipes have.

    Returns:
        The results.
    """
    found = results(folder)
    keys = """recipe preset seed seconds config systems paper claims savedmodel
        exported exported_by""".split()
    assert list(found)[: len(keys) + len(more)] == [*keys, *more]
    assert os.path.isfile(os.path.join(found["savedmodel"], "saved_model.pb"))
    return found


def check_refused(start, capfd, folder, arguments, message):
    """Checks that a start ends with one line, and leaves no empty folder."""
    capfd.readouterr()
    assert start(folder, *arguments) == 2
    error = capfd.readouterr().err
    assert re.search(f"^[a-z0-9_]+: .*{message}", error, re.MULTILINE), error
    assert "Traceback" not in error
    assert not os.path.exists(os.path.join(folder, "served"))
    for place, folders, names in os.walk(folder):
        is_used = folders or {*names} - {atomic_files.LOCK_NAME}
        assert is_used or os.path.samefile(place, folder), place


def files(folder):
    """The content of all files of a folder, and when they were written."""
    return {
        str(x.relative_to(folder)): (x.read_bytes(), x.stat().st_mtime_ns)
        for x in folder.rglob("*")
        # The lock is rewritten by every command.
        if x.is_file() and x.name != atomic_files.LOCK_NAME
    }


def figures(folder):
    """Those that do not depend on the time of day."""
    return _without_times(results(folder)["systems"])


def _without_times(value):
    if not isinstance(value, dict):
        return value
    return {k: _without_times(v) for k, v in value.items() if "second" not in k}


class TranslatorsOnly:
    """Stands for a `Run`: builds systems, but gives only what they serve."""

    def __init__(self, config):
        self.config, self.kinds = config, {x: x for x in config.systems}

    def build(self, name, make_model, make_served, *_, **__):
        return make_served(make_model())
