import gzip
import zipfile

import pytest

from tests.data.corpora import corpus_files
from tests.data.real_corpora import real
from tfcopy.data.corpora import sentences
from tfcopy.data.corpora.corpus import CorpusError


def write(path, lines):
    return corpus_files.write(path, "".join(f"{line}\n" for line in lines))


def numbered(folder, num_files, num_lines=10):
    return [
        write(folder / f"news-{i:02}", [f"{i} {j}" for j in range(num_lines)])
        for i in range(num_files)
    ]


def zipped(path, folder):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(folder.rglob("*"), reverse=True):
            archive.write(file, file.relative_to(folder.parent))
    return path


def test_blank_lines_are_no_sentences(tmp_path):
    path = write(tmp_path / "a", ["one .", "", " \u00a0 ", " 北京 🙂\u2028x ."])
    corpus = sentences.load(path, path, path)
    for split in corpus.splits.values():
        assert list(split) == list(split) == ["one .", " 北京 🙂\u2028x ."]
        assert split.num_pairs == 2
    assert corpus.tokenized
    assert corpus.name == "a"


def test_files_are_read_in_the_order_of_their_names(tmp_path):
    folder = tmp_path / "text"
    for name in ("b", "a.gz", "c/a", ".hidden", "a-2"):
        write(folder / name, [f"{name} 1", f"{name} 2"])
    expected = [
        f"{name} {i}" for name in ("a-2", "a.gz", "b", "c/a") for i in (1, 2)
    ]
    validation = [folder / "b", str(folder / "a.gz")]
    corpus = sentences.load(folder, validation, str(folder / "a*"))
    assert list(corpus.train) == expected
    assert list(corpus.validation) == ["b 1", "b 2", "a.gz 1", "a.gz 2"]
    assert list(corpus.test) == expected[:4]


def test_a_zip_archive_is_read_as_a_folder(tmp_path):
    folder = tmp_path / "text"
    numbered(folder, 3)
    write(folder / "__MACOSX" / "x", ["no"])
    path = zipped(tmp_path / "text.zip", folder)
    corpus = sentences.load(path, folder, folder)
    assert list(corpus.train) == list(corpus.validation)
    assert len(list(corpus.train)) == 30
    members = sentences.find_files(path)
    again = sentences.load(members[:1], members[1:], members[2])
    assert list(again.train) == [f"0 {j}" for j in range(10)]
    assert list(again.test) == [f"2 {j}" for j in range(10)]


def test_only_files_with_text_are_found(tmp_path):
    (tmp_path / "a").write_text("one\n")
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert sentences.find_files(tmp_path) == [str(tmp_path / "a")]
    with zipfile.ZipFile(tmp_path / "empty.zip", "w"):
        pass
    with pytest.raises(CorpusError, match="No files found in"):
        sentences.find_files(tmp_path / "empty.zip")


def test_sentences_are_held_out(tmp_path):
    path = write(tmp_path / "a", [f"s{i}" for i in range(100)])
    corpus = sentences.load(path, num_held_out=10)
    sizes = {name: len(list(split)) for name, split in corpus.splits.items()}
    assert sizes == {"train": 80, "validation": 10, "test": 10}
    found = [x for split in corpus.splits.values() for x in split]
    assert sorted(found) == sorted(f"s{i}" for i in range(100))
    other = sentences.load(path, num_held_out=10, seed=1)
    assert list(corpus.test) != list(other.test)
    assert corpus.fingerprint != other.fingerprint
    assert sentences.load(path, test=path).validation.num_pairs == 5


def test_whole_files_are_held_out(tmp_path):
    numbered(tmp_path / "text", 20)
    load = sentences.load
    corpus = load(tmp_path / "text", whole_files=True, num_held_out=3)
    parts = {
        name: {text.split()[0] for text in split}
        for name, split in corpus.splits.items()
    }
    assert {name: len(part) for name, part in parts.items()} == {
        "train": 14,
        "validation": 3,
        "test": 3,
    }
    assert len(set().union(*parts.values())) == 20
    again = load(tmp_path / "text", whole_files=True, num_held_out=3)
    assert again.fingerprint == corpus.fingerprint
    only = load(
        tmp_path / "text", test=tmp_path / "text" / "news-00", whole_files=True
    )
    sizes = [split.num_pairs for split in only.splits.values()]
    assert sorted(sizes) == [10, 10, 190]


def test_tags_are_left_out(tmp_path):
    path = write(tmp_path / "a", ["\tThe/at 1/2/cd ,/, and/or/cc", "", "//x"])
    corpus = sentences.load(path, path, path, tagged=True)
    assert list(corpus.train) == ["The 1/2 , and/or", "/"]
    assert corpus.tokenized


def check_message(*parts, **arguments):
    corpus_files.check_message(lambda: sentences.load(**arguments), *parts)


@pytest.mark.parametrize("token", ["word", "/tag", "/"])
def test_a_token_without_a_tag_is_named(tmp_path, token):
    path = write(tmp_path / "a", ["the/at", f"dog/nn {token}"])
    check_message(f"{path}, line 2", repr(token), train=path, tagged=True)


def test_what_is_missing_is_named(tmp_path):
    check_message("gone", "No such file", train=tmp_path / "gone")
    check_message("news-9*", "No such file", train=str(tmp_path / "news-9*"))
    check_message(str(tmp_path), "No file", train=tmp_path)
    path = write(tmp_path / "a", ["", " "])
    check_message(f"{path}: no sentence there. Give", train=path)
    path = write(tmp_path / "b", ["x", "y"])
    check_message("Cannot hold out", "2 sentences in", train=path)
    check_message("Cannot hold out", "1 files in", train=path, whole_files=True)


