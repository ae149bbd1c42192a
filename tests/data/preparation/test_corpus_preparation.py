"""Folders of interrupted, other and damaged preparations."""

import os
import shutil

import pytest

from tfcopy import atomic_files, checked_files, filesystem
from tfcopy.data.corpora import text_pairs
from tfcopy.data.preparation import corpus_preparation, prepared_corpus
from tfcopy.data.preparation.preparation_steps import Preparation
from tfcopy.data.text.tokenization import Tokenizer

CUT = (Tokenizer("space"), Tokenizer("space"))
SIZES = {"source": 12, "target": 12}
# A pair that was there before is held out.
LEFT_OUT = {
    "train": dict(read=39, blank=2, too_long=1, duplicates=2, unlike=1, left=33)
}
LEFT_OUT |= {
    name: dict(read=1, blank=0, too_long=0, duplicates=0, unlike=0, left=1)
    for name in ("validation", "test")
}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    lines = [f"a{i} b{i % 7} c" for i in range(41)]
    lines[7:10] = lines[20:23]
    targets = [line.replace("b", "ß") for line in lines]
    targets[30], targets[31], targets[32] = "\u200b", "", "x" * 90
    lines[35] = targets[35] = "a " * 6
    files = [str(folder / name) for name in ("a.en", "a.fr")]
    for path, side in zip(files, (lines, targets)):
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in side)
    return text_pairs.load(tuple(files), tokenized=True)


@pytest.fixture(autouse=True)
def steps_here(monkeypatch, tmp_path):
    """The steps one after the other, without the seconds of Beam."""
    pipeline = pytest.importorskip("tfcopy.data.preparation.corpus_preparation")
    monkeypatch.setattr(pipeline, "run", run_steps)
    monkeypatch.setattr(atomic_files, "_sync", lambda path: None)  # slow
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run_steps(steps, *_):
    train = range(steps.num_train)
    for step in (steps.hash_pairs, steps.find_duplicates, steps.count_words):
        list(map(step, train))
    list(map(steps.merge_counts, range(steps.num_sections)))
    steps.make_vocabularies()
    for shard in steps.shards:
        steps.encode(*shard)
    steps.write_manifest()


def prepare(corpus, folder, min_count=1):
    filesystem.makedirs(folder)
    settings = prepared_corpus.Settings(
        CUT,
        SIZES,
        max_length=5,
        min_count=min_count,
        remove_duplicates=True,
        max_ratio=5,
    )
    corpus_preparation.prepare(corpus, settings, folder, pairs_per_shard=20)


def content(folder):
    """Content by name, without the lock."""
    found = {}
    for where, _, names in filesystem.walk(str(folder)):
        for name in sorted({*names} - {atomic_files.LOCK_NAME}):
            path = os.path.join(where, name)
            with filesystem.open(path, "rb") as file:
                found[filesystem.relpath(path, str(folder))] = file.read()
    return found


@pytest.fixture(scope="module")
def expected():
    """Filled by the first test that prepares without any trouble."""
    return {}


@pytest.fixture
def whole(corpus, expected, tmp_path):
    if not expected:
        # The user's own, whatever it is called.
        (tmp_path / "whole" / "preparing-notes").mkdir(parents=True)
        prepare(corpus, tmp_path / "whole")
        (tmp_path / "whole" / "preparing-notes").rmdir()
        expected.update(content(tmp_path / "whole"))
    return expected


class Killed(BaseException):
    """Stands for the end of the process."""


def prepare_until_killed(corpus, folder):
    """Stops before the manifest is written."""

    def killed(self):
        raise Killed

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Preparation, "write_manifest", killed)
        with pytest.raises(Killed):
            prepare(corpus, folder)


@pytest.fixture
def half(corpus, tmp_path):
    """The folder of a command that was killed."""
    prepare_until_killed(corpus, tmp_path / "half")
    return tmp_path / "half"


def test_it_tells_what_it_leaves_out_and_a_run_the_same(
    corpus, whole, tmp_path
):
    prepare(corpus, tmp_path / "own")
    assert content(tmp_path / "own") == whole
    assert not [name for name in whole if "/" in name]
    found = prepared_corpus.load(str(tmp_path / "own"))
    assert found.manifest["pairs"] == LEFT_OUT
    train = found.train
    assert train.left_out == {"duplicates": 2, "unlike": 1}
    assert (train.num_pairs, train.num_skipped) == (34, 2)


def test_another_command_does_not_go_on_with_it(corpus, whole, half):
    before = content(half)
    with pytest.raises(ValueError, match=r"has begun .*half/preparing-\w+"):
        prepare(corpus, half, min_count=2)
    assert content(half) == before
    prepare(corpus, half)
    assert content(half) == whole


