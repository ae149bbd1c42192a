"""Local paths and URLs behave alike; `ram://` is a store in memory."""

import errno
import hashlib
import itertools
import os
import zipfile

import pytest

from tfcopy import atomic_files, checked_files, filesystem
from tfcopy.data.corpora.text_pairs import read_lines

_NUMBERS = itertools.count()


@pytest.fixture(params=["local", "ram"])
def root(request, tmp_path):
    """An empty folder."""
    if request.param == "local":
        return str(tmp_path / "root")
    url = f"ram://{os.getpid()}-{next(_NUMBERS)}"
    filesystem.makedirs(url)
    return url


def write(path, data):
    atomic_files.write_atomically(path, lambda file: file.write(data))


def tree(root):
    write(f"{root}/a/x.en", b"one\ntwo\n")
    write(f"{root}/a/b/y.en", b"three")
    write(f"{root}/z.fr", b"")
    return root


def test_what_names_a_scheme_is_a_url():
    assert filesystem.is_url("gs://bucket/run")
    assert not any(map(filesystem.is_url, ["a/b", "/a://b", "C:\\x", "://x"]))


def test_what_is_there(root):
    tree(root)
    there = [f"{root}/a", f"{root}/a/x.en", f"{root}/none", f"{root}/a/none"]
    assert list(map(filesystem.exists, there)) == [True, True, False, False]
    assert list(map(filesystem.isdir, there)) == [True, False, False, False]
    assert list(map(filesystem.isfile, there)) == [False, True, False, False]
    assert sorted(filesystem.listdir(f"{root}/a")) == ["b", "x.en"]
    assert filesystem.size(f"{root}/a/x.en") == 8
    written = filesystem.getmtime(f"{root}/a/x.en")
    assert written > 1e9 or filesystem.is_url(root)  # memory has no clock


def test_no_signal_can_end_a_copy_to_a_store_halfway(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"new")
    target.write_bytes(b"old one")
    monkeypatch.setattr("shutil.copyfileobj", interrupted)
    filesystem.copy(source, target)
    assert target.read_bytes() == b"new"


def test_walk_visits_all_but_what_is_taken_out(root):
    tree(root)
    assert {
        filesystem.relpath(where, root): (sorted(folders), sorted(files))
        for where, folders, files in filesystem.walk(root)
    } == {
        ".": (["a"], ["z.fr"]),
        "a": (["b"], ["x.en"]),
        "a/b": ([], ["y.en"]),
    }
    visited = []
    for where, folders, _ in filesystem.walk(root):
        visited.append(where)
        folders.clear()
    assert visited == [root]
    assert list(filesystem.walk(f"{root}/none")) == []


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("*", ["a", "z.fr"]),
        ("*.fr", ["z.fr"]),
        ("a/?.en", ["a/x.en"]),
        ("*/*.en", ["a/x.en"]),
        ("**/*.en", ["a/b/y.en", "a/x.en"]),
        ("?/**/*.en", ["a/b/y.en", "a/x.en"]),
        ("**/b/*", ["a/b/y.en"]),
        ("a/[xyz].en", ["a/x.en"]),
        ("a/x.en", ["a/x.en"]),
        ("a/none", []),
        ("none/*", []),
    ],
)
def test_patterns(root, pattern, expected):
    tree(root)
    found = filesystem.glob(f"{root}/{pattern}")
    assert sorted(found) == [f"{root}/{name}" for name in expected]


def test_reading_as_python_reads(root):
    path = f"{root}/x.bin"
    write(path, "é\nb\r\nlast".encode())
    with filesystem.open(path, "rb") as file:
        assert file.peek(2)[:2] == "é".encode()
        assert list(file) == ["é\n".encode(), b"b\r\n", b"last"]
        file.seek(-4, os.SEEK_END)
        assert file.tell() == 6 and file.read(2) == b"la"
        assert file.read() == b"st" and file.read() == b""
    with filesystem.open(path, encoding="utf-8") as file:
        assert file.read() == "é\nb\nlast"
    with filesystem.open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").digest()
    assert digest == hashlib.sha256("é\nb\r\nlast".encode()).digest()
    with filesystem.local_copy(path) as local, open(local, "rb") as file:
        assert file.read() == "é\nb\r\nlast".encode()
        assert os.path.basename(local) == "x.bin"


def test_errors_are_those_of_the_system(root):
    tree(root)
    for call in (filesystem.remove, filesystem.size, filesystem.open):
        with pytest.raises(FileNotFoundError) as raised:
            call(f"{root}/none")
        assert raised.value.filename == f"{root}/none"
        assert raised.value.errno == errno.ENOENT
    with pytest.raises(OSError):
        filesystem.open(f"{root}/a", "rb").read()


def test_removing(root):
    tree(root)
    filesystem.remove(f"{root}/z.fr")
    filesystem.rmtree(f"{root}/a")
    assert filesystem.listdir(root) == []


