import collections
import hashlib
import re

import pytest

from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.generated import dialogue
from tfcopy.data.generated.dialogue import DIALOGUES, PATTERNS

SIZES = {"train": 6500, "validation": 325, "test": 1500}
DATASETS = ("DS-I", "DS-II")
SMALL = {"num_train": 400, "num_validation": 5, "num_test": 200}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("dialogue")


@pytest.fixture(scope="module")
def corpora(folder):
    return {name: dialogue.load(folder, name) for name in DATASETS}


@pytest.fixture(scope="module")
def rows(corpora, folder):
    """Input, response and index of the pattern, as they stand in the files."""
    return {
        (dataset, split): [
            (input, response, int(number) - 1)
            for input, response, number in (
                line.split("\t")
                for line in (folder / dataset / f"{split}.tsv")
                .read_text()
                .splitlines()
            )
        ]
        for dataset in corpora
        for split in SIZES
    }


def content_words(text):
    """All words and figures of a text, but for function words."""
    words = re.split(r"[^\w:/-]+|'s\b", text.replace("o'clock", "").lower())
    return {w for w in words if w} - set(dialogue.FUNCTION_WORDS)


# === The corpus ===


def test_sizes_and_uses_of_the_patterns(corpora, rows):
    for dataset, dialogues in corpora.items():
        corpus = dialogues.corpus
        assert (corpus.source_language, corpus.target_language) == ("en", "en")
        assert dataset in corpus.name and not corpus.tokenized
        assert corpus.generated
        everything = []
        for split, size in SIZES.items():
            pairs = list(corpus.splits[split])
            everything += pairs
            assert len(pairs) == corpus.splits[split].num_pairs == size
            assert pairs == [row[:2] for row in rows[dataset, split]]
        assert len(set(everything)) == len(everything)
        indices = [index for *_, index in rows[dataset, "test"]]
        assert dialogues.test_patterns == tuple(indices)
        for split, at_least in (("train", 20), ("test", 4)):
            uses = collections.Counter(i for *_, i in rows[dataset, split])
            assert len(uses) == 173 and min(uses.values()) >= at_least


def test_fillers_of_the_test_set_of_ds_ii_are_never_seen(rows):
    known = {}
    for dataset in DATASETS:
        texts = [
            text
            for split in ("train", "validation")
            for row in rows[dataset, split]
            for text in row[:2]
        ]
        known[dataset] = "\n".join(texts).lower()
    fillers = [
        filler
        for pool in dialogue.pools("test").values()
        for filler in pool
        if len(filler) >= 4
    ]
    assert len(fillers) > 900
    assert not any(filler.lower() in known["DS-II"] for filler in fillers)
    seen = sum(filler.lower() in known["DS-I"] for filler in fillers)
    assert seen > 0.7 * len(fillers)
    words = content_words(known["DS-II"])
    for filler in fillers:
        assert not content_words(filler) & words, filler


def test_ceiling(corpora, rows):
    indices = [i for i, p in enumerate(PATTERNS) if p.input == DIALOGUES[0][0]]
    assert len(indices) == 2
    uses = [indices[0], indices[0], indices[1], 172]
    assert dialogue._ceiling_top1(uses) == 75
    for dataset, dialogues in corpora.items():
        test = rows[dataset, "test"]
        best = 0
        for input, *responses in DIALOGUES:
            best += max(
                sum(
                    PATTERNS[i].input == input
                    for *_, i in test
                    if PATTERNS[i].response == response
                )
                for response in responses
            )
        assert dialogues.ceiling_top1 == pytest.approx(100 * best / 1500)
        assert 100 * 121 / 173 < dialogues.ceiling_top1 < 80


def test_dialogues_are_the_same_on_every_machine(corpora, rows):
    """New digests are due whenever patterns or words change, and only then."""
    text = repr([rows[dataset, "test"] for dataset in corpora])
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert digest[:16] == "b0d38aaa37daa0ac"
    again = dialogue.generate("DS-II", SIZES)
    assert [r[:2] for r in again["train"]] == list(
        corpora["DS-II"].corpus.train
    )
    other = dialogue.generate("DS-II", SIZES, seed=1)
    assert not set(other["test"]) & set(other["train"])
    assert len(set(other["test"]) & set(again["test"])) < 300


# === Files ===


def test_files_are_written_once_for_the_same_arguments(tmp_path):
    def load(**others):
        corpus = dialogue.load(tmp_path, "DS-I", **SMALL | others).corpus
        return corpus.fingerprint, path.stat().st_mtime_ns, list(corpus.test)

    path = tmp_path / "DS-I" / "train.tsv"
    first = load()
    assert load() == first
    other = load(seed=1)
    assert other[0] != first[0] and other[2] != first[2]
    assert len(load(num_test=7)[2]) == 7
    path.unlink()
    assert load()[2] == first[2]


def test_changed_files_are_written_again(tmp_path):
    first = dialogue.load(tmp_path, "DS-I", **SMALL)
    path = tmp_path / "DS-I" / "test.tsv"
    text = path.read_text()
    path.write_text("old\n")
    again = dialogue.load(tmp_path, "DS-I", **SMALL)
    assert path.read_text() == text
    assert list(again.corpus.test) == list(first.corpus.test)
    assert again.test_patterns == first.test_patterns


def test_small_corpora_have_every_pattern():
    rows = dialogue.generate("DS-II", dict.fromkeys(SIZES, 400))
    uses = collections.Counter(index for *_, index in rows["train"])
    assert len(uses) == 173 and min(uses.values()) >= 2


def test_bad_arguments_give_clear_messages(tmp_path, monkeypatch):
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(OSError, match="file"):
        dialogue.load(file, "DS-I", **SMALL)
    few = {type: ("x", "y", "z") for type in dialogue.pools("train")}
    monkeypatch.setattr(dialogue, "pools", lambda half: few)
    with pytest.raises(CorpusError, match="no more new dialogues.*fewer"):
        dialogue.generate("DS-I", SIZES)
