import random
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.definitions.lemma_rules import RULES, lemma
from tfcopy.data.generated.demo_definitions_lexicon import plain_words
from tfcopy.data.generated.demo_definitions_words import invent


@settings(max_examples=10)
@given(st.integers(1, 3_000), st.integers())
def test_words_are_distinct_from_each_other_and_from_plain_ones(number, seed):
    words = invent(number, random.Random(seed))
    assert len(set(words)) == len(words) == number
    assert invent(number, random.Random(seed)) == words
    assert not set(words) & set(plain_words())
    known = set(words)
    for form in [*words, *map(str.lower, plain_words())]:
        assert not any(lemma(form, part, known) for part in RULES), form


def test_words_can_be_pronounced():
    """Two syllables, and never more than four consonants in a row."""
    for word in invent(2_000, random.Random(0)):
        assert re.fullmatch(r"[a-z]{5,11}", word)
        assert len(re.findall("[aeiou]+", word)) == 2, word
        assert max(map(len, re.split("[aeiou]", word))) <= 3, word
        assert not re.match("[aeiou]", word)
