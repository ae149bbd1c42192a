import os

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.corpora import corpus_files
from tests.data.real_corpora import real
from tfcopy.data.corpora import text_pairs
from tfcopy.data.corpora.corpus import CorpusError, is_blank

ODD_LINES = [
    "Zeile\u2028mit\u2029Trennern\u0085und\x0b\x0c\x1c\x1d\x1e",
    "\u00a0half blank",
    "tab\tand \u00a0 space ",
    "北京 🙂 O'Brien-Şahin",
    "a carriage\rreturn inside",
]
lines = st.lists(
    st.text(st.characters(exclude_characters="\n\ufeff", codec="utf-8"))
    | st.sampled_from(["", " ", "\u2028", *ODD_LINES]),
    min_size=1,
)


def write(path, lines, end="\n", last_end="\n"):
    return corpus_files.write(path, end.join(lines) + last_end)


def write_pair(folder, sources, targets, suffix=""):
    return (
        write(folder / f"text.en{suffix}", sources),
        write(folder / f"text.fr{suffix}", targets),
    )


def numbered(folder, n):
    return write_pair(
        folder, [f"s{i}" for i in range(n)], [f"t{i}" for i in range(n)]
    )


def everything(corpus):
    return [pair for split in corpus.splits.values() for pair in split]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("pairs")


@settings(deadline=None)
@given(lines, st.randoms(), st.sampled_from(["", ".gz"]))
def test_pairs_stay_aligned_whatever_the_lines_hold(folder, lines, rng, suffix):
    targets = [rng.choice([f"{i}: {s}", " "]) for i, s in enumerate(lines)]
    files = write_pair(folder, lines, targets, suffix)
    expected = [
        (source.removesuffix("\r"), target.removesuffix("\r"))
        for source, target in zip(lines, targets)
        if not is_blank((source, target))
    ]
    if not expected:
        with pytest.raises(CorpusError, match="no sentence pair"):
            text_pairs.load(files, files, files)
        return
    corpus = text_pairs.load(files, files, files)
    assert list(corpus.train) == expected
    assert corpus.train.num_pairs == len(expected)
    assert corpus.train.num_skipped == len(lines) - len(expected)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("last_end", ["", "\n"])
def test_line_ends_are_stripped(tmp_path, end, last_end):
    source = write(tmp_path / "a", ["one", "two"], end, last_end)
    target = write(tmp_path / "b", ["un", "deux"])
    corpus = text_pairs.load(*[(source, target)] * 3)
    assert list(corpus.train) == [("one", "un"), ("two", "deux")]


@given(st.integers(5, 60), st.integers(0, 3))
@settings(deadline=None, max_examples=25)
def test_held_out_pairs_are_disjoint_and_nothing_is_lost(folder, n, seed):
    corpus = text_pairs.load(numbered(folder, n), num_held_out=2, seed=seed)
    assert sorted(everything(corpus)) == sorted(
        (f"s{i}", f"t{i}") for i in range(n)
    )
    for split, size in (("train", n - 4), ("validation", 2), ("test", 2)):
        assert len(list(corpus.splits[split])) == size
        assert corpus.splits[split].num_pairs == size


def test_held_out_pairs_are_spread_over_the_file_and_follow_the_seed(tmp_path):
    files = numbered(tmp_path, 1000)
    corpus = text_pairs.load(files, num_held_out=10)
    again = text_pairs.load(files, num_held_out=10)
    other = text_pairs.load(files, num_held_out=10, seed=1)
    assert list(corpus.test) == list(again.test) != list(other.test)
    assert corpus.fingerprint == again.fingerprint != other.fingerprint
    held_out = sorted(
        int(source[1:])
        for split in (corpus.validation, corpus.test)
        for source, _ in split
    )
    assert [i // 50 for i in held_out] == list(range(20))


def test_only_missing_splits_are_held_out(tmp_path):
    files = numbered(tmp_path, 100)
    corpus = text_pairs.load(files, test=files)
    sizes = {name: split.num_pairs for name, split in corpus.splits.items()}
    assert sizes == {"train": 95, "validation": 5, "test": 100}
    assert len(list(corpus.test)) == 100


def test_fingerprint_is_that_of_the_text_not_of_the_file(tmp_path):
    plain = write_pair(tmp_path, ["a", "b"], ["c", "d"])
    gzipped = write_pair(tmp_path, ["a", "b"], ["c", "d"], ".gz")
    corpora = [text_pairs.load(*[files] * 3) for files in (plain, gzipped)]
    write(plain[1], ["c", "e"])
    corpora.append(text_pairs.load(*[plain] * 3))
    first, same, different = (corpus.fingerprint for corpus in corpora)
    assert first == same != different


# === Bad input: one message that names the place ===


def check_message(files, *parts):
    corpus_files.check_message(
        lambda: text_pairs.load(files, files, files), *parts
    )


def test_missing_file(tmp_path):
    files = numbered(tmp_path, 3)
    gone = tmp_path / "gone.fr"
    check_message((files[0], gone), str(gone), "No such file", "Check the path")
    check_message((files[0], tmp_path), str(tmp_path), "directory")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_different_lengths_give_both_counts(tmp_path, suffix):
    files = write_pair(tmp_path, ["a"] * 1204, ["b"] * 1201, suffix)
    for pair in (files, files[::-1]):
        check_message(pair, *pair, "1,204", "1,201")


def test_invalid_utf8_names_line_and_byte(tmp_path):
    files = numbered(tmp_path, 5)
    latin1 = tmp_path / "latin1.fr"
    latin1.write_bytes("un\ndeux\ntrès\nété\ncinq\n".encode("latin-1"))
    check_message(
        (files[0], latin1), f"{latin1}, line 3", "0xe8 at position 3", "UTF-8"
    )


def test_pipes_and_devices_are_refused_at_once(tmp_path):
    """They would be empty, or another, when they are read again."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, "/dev/zero", "/dev/null"):
        files = numbered(tmp_path, 3)
        check_message((files[0], path), f"{path}: a pipe or a device")


def test_empty_corpus(tmp_path):
    empty = write(tmp_path / "empty", [], last_end="")
    check_message((empty, empty), str(empty), "no sentence pair")
    blank = write(tmp_path / "blank", ["", " ", "\u00a0"])
    check_message((blank, blank), str(blank), "only 3 with an empty side")


def test_a_file_called_demo_is_not_of_a_generated_corpus(tmp_path):
    corpus = text_pairs.load(
        [write(tmp_path / name, [*"abcde"]) for name in ("demo.en", "demo.fr")]
    )
    assert "demo" in corpus.name and not corpus.generated


def test_too_few_pairs_to_hold_out(tmp_path):
    files = numbered(tmp_path, 4)
    with pytest.raises(CorpusError, match="4 sentence pairs in"):
        text_pairs.load(files, num_held_out=2)
    with pytest.raises(CorpusError, match="Cannot hold out -1"):
        text_pairs.load(files, num_held_out=-1)


def test_reads_multi30k():
    files = [
        real(f"multi30k/{name}.en.gz", f"multi30k/{name}.fr.gz")
        for name in ("train", "val", "test_2016_flickr")
    ]
    corpus = text_pairs.load(*files)
    sizes = [29_000, 1_014, 1_000]
    splits = [corpus.train, corpus.validation, corpus.test]
    assert [split.num_pairs for split in splits] == sizes
    assert [len(list(split)) for split in splits] == sizes
