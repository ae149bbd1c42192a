import os
from pathlib import Path

import pytest

from tfcopy.data.corpora import brown
from tfcopy.data.corpora.corpus import CorpusError

DATA = Path(os.environ.get("TFCOPY_DATA", "../shared/data"))


def test_reads_the_texts_and_nothing_else(tmp_path):
    for genre in "ab":
        for number in range(5):
            text = f"\n\n\t{genre}/nn {number}/cd ./.\n\n\ttwo/cd\n"
            (tmp_path / f"c{genre}0{number}").write_text(text)
    (tmp_path / "README").write_text("No tags here.\n")
    corpus = brown.load(tmp_path, num_held_out=2)
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
        brown.load(tmp_path)


def test_reads_the_archive():
    path = DATA / "lm" / "brown.zip"
    if not path.exists():
        pytest.skip(f"{path} is not there (set TFCOPY_DATA)")
    corpus = brown.load(path)
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