def test_a_line_that_is_not_utf8_is_named(tmp_path):
    folder = tmp_path / "text"
    numbered(folder, 1)
    (folder / "x").write_bytes(b"fine\n\xe9\n")
    check_message(str(folder / "x"), "line 2", "UTF-8", train=folder)
    path = zipped(tmp_path / "text.zip", folder)
    check_message("text.zip/text/x, line 2", "UTF-8", train=path)


def test_a_damaged_archive_is_named(tmp_path):
    folder = tmp_path / "text"
    write(folder / "x", [str(hash(str(i))) for i in range(3000)])
    path = zipped(tmp_path / "text.zip", folder)
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 50] = bytes(50)
    path.write_bytes(data)
    check_message("text.zip/text/x", "damaged", train=path)


# === TensorFlow Datasets ===


def numbered_texts(start, end):
    return [{"text": f"Łukasz {i} ." * (i != 7)} for i in range(start, end)]


class TinyLm(corpus_files.TinyDataset):
    """A twin of TFDS's `lm1b`, which has no split for validation."""

    features = corpus_files.texts("text")
    splits = {"train": numbered_texts(0, 40), "test": numbered_texts(40, 45)}


def test_reads_tensorflow_datasets(tmp_path):
    corpus = sentences.load_tfds("tiny_lm", tmp_path)
    texts = [f"Łukasz {i} ." for i in range(45) if i != 7]
    assert list(corpus.validation) == texts[:2]
    assert list(corpus.train) == list(corpus.train) == texts[2:39]
    assert list(corpus.test) == texts[39:]
    assert corpus.train.num_pairs == 38


def test_reads_wikitext():
    (path,) = real("lm/wikitext-2-valid.txt")
    corpus = sentences.load(path, path, path)
    lines = list(corpus.train)
    assert len(lines) == corpus.train.num_pairs == 2461
    assert sum(len(line.split()) for line in lines) == 213_886


def test_reads_the_texts_of_brown_and_nothing_else(tmp_path):
    for genre in "ab":
        for number in range(5):
            text = f"\n\n\t{genre}/nn {number}/cd ./.\n\n\ttwo/cd\n"
            (tmp_path / f"c{genre}0{number}").write_text(text)
    (tmp_path / "README").write_text("No tags here.\n")
    corpus = sentences.load_brown(tmp_path, num_held_out=2)
    sizes = {name: len(list(split)) for name, split in corpus.splits.items()}
    assert sizes == {"train": 12, "validation": 4, "test": 4}
    found = [x for split in corpus.splits.values() for x in split]
    expected = [f"{genre} {number} ." for genre in "ab" for number in range(5)]
    assert sorted(found) == sorted(expected + ["two"] * 10)
    assert corpus.tokenized
    assert corpus.name == "Brown"


def test_other_folders_are_named(tmp_path):
    (tmp_path / "README").write_text("No tags here.\n")
    with pytest.raises(CorpusError, match="no text of the Brown corpus"):
        sentences.load_brown(tmp_path)


def test_reads_the_archive_of_brown():
    (path,) = real("lm/brown.zip")
    corpus = sentences.load_brown(path)
    texts = {name: list(split) for name, split in corpus.splits.items()}
    found = [text for part in texts.values() for text in part]
    # The counts that NLTK gives.
    assert len(found) == 57_340
    assert sum(len(text.split()) for text in found) == 1_161_192
    for name in ("validation", "test"):
        assert 0.04 < len(texts[name]) / len(found) < 0.06
    assert (
        "The Fulton County Grand Jury said Friday an investigation of "
        "Atlanta's recent primary election produced `` no evidence '' that "
        "any irregularities took place ."
    ) in found


TRAIN = "training-monolingual.tokenized.shuffled"
HELD_OUT = "heldout-monolingual.tokenized.shuffled"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / TRAIN).mkdir()
    (tmp_path / HELD_OUT).mkdir()
    for i in (1, 2, 3):
        text = "".join(f"shard {i} line {j}\n" for j in range(10))
        path = tmp_path / TRAIN / f"news.en-0000{i}-of-00100"
        path.write_text(text)
    path.unlink()
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(text.encode()))
    for i in (0, 1):
        path = tmp_path / HELD_OUT / f"news.en.heldout-0000{i}-of-00050"
        path.write_text(f"held out {i}\n")
    return tmp_path


def test_the_last_sentences_are_for_validation(folder):
    corpus = sentences.load_one_billion_words(
        folder, num_shards=3, num_validation=12
    )
    lines = [f"shard {i} line {j}" for i in (1, 2, 3) for j in range(10)]
    assert list(corpus.train) == list(corpus.train) == lines[:18]
    assert list(corpus.validation) == lines[18:]
    assert list(corpus.test) == ["held out 0"]
    assert [split.num_pairs for split in corpus.splits.values()] == [18, 12, 1]
    assert corpus.tokenized


def test_what_is_wrong_with_shards_is_named(folder):
    with pytest.raises(CorpusError, match="news.en-00004-of-00100: no such"):
        sentences.load_one_billion_words(folder)
    with pytest.raises(CorpusError, match="2,000 sentences: there are 10 in"):
        sentences.load_one_billion_words(folder, num_shards=1)
    for number in (0, 100):
        with pytest.raises(ValueError, match=f"1 to 99. Received: {number}"):
            sentences.load_one_billion_words(folder, num_shards=number)
