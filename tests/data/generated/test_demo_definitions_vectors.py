import numpy as np
import pytest

from tests.data.generated.definition_reading import facts
from tests.helpers import assert_close
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.generated import demo_definitions as demo

PLAIN = frozenset(demo.plain_words())
UNSEEN = sorted(demo.unseen_words())


@pytest.fixture(scope="module")
def vectors():
    """Of each word, of length 1."""
    words, matrix = demo.vectors()
    matrix = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    return dict(zip(words, matrix))


def test_every_word_has_one_vector():
    words, matrix = demo.vectors(dim=8, num_words=150)
    assert matrix.shape == (len(words), 8) and matrix.dtype == np.float32
    headwords = demo.dictionary(num_words=150).headwords
    assert set(words) == PLAIN | set(headwords)
    assert len(set(words)) == len(words)


def test_numbers_are_alike_for_all_words():
    words, matrix = demo.vectors(dim=300)
    is_plain = np.array([word in PLAIN for word in words])
    for rows in (matrix[is_plain], matrix[~is_plain]):
        assert abs(rows.mean()) < 0.05
        assert abs(rows.std() - 1) < 0.05


def test_words_of_like_meaning_are_near(vectors):
    near = [("axe", "tool"), ("hare", "creature"), ("red", "blood")]
    far = [("axe", "animal"), ("hare", "red"), ("red", "green"), ("of", "a")]
    assert min(vectors[x] @ vectors[y] for x, y in near) > 0.5
    assert max(vectors[x] @ vectors[y] for x, y in far) < 0.4


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
        told = facts(" ".join(definitions[word][0]))
        for facet, value in told.items():
            nearest = max(
                values[facet].split(), key=lambda x: vectors[x] @ vectors[word]
            )
            right.append(nearest == value.split()[-1])
    assert len(right) == 2 * len(UNSEEN)
    assert np.mean(right) > 0.97


def test_vectors_follow_the_seed():
    (words, one), (_, same) = (demo.vectors(dim=8, seed=3) for _ in "ab")
    assert_close(one, same, rtol=0, atol=0)
    assert demo.vectors(dim=8, seed=4)[0] != words


def test_wrong_arguments_are_refused():
    with pytest.raises(CorpusError, match="`dim` must be 8 or more.*: 7"):
        demo.vectors(dim=7)
    with pytest.raises(CorpusError, match="`num_words` must be from 120"):
        demo.vectors(num_words=5)
