import collections
import hashlib
import re

import pytest

from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.generated import dialogue
from tfcopy.data.generated.dialogue import DIALOGUES, PATTERNS

SIZES = {"train": 6500, "validation": 325, "test": 1500}
DATASETS = ("DS-I", "DS-II")


@pytest.fixture(scope="module")
def corpora():
    return {name: dialogue.load(name) for name in DATASETS}


@pytest.fixture(scope="module")
def rows():
    """Input, response and index of the pattern."""
    return {
        (dataset, split): [
            (input, response, number - 1) for input, response, number in some
        ]
        for dataset in DATASETS
        for split, some in dialogue.generate(dataset, SIZES).items()
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
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == "b0d38aaa37daa0ac"
    again = dialogue.generate("DS-II", SIZES)
    assert [r[:2] for r in again["train"]] == list(
        corpora["DS-II"].corpus.train
    )
    other = dialogue.generate("DS-II", SIZES, seed=1)
    assert not set(other["test"]) & set(other["train"])
    assert len(set(other["test"]) & set(again["test"])) < 300


def test_too_few_fillers_are_refused(monkeypatch):
    few = {type: ("x", "y", "z") for type in dialogue.pools("train")}
    monkeypatch.setattr(dialogue, "pools", lambda half: few)
    with pytest.raises(CorpusError, match="no more new dialogues.*fewer"):
        dialogue.generate("DS-I", SIZES)
