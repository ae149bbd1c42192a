import errno
import os
import stat

import pytest

from tfcopy import atomic_files
from tfcopy.atomic_files import replacement, write_atomically


def test_a_file_is_written_with_its_folders(tmp_path):
    path = tmp_path / "new" / "folder" / "words.txt"
    for text in (b"old", b"new"):
        write_atomically(path, lambda file: file.write(text))
        assert path.read_bytes() == text
    assert os.listdir(path.parent) == ["words.txt"]
    plain = tmp_path / "plain"
    plain.touch()
    assert stat.S_IMODE(path.stat().st_mode) == plain.stat().st_mode & 0o777


def test_the_old_file_is_there_until_the_new_one_is_whole(tmp_path):
    path = tmp_path / "best.weights.h5"
    path.write_text("old")
    with replacement(path) as first, replacement(path) as second:
        assert first != second and first.endswith("best.weights.h5")
        for new in (first, second):
            with open(new, "w") as file:
                file.write(new)
        assert path.read_text() == "old"
    assert path.read_text() == first
    assert os.listdir(tmp_path) == ["best.weights.h5"]


def test_name_and_content_are_on_the_disk(tmp_path, monkeypatch):
    calls = []

    def fsync(descriptor):
        calls.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    write_atomically(tmp_path / "x", lambda file: file.write(b"x"))
    assert os.path.basename(calls[0]).endswith("-x")
    assert calls[1:] == [str(tmp_path)]


@pytest.mark.parametrize(
    "error, message",
    [
        (OSError(errno.ENOSPC, "No space left"), "No space left.*Free some"),
        (OSError(errno.EACCES, "Permission denied"), r"Permission denied\)\.$"),
        (ValueError("wrong"), "^wrong$"),
        (KeyboardInterrupt("stopped"), "^stopped$"),
    ],
)
def test_what_fails_leaves_the_old_file(tmp_path, error, message):
    path = tmp_path / "words.txt"
    path.write_text("old")

    def fail(file):
        file.write(b"new")
        raise error

    is_from_system = isinstance(error, OSError)
    kind = OSError if is_from_system else type(error)
    with pytest.raises(kind, match=message) as raised:
        write_atomically(path, fail)
    if is_from_system:
        assert raised.value.errno == error.errno
        assert str(path) in str(raised.value)
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["words.txt"]
