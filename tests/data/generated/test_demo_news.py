import collections
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.generated import demo_news, text_tables
from tfcopy.data.generated.demo_names import split_of
from tfcopy.data.generated.demo_news import NewsGrammar
from tfcopy.evaluation import summaries as summary_evaluation

SIZES = {"train": 12_000, "validation": 300, "test": 500}


@pytest.fixture(scope="module")
def stories():
    return {x: list(demo_news.generate(x, size)) for x, size in SIZES.items()}


@pytest.fixture(scope="module")
def counts(stories):
    """Counts each word of the training stories."""
    return collections.Counter(
        word
        for story in stories["train"]
        for text in story
        for word in words(text)
    )


def words(text):
    return re.findall(r"[^\s.,\"]+|[.,\"]", text)


# === What stands in it ===


@pytest.mark.long
def test_names_of_the_test_set_are_never_seen_in_training(stories, counts):
    for split in ("validation", "test"):
        for _, summary in stories[split]:
            for sentence in summary_evaluation.sentences(summary):
                names = [w for w in words(sentence) if split_of(w) == split]
                assert sum(counts[name] == 0 for name in names) >= 2, sentence


@pytest.mark.long
def test_articles_hold_every_name_of_their_summary(stories, counts):
    for split in ("train", "test"):
        for article, summary in stories[split]:
            rare = {w for w in words(summary) if counts[w] <= 30}
            assert rare <= set(words(article)), (article, summary)


@given(st.integers(), st.sampled_from(sorted(SIZES)))
@settings(max_examples=50)
def test_every_name_belongs_to_one_split(seed, split):
    grammar = NewsGrammar(seed, split)
    table = text_tables.read("demo_news_words")
    forms = [x for name in table if "forms" in name for x in table[name]]
    ordinary = set(re.findall(r"\w+", " ".join(forms)))
    assert len(forms) > 4 and {"Bank", "FC", "Trio"} < ordinary
    for draw in (
        grammar._person,
        grammar._place,
        grammar._company,
        grammar._club,
        grammar._act,
    ):
        names = [word for word in draw().split(" ") if word not in ordinary]
        assert {split_of(word) for word in names} == {split}
