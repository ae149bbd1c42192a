import os
import resource
import zipfile

import numpy as np
import pytest

from tfcopy import checked_files
from tfcopy.checked_files import DamagedFileError

ARRAYS = {
    "info": np.frombuffer(b'{"update": 3}', np.uint8),
    "model/0000": np.arange(6, dtype=np.float32).reshape(2, 3),
    "empty": np.zeros((0, 2)),
}
CONTENT = {"a": [1, 0.5, None, "é \ud800"], "b": {"2": (3,)}, "seed": 10**18}


def assert_same(found, expected):
    assert list(found) == list(expected)
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        np.testing.assert_array_equal(found[name], array)


def flips(path):
    """Damages each byte of a file in turn, in one bit."""
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for place in range(len(whole)):
        data = bytearray(whole)
        data[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(data)
        yield
    for length in range(0, len(whole), 50):
        path.write_bytes(whole[:length])
        yield


FIELDS = {"a": str, "b": [int], "c": {"d": float, ...: [dict]}}


@pytest.mark.parametrize(
    "content, message",
    [
        ({}, ""),
        ({"a": None, "b": [1, None], "c": {"d": 1, "e": [{}]}, "f": 3}, ""),
        ({"a": 1}, '"a" must be text. Received: 1'),
        ({"b": {}}, '"b" must be a list. Received: {}'),
        ({"b": [1, True]}, '"b[1]" must be an integer. Received: true'),
        ({"c": {"d": "x"}}, '"c.d" must be a number. Received: "x"'),
        (
            {"c": {"d": 10**400}},
            f'"c.d" must be a number. Received: 1{"0" * 79}',
        ),
        ({"c": {"e": [3]}}, '"c.e[0]" must be an object. Received: 3'),
    ],
)
def test_fields_have_types(content, message):
    if not message:
        checked_files.check_fields("x.json", content, optional=FIELDS)
        return
    with pytest.raises(DamagedFileError) as caught:
        checked_files.check_fields("x.json", content, optional=FIELDS)
    assert str(caught.value) == f"x.json is damaged ({message})."
    with pytest.raises(DamagedFileError, match='it has no "g"'):
        checked_files.check_fields("x.json", content, {"g": str})


def test_arrays_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "x.npz"
    checked_files.write_arrays(path, ARRAYS)
    assert_same(checked_files.read_arrays(path), ARRAYS)
    with np.load(path) as archive:
        assert_same(dict(archive), ARRAYS)
    np.savez(path, **ARRAYS)
    assert_same(checked_files.read_arrays(path), ARRAYS)
    names = ["model/0000"]
    assert list(checked_files.read_arrays(path, names)) == names
    with pytest.raises(DamagedFileError, match="x.npz is damaged .*model/2"):
        checked_files.read_arrays(path, ["model/2"])


def test_objects_are_read_as_they_were_written(tmp_path):
    path = tmp_path / "x.json"
    checked_files.write_json(path, CONTENT)
    assert checked_files.read_json(path) == {**CONTENT, "b": {"2": [3]}}
    path.write_text('{"a": 1}')
    assert checked_files.read_json(path) == {"a": 1}
    path.write_text('{"a": 1, "sha256": 2}')  # a vocabulary's subword
    assert checked_files.read_json(path) == {"a": 1, "sha256": 2}


@pytest.mark.parametrize("kind", ["arrays", "json"])
def test_no_damage_is_read_as_another_value(tmp_path, kind):
    path = tmp_path / "x"
    if kind == "arrays":
        checked_files.write_arrays(path, ARRAYS)
        expected, read = ARRAYS, checked_files.read_arrays
        same = assert_same
    else:
        checked_files.write_json(path, CONTENT)
        expected, read = checked_files.read_json(path), checked_files.read_json

        def same(found, expected):
            # A name of another spelling is not the checksum's.
            assert found.items() >= expected.items()

    damaged = 0
    for _ in flips(path):
        try:
            same(read(path), expected)
        except DamagedFileError as error:
            damaged += 1
            assert str(error).startswith(f"{path} is damaged (")
            assert "\n" not in str(error)
    assert damaged > 100


def test_a_name_that_becomes_that_of_another_array_is_damage(tmp_path):
    path = tmp_path / "x"
    arrays = {"model/0000": np.zeros(2), "model/0001": np.ones(2)}
    checked_files.write_arrays(path, arrays)
    data = bytearray(path.read_bytes())
    data[data.rindex(b"model/0001") + 9] ^= 1
    path.write_bytes(data)
    with pytest.raises(DamagedFileError, match="an array is missing"):
        checked_files.read_arrays(path)


def test_what_cannot_be_read_is_named(tmp_path):
    for read in (checked_files.read_arrays, checked_files.read_json):
        with pytest.raises(FileNotFoundError):
            read(tmp_path / "none")
        with pytest.raises(
            DamagedFileError, match="cannot be read .*directory"
        ):
            read(tmp_path)


def test_a_full_disk_is_one_error(tmp_path):
    """The archive has nothing more to say when it is collected."""
    path = tmp_path / "x.npz"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        with pytest.raises(OSError, match=f"{path}: cannot be written .File"):
            checked_files.write_arrays(path, {"x": np.ones(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []
    checked_files.write_arrays(path, {"x": np.ones(100_000)})
    assert zipfile.ZipFile(path).testzip() is None
