"""The files of TensorFlow Serving, written where nothing else is."""

import os
import re

import pytest

from tfcopy.serving import serving_files
from tfcopy.serving.serving_files import FILES

NAMES = {"compose.yaml", "batching.config", "monitoring.config", "c/ask.c"}


def content(folder):
    """What is in a folder, by path."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("name", ["serving", "we ird\n\udcff;rm $(id)/x"])
def test_all_files_are_written_and_told(tmp_path, capsys, name):
    folder = tmp_path / name
    assert serving_files.main([str(folder)]) == 0
    found = content(folder)
    assert NAMES < found.keys() <= content(FILES).keys()
    assert found.items() <= content(FILES).items()
    printed = capsys.readouterr().out
    assert printed.count(": written\n") == len(found)
    assert f"docker compose -f {str(folder)[:9]}" in printed.replace("'", "")
    assert serving_files.main([str(folder)]) == 0
    assert capsys.readouterr().out.count(": is there\n") == len(found)
    assert content(folder) == found


def test_without_a_name_it_is_the_folder_that_the_pages_name(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert serving_files.main([]) == 0
    assert NAMES < content(tmp_path / "serving").keys()


def edited(folder):
    (folder / "compose.yaml").write_text("services: {}\n")


def folder_for_file(folder):
    (folder / "compose.yaml").mkdir()


def pipe(folder):
    os.mkfifo(folder / "prometheus.yml")


def link(folder):
    (folder / "compose.yaml").symlink_to("nowhere")


def file_for_folder(folder):
    (folder / "c").write_text("mine\n")


@pytest.mark.parametrize(
    "occupy, message",
    [
        (edited, "/compose.yaml: something else is there"),
        (folder_for_file, "/compose.yaml: something else is there"),
        (pipe, "/prometheus.yml: something else is there"),
        (link, "/compose.yaml: something else is there"),
        (file_for_folder, "/c: File exists"),
    ],
)
def test_what_is_there_stays_and_nothing_is_written(
    tmp_path, capsys, occupy, message
):
    occupy(tmp_path)
    before = content(tmp_path), sorted(os.listdir(tmp_path))
    assert serving_files.main([str(tmp_path)]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.match(f"serving_files: .*{message}", line), line
    assert (content(tmp_path), sorted(os.listdir(tmp_path))) == before


def test_a_folder_that_cannot_be_made_is_named(tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert serving_files.main([str(tmp_path / "file" / "serving")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "file/serving" in line and "Not a directory" in line


def test_a_folder_without_permission_is_named(tmp_path, capsys, monkeypatch):
    def refuse(path, *arguments, **options):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(os, "makedirs", refuse)  # Root may write anywhere.
    assert serving_files.main([str(tmp_path / "serving")]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search("serving.*: Permission denied", line)
