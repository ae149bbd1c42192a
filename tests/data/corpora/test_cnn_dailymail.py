import struct

import pytest
import tensorflow as tf
import tensorflow_datasets as tfds
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.corpora import corpus_files
from tfcopy.data.corpora import cnn_dailymail
from tfcopy.data.corpora.corpus import CorpusError

STORIES = [
    ("Łukasz won . He left .", "Łukasz won .\nHe left ."),
    ("", "Nothing was written ."),
    ("北京 is big .", "It is big ."),
]
MARKED = [
    ("Łukasz won . He left .", "<s> Łukasz won . </s> <s> He left . </s>"),
    ("", "<s> Nothing was written . </s>"),
    ("北京 is big .", "<s> It is big . </s>"),
]
EXPECTED = [STORIES[0], STORIES[2]]


def example(**features):
    """Bytes of a `tf.train.Example` of texts, as published."""
    return tf.train.Example(
        features=tf.train.Features(
            feature={
                name: tf.train.Feature(
                    bytes_list=tf.train.BytesList(
                        value=[x if isinstance(x, bytes) else x.encode()]
                    )
                )
                for name, x in features.items()
            }
        )
    ).SerializeToString()


def record(article, abstract):
    return framed(example(article=article, abstract=abstract))


def framed(data):
    return struct.pack("<q", len(data)) + data


@pytest.fixture
def folder(tmp_path):
    """Two chunks for training, one for each of the others."""
    records = [record(*pair) for pair in MARKED]
    (tmp_path / "train_001.bin").write_bytes(records[2])
    (tmp_path / "train_000.bin").write_bytes(records[0] + records[1])
    (tmp_path / "val_000.bin").write_bytes(records[0])
    (tmp_path / "test_000.bin").write_bytes(records[2] + records[1])
    return tmp_path


def test_chunks_are_read_in_order(folder):
    corpus = cnn_dailymail.load_bin(folder)
    assert list(corpus.train) == list(corpus.train) == EXPECTED
    assert list(corpus.validation) == EXPECTED[:1]
    assert list(corpus.test) == EXPECTED[1:]
    counts = [(s.num_pairs, s.num_skipped) for s in corpus.splits.values()]
    assert counts == [(2, 1), (1, 0), (1, 1)]
    assert corpus.tokenized


def test_one_file_a_split_will_do(folder):
    chunked = cnn_dailymail.load_bin(folder)
    chunks = [folder / f"train_00{i}.bin" for i in (0, 1)]
    whole = b"".join(path.read_bytes() for path in chunks)
    (folder / "train.bin").write_bytes(whole)
    for path in chunks:
        path.unlink()
    corpus = cnn_dailymail.load_bin(folder)
    assert list(corpus.train) == EXPECTED
    assert corpus.fingerprint == chunked.fingerprint
    (folder / "train.bin").write_bytes(b"")
    with pytest.raises(CorpusError, match="no sentence pair"):
        cnn_dailymail.load_bin(folder)


def test_records_are_read_one_at_a_time(tmp_path):
    path = tmp_path / "train.bin"
    path.write_bytes(record(*MARKED[0]) + b"\xff" * 100)
    stories = cnn_dailymail.read_bin(path)
    assert next(stories) == STORIES[0]
    with pytest.raises(CorpusError, match="record 2"):
        next(stories)


@pytest.mark.parametrize(
    "abstract, lines",
    [
        ("<s> a . </s> <s>  b\n c . </s>", "a .\nb c ."),
        ("<s> a . <s> b . </s> c", "a .\nb .\nc"),
        ("a .", "a ."),
        ("<s> </s>", ""),
        ("a < s > b", "a < s > b"),
    ],
)
def test_marked_sentences_become_lines(tmp_path, abstract, lines):
    path = tmp_path / "a.bin"
    path.write_bytes(record("x", abstract))
    assert list(cnn_dailymail.read_bin(path)) == [("x", lines)]


TEXT = st.text(st.characters(codec="utf-8"))
SENTENCE = st.text("ab .É京", min_size=1).map(str.split).filter(len)


@given(st.lists(st.tuples(TEXT, st.lists(SENTENCE))))
@settings(max_examples=40, deadline=None)
def test_what_was_written_is_read(tmp_path_factory, stories):
    path = tmp_path_factory.getbasetemp() / "stories.bin"
    sentences = [[" ".join(words) for words in s] for _, s in stories]
    path.write_bytes(
        b"".join(
            record(article, " ".join(f"<s> {x} </s>" for x in abstract))
            for (article, _), abstract in zip(stories, sentences)
        )
    )
    expected = [
        (article, "\n".join(abstract))
        for (article, _), abstract in zip(stories, sentences)
    ]
    assert list(cnn_dailymail.read_bin(path)) == expected


# === Bad input: one message that names the place ===


def check_message(folder, *parts):
    corpus_files.check_message(lambda: cnn_dailymail.load_bin(folder), *parts)


def test_a_file_cut_off_anywhere_names_the_record(folder):
    path = folder / "train_000.bin"
    whole = path.read_bytes()
    first = len(record(*MARKED[0]))
    for size in range(1, len(whole)):
        if size == first:
            continue  # Between two records nothing is damaged.
        path.write_bytes(whole[:size])
        number = 1 if size < first else 2
        check_message(folder, f"{path}, record {number}: damaged or cut off")


@pytest.mark.parametrize(
    "data, message",
    [
        (struct.pack("<q", -1), "it should be -1 bytes long"),
        (struct.pack("<q", 1 << 60), "1,152,921,504,606,846,976 bytes"),
        (struct.pack(">q", 9) + bytes(9), "bytes long, but 9 are left"),
        (framed(b"\xff" * 9), "no tf.train.Example"),
        (framed(b""), "expected one text 'article', found 0"),
        (framed(example(article="a", title="b")), "are: article, title"),
        (record(b"\xff", "a"), "its article is not valid UTF-8"),
        (record("a", b"\xff"), "its abstract is not valid UTF-8"),
    ],
    # Two processes may write the same record in two ways.
    ids=range(8),
)
def test_damaged_records_are_named(folder, data, message):
    path = folder / "val_000.bin"
    path.write_bytes(record(*MARKED[0]) + data)
    check_message(folder, f"{path}, record 2:", message)


def test_missing_files_are_named(folder):
    (folder / "val_000.bin").unlink()
    check_message(folder, str(folder), "val_*.bin", "all three splits")
    check_message(folder / "gone", "gone", "train_*.bin")
    (folder / "val.bin").mkdir()
    check_message(folder, "val.bin", "cannot be read")


# === TensorFlow Datasets ===


class CnnDailymail(
    corpus_files.TinyDataset,
    skip_registration=True,  # TFDS has one of this name
):
    VERSION = tfds.core.Version("3.0.0")
    features = corpus_files.texts("article", "highlights", "publisher")
    supervised_keys = ("article", "highlights")
    splits = dict.fromkeys(
        corpus_files.SPLITS,
        [
            {
                "article": article,
                "highlights": highlights.replace("\n", " \n"),
                "publisher": "cnn",
            }
            for article, highlights in STORIES
        ],
    )


def test_highlights_of_tfds_are_lines(tmp_path):
    CnnDailymail(data_dir=tmp_path).download_and_prepare()
    for options in ({}, {"version": "3.0.0"}):
        corpus = cnn_dailymail.load(tmp_path, **options)
        for split in corpus.splits.values():
            assert list(split) == list(split) == EXPECTED
        assert (corpus.source_language, corpus.target_language) == ("en", "en")
        assert not corpus.tokenized
