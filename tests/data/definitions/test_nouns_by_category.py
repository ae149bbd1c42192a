import itertools
import os
from pathlib import Path

import pytest

from tfcopy.data.definitions.nouns_by_category import NOUNS_BY_CATEGORY

WORDNET = Path(os.environ.get("TFCOPY_WORDNET", "/usr/share/wordnet"))


def test_categories_have_nouns_of_their_own():
    assert list(NOUNS_BY_CATEGORY) == ["fruit", "tool", "vehicle"]
    sizes = {len(nouns) for nouns in NOUNS_BY_CATEGORY.values()}
    assert len(sizes) == 1 and min(sizes) >= 15
    nouns = list(itertools.chain(*NOUNS_BY_CATEGORY.values()))
    assert len(set(nouns)) == len(nouns)
    assert all(noun.isalpha() and noun.islower() for noun in nouns)


@pytest.mark.skipif(
    not (WORDNET / "data.noun").exists(),
    reason=f"needs WordNet 3.0 in {WORDNET} (apt install wordnet-base)",
)
def test_wordnet_defines_them_all_as_nouns():
    with open(WORDNET / "index.noun", encoding="utf-8") as file:
        known = {line.split(" ", 1)[0] for line in file}
    for nouns in NOUNS_BY_CATEGORY.values():
        assert [noun for noun in nouns if noun not in known] == []
