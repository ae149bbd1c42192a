"""The programs of an export, whose files change while they run."""

import concurrent.futures
import os
import pathlib
import shutil

import pytest

from tfcopy import filesystem
from tfcopy.runtime import litert_engine
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.signatures import ModelError

pytest.importorskip("ai_edge_litert")

DEMO = pathlib.Path(__file__).parents[2] / "docs/demo/europarl_ps"
TEXTS = ["Mr Łukasz has the floor ."]


@pytest.fixture
def export(tmp_path):
    return pathlib.Path(shutil.copytree(DEMO, tmp_path / "1"))


@pytest.mark.parametrize("disk", ["free", "full"])
def test_a_program_that_is_overwritten_in_place_still_answers(
    export, disk, monkeypatch
):
    if disk == "full":
        monkeypatch.setattr(
            litert_engine.tempfile,
            "TemporaryFile",
            lambda: open("/dev/full", "w+b"),
        )
    path = export / "assets.extra" / litert_engine.FILE_NAME
    model = LocalModel(export, engine="litert", at_once=2)
    expected = model.translate(TEXTS)
    for damage in (b"\xff" * path.stat().st_size, b"x", b""):
        with open(path, "r+b") as file:
            file.write(damage)
            file.truncate()
        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            for found in threads.map(model.translate, [TEXTS] * 4):
                assert found == expected
        with pytest.raises(
            ModelError, match="is damaged, or of another export"
        ):
            LocalModel(export, engine="litert")


def test_a_copy_of_a_remote_program_is_compared(export, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    url = f"ram://{os.getpid()}-program/1"
    for path in export.rglob("*"):
        if path.is_file():
            target = f"{url}/{path.relative_to(export)}"
            filesystem.makedirs(os.path.dirname(target))
            filesystem.copy(path, target)
    expected = LocalModel(export, engine="litert").translate(TEXTS)
    assert LocalModel(url, engine="litert").translate(TEXTS) == expected
    (cached,) = (tmp_path / "cache").rglob("*.tflite")
    cached.write_bytes(cached.read_bytes()[::-1])
    assert LocalModel(url, engine="litert").translate(TEXTS) == expected
    # Where no cache can be written.
    monkeypatch.setenv("XDG_CACHE_HOME", str(cached))
    assert LocalModel(url, engine="litert").translate(TEXTS) == expected