def test_a_damaged_file_of_the_steps_is_made_anew(
    corpus, whole, half, tmp_path
):
    (work,) = half.glob("preparing-*")
    names = sorted(path.name for path in work.iterdir())
    kinds = {name.split("-0")[0] + name[-6:]: name for name in names}
    assert len(kinds) > 20
    for name in kinds.values():
        for damage in (
            lambda data: data[: len(data) // 2],
            lambda data: data[:-1] + bytes([data[-1] ^ 1]),
        ):
            copy = tmp_path / "copy"
            shutil.copytree(half, copy)
            path = copy / work.name / name
            path.write_bytes(damage(path.read_bytes()))
            prepare(corpus, copy)
            assert content(copy) == whole, name
            shutil.rmtree(copy)


@pytest.mark.few(1)
@pytest.mark.parametrize("is_damaged", [False, True])
def test_a_command_killed_while_it_publishes_goes_on(
    corpus, whole, tmp_path, monkeypatch, is_damaged
):
    encoded = []
    encode, publish = Preparation.encode, atomic_files.publish_file

    def killed_after(number):
        calls = []

        def move(*paths):
            calls.append(paths)
            if len(calls) > number:
                raise Killed
            publish(*paths)

        return move

    monkeypatch.setattr(
        Preparation,
        "encode",
        lambda self, *shard: encoded.append(shard) or encode(self, *shard),
    )
    for number in (0, 1, len(whole) - 1):
        folder = tmp_path / str(number)
        monkeypatch.setattr(atomic_files, "publish_file", killed_after(number))
        with pytest.raises(Killed):
            prepare(corpus, folder)
        monkeypatch.setattr(atomic_files, "publish_file", publish)
        encoded.clear()
        if is_damaged and number < len(whole) - 1:
            (path,) = folder.glob("preparing-*/test-00000.jsonl")
            path.write_bytes(b"[]")
        prepare(corpus, folder)
        assert content(folder) == whole
        assert bool(encoded) == (is_damaged and number < len(whole) - 1)


@pytest.mark.parametrize(
    "name", ["source_vocabulary.txt", "train-00003-of-00004.npy"]
)
def test_a_file_of_somebody_else_is_refused(corpus, whole, tmp_path, name):
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / name).write_text("mine")
    (tmp_path / "own" / "notes.txt").write_text("mine")
    with pytest.raises(ValueError, match=f"own/{name} was not written by"):
        prepare(corpus, tmp_path / "own")
    assert set(content(tmp_path / "own").values()) == {b"mine"}
    (tmp_path / "own" / name).unlink()
    prepare(corpus, tmp_path / "own")
    assert content(tmp_path / "own") == {**whole, "notes.txt": b"mine"}


def test_nor_is_one_replaced_that_came_meanwhile(corpus, half):
    def late(steps):
        (half / "test-00000.jsonl").write_text("mine")
        made(steps)

    made = Preparation.write_manifest
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Preparation, "write_manifest", late)
        with pytest.raises(ValueError, match="test-00000.jsonl was not"):
            prepare(corpus, half)
    assert (half / "test-00000.jsonl").read_text() == "mine"
    assert not (half / prepared_corpus.MANIFEST).exists()


def test_one_process_has_the_folder(corpus, whole, half):
    before = content(half)
    held = atomic_files.lock(half / atomic_files.LOCK_NAME, make=True)
    try:
        with pytest.raises(ValueError, match="process .* is preparing a corp"):
            prepare(corpus, half)
    finally:
        os.close(held)
    assert content(half) == before
    prepare(corpus, half)
    assert content(half) == whole


def test_what_was_left_beside_a_manifest_is_removed(corpus, half, tmp_path):
    prepare(corpus, tmp_path / "own")
    (work,) = half.glob("preparing-*")
    shutil.copytree(work, tmp_path / "own" / work.name)
    before = content(tmp_path / "own")
    prepare(corpus, tmp_path / "own")
    assert len(content(tmp_path / "own")) < len(before)
    assert not list((tmp_path / "own").glob("preparing-*"))
    with pytest.raises(ValueError, match="holds another corpus"):
        prepare(corpus, tmp_path / "own", min_count=2)


def test_a_store_has_the_same(corpus, whole):
    def write(path, data):
        atomic_files.write_atomically(path, lambda file: file.write(data))

    folder = "ram://test_corpus_preparation/own"
    prepare_until_killed(corpus, folder)
    with pytest.raises(ValueError, match=r"has begun .*preparing-\w+"):
        prepare(corpus, folder, min_count=2)
    (name,) = filesystem.glob(f"{folder}/preparing-*/hashes-00001.npy")
    with filesystem.open(name, "rb") as file:
        data = file.read()
    write(name, data[:-1] + bytes([data[-1] ^ 1]))
    prepare(corpus, folder)
    assert content(folder) == whole
    write(f"{folder}2/vocabulary.txt", b"mine")
    prepare(corpus, f"{folder}2")
    write(f"{folder}3/target_vocabulary.txt", b"mine")
    with pytest.raises(ValueError, match="own3/target_vocabulary.txt was not"):
        prepare(corpus, f"{folder}3")


@pytest.mark.parametrize("name", ["../x", "/x", "a/../../x"])
@pytest.mark.parametrize("part", ["vocabularies", "splits", "texts"])
def test_a_manifest_names_no_file_outside(whole, tmp_path, part, name):
    (tmp_path / prepared_corpus.MANIFEST).write_bytes(
        whole[prepared_corpus.MANIFEST]
    )
    manifest = checked_files.read_json(tmp_path / prepared_corpus.MANIFEST)
    if part == "texts":
        manifest[part]["checksums"][name] = "0"
    else:
        found = next(iter(manifest[part].values()))
        found = found["shards"][0] if part == "splits" else found
        found["file"] = name
    checked_files.write_json(tmp_path / prepared_corpus.MANIFEST, manifest)
    with pytest.raises(checked_files.DamagedFileError, match="not within its"):
        prepared_corpus.read_manifest(tmp_path)
