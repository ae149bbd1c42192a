import gzip
import re

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.corpora import corpus_files
from tfcopy.data.corpora import gigaword
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.text import blanks
from tfcopy.data.text.tokenization import normalize_blanks

PAIRS = [
    ("UNK said #.## UNKNOWN of UNK .", "UNK pays"),
    ("x UNK UNK UNK", "JUNK UNK's"),
]
EXPECTED = [
    ("<unk> said #.## UNKNOWN of <unk> .", "<unk> pays"),
    ("x <unk> <unk> <unk>", "JUNK UNK's"),
]


class Gigaword(
    corpus_files.TinyDataset,
    skip_registration=True,  # TFDS has one of this name
):
    VERSION = tfds.core.Version("1.2.0")
    features = corpus_files.texts("document", "summary")
    supervised_keys = ("document", "summary")
    splits = dict.fromkeys(
        corpus_files.SPLITS, [{"document": x, "summary": y} for x, y in PAIRS]
    )


def test_unk_is_the_special_word(tmp_path):
    Gigaword(data_dir=tmp_path).download_and_prepare()
    for options in ({}, {"version": "1.2.0"}):
        corpus = gigaword.load(tmp_path, **options)
        assert corpus.tokenized
        assert (corpus.source_language, corpus.target_language) == ("en", "en")
        for split in corpus.splits.values():
            assert list(split) == list(split) == EXPECTED


LINES = {
    "a.src": ["smith of acme", "", "the end ."],
    "a.src.tags": ["PER O B-ORG", "", "O O O"],
    "a.tgt": ["acme hires", "x", "end"],
    "a.tgt.tags": ["ORG O", "O", "O"],
}
TAGGED_PAIRS = [
    ("smith￨PER of acme￨B-ORG", "acme￨ORG hires"),
    ("the end .", "end"),
]


def write(folder, end="\n", compress=bytes, **changes):
    """Files as the loader takes them; `changes` are lines by name."""
    paths = []
    for name, lines in LINES.items():
        lines = changes.get(name.replace(".", "_"), lines)
        path = folder / name
        path.write_bytes(compress("".join(x + end for x in lines).encode()))
        paths.append(str(path))
    return (paths[0], paths[2]), (paths[1], paths[3])


def load(texts, tags, **options):
    """With the same files for every split, so that nothing is held out."""
    return gigaword.load_tagged(
        texts, tags, texts, tags, texts, tags, **options
    )


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_entities_are_marked(tmp_path, end, compress):
    corpus = load(*write(tmp_path, end, compress))
    assert corpus.tokenized and corpus.name == "a.src"
    for split in corpus.splits.values():
        assert list(split) == TAGGED_PAIRS
        assert (split.num_pairs, split.num_skipped) == (2, 1)


def test_fingerprint_changes_with_the_tags(tmp_path):
    first = load(*write(tmp_path))
    other = load(*write(tmp_path, a_tgt_tags=["O O", "O", "O"]))
    assert first.train.fingerprint != other.train.fingerprint


def test_pairs_are_held_out(tmp_path):
    files = write(
        tmp_path,
        **{
            name: 9 * ["x"]
            for name in ("a_src", "a_src_tags", "a_tgt", "a_tgt_tags")
        },
    )
    corpus = gigaword.load_tagged(*files, num_held_out=2)
    assert [len(list(corpus.splits[x])) for x in ("train", "test")] == [5, 2]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"a_src_tags": ["PER O", "", "O O O"]},
            r"a.src.tags, line 1: expected a tag for each of the 3 tokens of "
            r"\S*a.src. Received: 2.",
        ),
        ({"a_tgt_tags": ["ORG O", "O", "O O"]}, "tags, line 3: .*Received: 2"),
        (
            {"a_src_tags": ["PER O O", ""]},
            "a.src has 3 lines, but .*a.src.tags has 2",
        ),
        ({"a_tgt": ["acme hires"]}, "a.src has 3 lines, but .*a.tgt has 1"),
        (
            {"a_src": ["a￨b of c", "", "a b c"]},
            "a.src, line 1: .*Received: 'a￨b'",
        ),
        ({"a_tgt_tags": ["O O￨", "O", "O"]}, "a.tgt.tags, line 1: .*'O￨'"),
    ],
    ids="tags last short text mark tag_mark".split(),
)
def test_faults_are_named(tmp_path, changes, message):
    files = write(tmp_path, **changes)
    with pytest.raises(CorpusError, match=message):
        load(*files)


@given(st.text())
@settings(deadline=None, max_examples=100)
def test_blanks_are_those_of_the_tokeniser(text):
    encoded = text.encode("utf-8", "replace")
    for kept in ("", blanks.KEPT):
        normal = normalize_blanks(tf.constant(encoded), kept).numpy().decode()
        expected = blanks.normalize(encoded.decode(), kept)
        assert normal == expected * bool(expected.strip(f" {blanks.KEPT}"))


def test_every_blank_of_unicode_is_known():
    every = "".join(chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000)
    normal = normalize_blanks(tf.constant([c.encode() for c in every])).numpy()
    blank = {c for c, x in zip(every, normal.tolist()) if not x}
    assert blank == set(re.findall(blanks.spaces("")[:-1], every))
