import collections
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.generated import demo_parliament
from tfcopy.data.generated.demo_names import split_of
from tfcopy.data.generated.demo_parliament import Grammar

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
        *(names.surname, names.given_name, names.place, names.company),
        *(names.acronym, names.emoji, names.code),
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
