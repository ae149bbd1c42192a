import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.data.generated.definition_reading import facts
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.definitions.dictionary_entries import RULES, lemma
from tfcopy.data.generated import demo_definitions as demo
from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated.demo_definitions_lexicon import invent, plain_words


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


PLAIN = frozenset(lexicon.plain_words())
UNSEEN = sorted(demo.get_unseen_words())


@pytest.fixture(scope="module")
def vectors():
    """Of each word, of length 1."""
    words, matrix = demo.vectors()
    matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return dict(zip(words, matrix))


def test_every_word_has_one_vector():
    words, matrix = demo.vectors(dim=8)
    assert matrix.shape == (len(words), 8) and matrix.dtype == np.float32
    assert set(words) == PLAIN | set(demo.dictionary().headwords)
    assert len(set(words)) == len(words)


def test_invented_words_are_near_what_defines_them(vectors):
    """The nearest value of each facet that is known, and no other."""
    found = demo.dictionary()
    definitions = dict(zip(found.headwords, found.definitions))
    values = {
        "kind": "animal tool instrument garment vehicle container dish plant",
        "colour": "red green white black",
        "origin": "north south east west",
    }
    right = []
    for word in UNSEEN:
        for facet, value in facts(" ".join(definitions[word][0])).items():
            nearest = max(
                values[facet].split(), key=lambda x: vectors[x] @ vectors[word]
            )
            right.append(nearest == value.split()[-1])
    assert len(right) == 2 * len(UNSEEN)
    assert np.mean(right) > 0.97


def test_wrong_arguments_are_refused():
    with pytest.raises(CorpusError, match="`dim` must be 8 or more.*: 7"):
        demo.vectors(dim=7)
