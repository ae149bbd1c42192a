import errno
import fcntl
import os
import stat

import pytest

from tfcopy import atomic_files
from tfcopy.atomic_files import replacement, scratch_folder, write_atomically


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
    calls.clear()
    write_atomically(tmp_path / "a" / "b" / "x", lambda file: None)
    assert calls[:2] == [str(tmp_path), str(tmp_path / "a")]
    assert calls[3:] == [str(tmp_path / "a" / "b")]


def test_a_published_folder_is_on_the_disk(tmp_path, monkeypatch):
    calls = []

    def fsync(descriptor):
        calls.append(os.readlink(f"/proc/self/fd/{descriptor}"))

    new, folder = tmp_path / "new", tmp_path / "to"
    (new / "inside").mkdir(parents=True)
    (new / "inside" / "x").write_text("x")
    folder.mkdir()
    monkeypatch.setattr(atomic_files.os, "fsync", fsync)
    atomic_files.publish_folder(new, folder / "1", "x")
    inside = new / "inside"
    assert sorted(calls[:-1]) == sorted(map(str, (new, inside, inside / "x")))
    assert calls[-1] == str(folder)
    assert (folder / "1" / "inside" / "x").read_text() == "x"
    inside.mkdir(parents=True)
    with pytest.raises(OSError):
        atomic_files.publish_folder(new, folder / "1", "x")
    assert inside.exists()


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


def test_scratch_folders_of_the_living_and_of_others_are_kept(tmp_path):
    others = {".other-", ".making-", ".making-of", ".making-of-films"}
    with scratch_folder(tmp_path, ".making-") as first:
        with scratch_folder(tmp_path, ".making-") as second:
            assert first != second and os.path.isdir(first)
            (tmp_path / ".making-00000_ad" / "a").mkdir(parents=True)
            for name in others:
                (tmp_path / name).mkdir()
        with scratch_folder(tmp_path, ".making-") as third:
            names = {os.path.basename(path) for path in (first, third)}
            assert set(os.listdir(tmp_path)) == names | others
    assert set(os.listdir(tmp_path)) == others


def test_without_locks_nothing_is_taken_for_a_leftover(tmp_path, monkeypatch):
    def flock(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(atomic_files.fcntl, "flock", flock)
    (tmp_path / ".making-00000001").mkdir()
    (tmp_path / ".writing-00000001-x").touch()
    atomic_files.remove_leftovers(tmp_path)
    with scratch_folder(tmp_path, ".making-") as folder:
        write_atomically(tmp_path / "x", lambda file: file.write(b"x"))
    names = {".making-00000001", ".writing-00000001-x", "x"}
    assert set(os.listdir(tmp_path)) == names and not os.path.exists(folder)


def test_a_lock_that_was_taken_and_removed_meanwhile_is_none(
    tmp_path, monkeypatch
):
    path = tmp_path / "lock"
    flock, files = fcntl.flock, []

    def removed_at_first(descriptor, how):
        flock(descriptor, how)
        if not files:
            path.unlink()
        files.append(descriptor)

    monkeypatch.setattr(atomic_files.fcntl, "flock", removed_at_first)
    descriptor = atomic_files.lock(path, make=True)
    assert len(files) == 2
    with pytest.raises(BlockingIOError):
        atomic_files.lock(path)
    os.close(descriptor)
    os.close(atomic_files.lock(path))
    path.unlink()
    with pytest.raises(FileNotFoundError):
        atomic_files.lock(path)
    assert not path.exists()


def test_a_new_file_that_is_taken_for_a_leftover_is_made_anew(
    tmp_path, monkeypatch
):
    flock, taken = fcntl.flock, []

    def taken_at_first(descriptor, how):
        if not taken:
            taken.extend(tmp_path.iterdir())
            raise BlockingIOError
        flock(descriptor, how)

    def write(file):
        file.write(b"x")
        # As the other process does only now.
        taken[0].unlink()

    monkeypatch.setattr(atomic_files.fcntl, "flock", taken_at_first)
    write_atomically(tmp_path / "a", write)
    assert (tmp_path / "a").read_bytes() == b"x"
    assert os.listdir(tmp_path) == ["a"]


def test_a_leftover_is_locked_until_it_is_removed(tmp_path, monkeypatch):
    leftovers = [
        tmp_path / ".writing-00000001-x",
        tmp_path / ".making-00000001",
    ]
    leftovers[0].touch()
    leftovers[1].mkdir()
    removed = []

    def remove(path, **_):
        with pytest.raises(BlockingIOError):
            atomic_files.lock(path)
        removed.append(path)

    monkeypatch.setattr(atomic_files.os, "remove", remove)
    monkeypatch.setattr(atomic_files.shutil, "rmtree", remove)
    atomic_files.remove_leftovers(tmp_path)
    with scratch_folder(tmp_path, ".making-") as own:
        pass
    assert removed == [*map(str, leftovers), own]
