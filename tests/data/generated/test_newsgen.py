import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data import Tokenizer
from tfcopy.data.generated import newsgen
from tfcopy.data.generated.demo_names import split_of
from tfcopy.data.generated.newsgen import Story

SPLITS = ("train", "validation", "test")
# Classes of names.
CLASSES = {
    x.removesuffix(" forms") for x in newsgen.WORDS if x.endswith(" forms")
}

WORDS = Tokenizer()


def test_low_scores_carry_the_summary_of_another_record():
    rng = random.Random("newsgen/0/test")
    texts, summaries = zip(*(Story(rng, "test").tell() for _ in range(400)))
    for i, record in enumerate(newsgen.generate("test", 400)):
        score, text, summary = record
        assert text == texts[i]
        assert (summary == summaries[i]) == (score >= 3)
        assert summary in summaries


@given(st.integers(), st.sampled_from(SPLITS))
@settings(max_examples=50)
def test_every_name_belongs_to_one_split(seed, split):
    story = Story(random.Random(seed), split)
    for kind in CLASSES:
        story.fill(f"{{{kind}}} {{{kind}2}}", {})
    assert len(story.names) == 14
    assert {split_of(name) for name in story.names} == {split}


def test_oov_rate_by_hand():
    texts = ["A b b c.", "", "b"]
    assert newsgen.oov_rate(texts, {"b", "."}, WORDS) == pytest.approx(100 / 3)
    assert newsgen.oov_rate(
        texts, {"a", "b", "."}, Tokenizer(lowercase=True)
    ) == pytest.approx(100 / 6)


@pytest.mark.parametrize("split", SPLITS)
def test_headlines_are_those_of_their_texts(split):
    """A headline has a name or a figure of its own text."""
    for text, headline in newsgen.generate_headlines(split, 60):
        words = [x.strip(".,:\"'") for x in headline.split()]
        named = [w for w in words if w[0].isupper() or w[0].isdigit()]
        assert any(word in text for word in named), headline