def test_paths_in_one_form():
    assert filesystem.abspath("gs://b/x/../y//z/") == "gs://b/y/z"
    assert filesystem.abspath("x") == os.path.abspath("x")
    assert filesystem.realpath("gs://b/./y") == "gs://b/y"
    assert filesystem.relpath("gs://b/run/a", "gs://b/data") == "../run/a"
    assert filesystem.samefile("gs://b/x", "gs://b/y/../x")
    with pytest.raises(ValueError, match="no path from"):
        filesystem.relpath("gs://b/run", "/tmp")


def test_a_scheme_that_nobody_knows_is_named():
    with pytest.raises(OSError, match="knows no scheme nowhere://; tensorflow"):
        filesystem.exists("nowhere://a/b")
    with pytest.raises(OSError, match="knows no scheme nowhere://"):
        filesystem.isdir("nowhere://a/b")
    with pytest.raises(ValueError, match="no mode 'w' under a URL"):
        filesystem.open("ram://a/b", "w")


# === What is built on it ===


def test_replacing_a_file(root):
    path = f"{root}/new/x.bin"
    for data in (b"longer", b"new"):
        atomic_files.write_atomically(
            path, lambda file, data=data: file.write(data)
        )
    with filesystem.open(path, "rb") as file:
        assert file.read() == b"new"
    with pytest.raises(ZeroDivisionError):
        atomic_files.write_atomically(path, lambda file: 1 / 0)
    assert filesystem.listdir(f"{root}/new") == ["x.bin"]
    with filesystem.open(path, "rb") as file:
        assert file.read() == b"new"


def test_publishing_a_folder(root, monkeypatch):
    """Where folders are copied, the file that readers want comes last."""
    copied, copy = [], filesystem.copy
    monkeypatch.setattr(
        filesystem, "copy", lambda *x: (copied.append(x[1]), copy(*x))
    )
    target = f"{root}/7"
    atomic_files.make_folder(root)
    with atomic_files.scratch_folder(root, ".making-") as folder:
        write(f"{folder}/7/saved_model.pb", b"graph")
        write(f"{folder}/7/variables/x", b"weights")
        write(f"{folder}/7/z.txt", b"")
        atomic_files.publish_folder(f"{folder}/7", target, "saved_model.pb")
        os.makedirs(f"{folder}/8")
        write(f"{folder}/8/saved_model.pb", b"other")
        with pytest.raises(OSError):
            atomic_files.publish_folder(f"{folder}/8", target, "saved_model.pb")
    assert filesystem.listdir(root) == ["7"]
    with filesystem.open(f"{target}/saved_model.pb", "rb") as file:
        assert file.read() == b"graph"
    assert filesystem.isfile(f"{target}/variables/x")
    if filesystem.is_url(root):
        assert copied[-1] == f"{target}/saved_model.pb"


def test_whether_a_folder_can_be_written(root):
    atomic_files.check_writable(f"{root}/new")
    assert filesystem.listdir(f"{root}/new") == []
    with pytest.raises(OSError):
        atomic_files.check_writable("nowhere://a/b")


def test_checked_files(root):
    import numpy as np

    path = f"{root}/x"
    checked_files.write_json(f"{path}.json", {"a": "é"})
    assert checked_files.read_json(f"{path}.json") == {"a": "é"}
    checked_files.write_arrays(f"{path}.npz", {"w": np.arange(3)})
    assert checked_files.read_arrays(f"{path}.npz")["w"].tolist() == [0, 1, 2]
    with pytest.raises(FileNotFoundError):
        checked_files.read_json(f"{root}/none")
    with filesystem.open(f"{path}.npz", "rb") as file:
        data = bytearray(file.read())
    data[60] ^= 1
    write(f"{path}.npz", bytes(data))
    with pytest.raises(checked_files.DamagedFileError):
        checked_files.read_arrays(f"{path}.npz")


def test_lines_of_plain_gzipped_and_archived_files(root):
    import gzip

    lines = ["one", "zwei é", ""]
    data = "\n".join([*lines, ""]).encode()
    write(f"{root}/x.txt", data)
    write(f"{root}/x.gz", gzip.compress(data))
    assert list(read_lines(f"{root}/x.txt")) == lines
    assert list(read_lines(f"{root}/x.gz")) == lines
    with atomic_files.replacement(f"{root}/x.zip") as new:
        with zipfile.ZipFile(new, "w") as archive:
            archive.writestr("x.txt", data)
    from tfcopy.data.corpora import sentences

    (member,) = sentences.find_files(f"{root}/x.zip")
    assert list(read_lines(member)) == lines


def test_what_is_mapped_into_memory_is_copied_once(
    root, monkeypatch, tmp_path_factory
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    path, data = f"{root}/x.npy", b"data"
    checksum = hashlib.sha256(data).hexdigest()
    write(path, data)
    local = checked_files.local_cache(path, checksum)
    assert filesystem.read_bytes(local) == data
    if filesystem.is_url(root):
        filesystem.remove(path)
        assert checked_files.local_cache(path, checksum) == local
        # A damaged copy is made again, and damage is not copied.
        write(local, b"DATA")
        write(path, data)
        assert checked_files.local_cache(path, checksum) == local
        assert filesystem.read_bytes(local) == data
        write(local, b"DATA")
        write(path, b"other")
        with pytest.raises(checked_files.DamagedFileError, match="SHA-256"):
            checked_files.local_cache(path, checksum)
