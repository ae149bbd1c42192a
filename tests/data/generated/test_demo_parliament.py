import collections
import hashlib
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.generated import demo_parliament
from tfcopy.data.generated.demo_names import split_of
from tfcopy.data.generated.demo_parliament import (
    Grammar,
)

SIZES = {"train": 20_000, "validation": 500, "test": 500}


@pytest.fixture(scope="module")
def pairs():
    return {
        split: list(demo_parliament.generate(split, size))
        for split, size in SIZES.items()
    }


def words(text):
    """Words without the clitics, which are no part of a name."""
    text = re.sub(r"\b([ldnsjm]|qu)'(?=\w)", " ", text, flags=re.IGNORECASE)
    return re.findall(r"[\w'/-]+|[^\w\s]", text)


# === The corpus ===


def test_load_gives_splits_that_are_read_again_and_again(tmp_path):
    sizes = {"num_train": 30, "num_validation": 3, "num_test": 4}
    corpus = demo_parliament.load(tmp_path, **sizes)
    for _ in range(2):
        assert list(corpus.train) == list(demo_parliament.generate("train", 30))
    assert list(corpus.test) == list(demo_parliament.generate("test", 4))
    assert corpus.validation.num_pairs == 3
    assert (corpus.source_language, corpus.target_language) == ("en", "fr")
    assert corpus.generated
    again = demo_parliament.load(tmp_path, **sizes)
    other = demo_parliament.load(tmp_path, **sizes, seed=1)
    reverse = demo_parliament.load(tmp_path, **sizes, source_language="fr")
    assert corpus.fingerprint == again.fingerprint
    assert len({c.fingerprint for c in (corpus, other, reverse)}) == 3
    assert list(other.train) != list(corpus.train)
    assert next(iter(reverse.train)) == next(iter(corpus.train))[::-1]


def test_bad_sizes_and_folders_give_clear_messages(tmp_path):
    for name in ("num_train", "num_test"):
        with pytest.raises(CorpusError, match="must be 1 or more"):
            demo_parliament.load(tmp_path, **{name: 0})
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(CorpusError, match="file.*--data_dir"):
        demo_parliament.load(file, num_train=1, num_validation=1, num_test=1)


@pytest.mark.parametrize(
    ("size", "digest"),
    [("large", "a7042faba9d5c09c"), ("small", "2cf5f753daabfec1")],
)
def test_sentences_are_the_same_on_every_machine(size, digest):
    """A new digest is due whenever the grammar changes, and only then."""
    text = repr(list(demo_parliament.generate("test", 1000, size=size)))
    assert hashlib.sha256(text.encode()).hexdigest()[:16] == digest


# === What stands in it ===


@pytest.mark.long
def test_names_of_the_test_set_are_never_seen_in_training(pairs):
    """Most capitalised words at inner places of a sentence are names."""
    seen = {w for pair in pairs["train"] for text in pair for w in words(text)}
    for split in ("validation", "test"):
        unseen = [
            any(word not in seen for word in words(target))
            for _, target in pairs[split]
        ]
        assert 0.65 < sum(unseen) / len(unseen) < 0.9


@given(st.integers(), st.sampled_from(sorted(SIZES)))
@settings(max_examples=50)
def test_every_name_belongs_to_one_split(seed, split):
    names = Grammar(seed, split).names
    for draw in (
        names.surname,
        names.given_name,
        names.place,
        names.company,
        names.acronym,
        names.emoji,
        names.code,
    ):
        assert split_of(draw()) == split
    for word in names.full_name().split(" "):
        assert split_of(word) == split


@pytest.mark.long
def test_names_are_the_same_on_both_sides(pairs):
    """A word of the source that is no ordinary word stands in the target."""
    counts = collections.Counter(
        word for source, _ in pairs["train"] for word in set(words(source))
    )
    for source, target in pairs["test"]:
        for word in words(source):
            if counts[word] == 0:
                assert word in words(target), (source, target)
