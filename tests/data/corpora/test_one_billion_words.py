import gzip

import pytest

from tfcopy.data.corpora import one_billion_words
from tfcopy.data.corpora.corpus import CorpusError

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
    corpus = one_billion_words.load(folder, num_shards=3, num_validation=12)
    lines = [f"shard {i} line {j}" for i in (1, 2, 3) for j in range(10)]
    assert list(corpus.train) == list(corpus.train) == lines[:18]
    assert list(corpus.validation) == lines[18:]
    assert list(corpus.test) == ["held out 0"]
    sizes = [split.num_examples for split in corpus.splits.values()]
    assert sizes == [18, 12, 1]
    assert corpus.tokenized


def test_the_first_shard_alone(folder):
    corpus = one_billion_words.load(folder, num_shards=1, num_validation=2)
    assert len(list(corpus.train)) == 8
    assert list(corpus.validation) == ["shard 1 line 8", "shard 1 line 9"]


def test_what_is_wrong_is_named(folder):
    with pytest.raises(CorpusError, match="news.en-00004-of-00100: no such"):
        one_billion_words.load(folder)
    with pytest.raises(CorpusError, match="2,000 sentences: there are 10 in"):
        one_billion_words.load(folder, num_shards=1)
    for number in (0, 100):
        with pytest.raises(ValueError, match=f"1 to 99. Received: {number}"):
            one_billion_words.load(folder, num_shards=number)
