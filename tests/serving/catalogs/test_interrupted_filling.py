"""Nothing that is translated is lost, whatever happens meanwhile."""

import errno
import os
import pathlib
import random
import signal
import time

import polib
import pytest

from tests.serving.catalogs.catalogs import BODY, FILLED, HEADER, many, write
from tfcopy import atomic_files
from tfcopy.runtime import local_model
from tfcopy.serving.catalogs import catalog_filling

MENU = "".join(
    f'\nmsgctxt "menu"\nmsgid "{text}"\nmsgstr ""\n'
    for text in ("_entry", "_Entries", "dup", "entry_s")
)


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "seed",
    [
        *range(8),
        *(pytest.param(x, marks=pytest.mark.slow) for x in range(8, 20)),
    ],
)
def test_a_killed_command_is_repeated(tmp_path, fill, model, seed, monkeypatch):
    """At any moment after its first write; the outcome is always the same."""
    monkeypatch.setattr(catalog_filling, "_INTERVAL", 0.0)
    monkeypatch.setattr(catalog_filling, "_TIMES", 0)
    paths = [tmp_path / name for name in ("whole.po", "killed.po")]
    text = many(60) + MENU + '\nmsgid "dup"\nmsgstr ""\n'
    for path in paths:
        write(path, text)
    memory = write(tmp_path / "memory.po", HEADER + 'msgid "dup"\nmsgstr "d"')
    assert fill(paths[0], "--memory", memory)[0] == 0
    flags = [paths[1], "--batch_size", "1", "--memory", memory]
    target, output = paths[1], seed % 2
    if output:
        target = tmp_path / "output.po"
        flags += ["--output", target]
    model.seconds = 0.02
    model.asked.clear()
    child = os.fork()
    if not child:
        fill(*flags)
        os._exit(0)
    while not target.exists() or "fuzzy" not in target.read_text():
        assert os.waitpid(child, os.WNOHANG) == (0, 0)
        time.sleep(0.005)
    if seed > 1:
        time.sleep(random.Random(seed).uniform(0, 60 * model.seconds))
    os.kill(child, signal.SIGKILL)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL or seed > 1
    done = target.read_text().count("ENTRY ")
    assert done < 60 or seed > 1
    model.seconds = 0
    assert fill(*flags)[0] == 0
    assert sum(x.startswith("entry ") for x in model.asked) == 60 - done
    assert target.read_bytes() == paths[0].read_bytes()
    assert {*os.listdir(tmp_path)} == {
        *("whole.po", "killed.po", "memory.po"),
        target.name,
    }
    if output:
        assert paths[1].read_text() == text


@pytest.mark.parametrize("output", [(), ("--output", "new/b.po")])
def test_two_at_once_are_no_mixture(tmp_path, fill, model, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    write(pathlib.Path("a.po"), many(3))
    load, second = local_model.LocalModel, []

    def load_meanwhile(*arguments, **options):
        if not second:
            second.append(None)
            second[0] = fill("a.po", *output, "--protect", "[0-9]+")
        return load(*arguments, **options)

    monkeypatch.setattr(local_model, "LocalModel", load_meanwhile)
    target = os.path.realpath(output[-1] if output else "a.po")
    # The same file twice is filled once, and by one process.
    assert fill("a.po", *(output or ["./a.po"]))[0] == 0
    assert second[0][0] == 2 and second[0][1] == ""
    assert second[0][2] == (
        f"translate_po: {target}: another process is filling it. Wait for it "
        "to end, or choose another --output.\n"
    )
    assert pathlib.Path(target).read_text().count("fuzzy") == 3
    assert os.listdir(os.path.dirname(target)) == [os.path.basename(target)]


def test_two_at_once_write_one_report_each_as_a_whole(tmp_path, fill, model):
    report, counts = tmp_path / "report.tsv", {"a": 400, "b": 3}
    for name, count in counts.items():
        write(tmp_path / f"{name}.po", many(count))
    child = os.fork()
    if not child:
        os._exit(fill(tmp_path / "b.po", "--report", report)[0])
    assert fill(tmp_path / "a.po", "--report", report)[0] == 0
    assert os.waitpid(child, 0)[1] == 0
    rows = report.read_text().splitlines()[1:]
    (path,) = {row.split("\t")[0] for row in rows}
    assert len(rows) == counts[pathlib.Path(path).stem]
    assert sorted(os.listdir(tmp_path)) == ["a.po", "b.po", "report.tsv"]


def test_an_error_costs_nothing_that_was_translated(
    tmp_path, fill, model, monkeypatch
):
    path = write(tmp_path / "a.po", many(10))
    ask = model._ask_batch

    def fail(*arguments):
        if len(model.asked) >= 4:
            raise KeyboardInterrupt
        return ask(*arguments)

    monkeypatch.setattr(model, "_ask_batch", fail)
    assert fill(path, "--batch_size", "2")[0] == 130
    assert pathlib.Path(path).read_text().count("fuzzy") == 4


def test_a_full_disk_leaves_the_catalogue(tmp_path, fill, monkeypatch):
    path = write(tmp_path / "a.po", HEADER + BODY)

    def sync(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(atomic_files, "_sync", sync)
    status, _, error = fill(path)
    assert status == 1 and f"{path}: cannot be written (No space" in error
    assert pathlib.Path(path).read_text() == HEADER + BODY
    assert os.listdir(tmp_path) == ["a.po"]


def test_what_others_write_meanwhile_is_kept(tmp_path, fill, model):
    path = write(tmp_path / "a.po", many(3))
    ask = model._ask_batch

    def ask_slowly(*arguments):
        text = many(3).replace('msgstr ""\n\n', 'msgstr "dos"\n\n')
        write(tmp_path / "a.po", text)
        return ask(*arguments)

    model._ask_batch = ask_slowly
    assert fill(path)[0] == 0
    found = [entry.msgstr for entry in polib.pofile(path)]
    assert found == ["dos", "dos", "ENTRY 2 OF ``x2``"]


def test_a_link_stays_a_link(tmp_path, fill):
    path = write(tmp_path / "a.po", HEADER + BODY)
    (tmp_path / "b.po").symlink_to("a.po")
    assert fill(tmp_path / "b.po")[0] == 0
    assert (tmp_path / "b.po").is_symlink()
    assert pathlib.Path(path).read_text() == HEADER + FILLED
