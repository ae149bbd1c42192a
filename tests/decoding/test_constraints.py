"""Forbidden words and repetitions, and sources that must be covered."""

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.decoding.searching import search_sources, unpadded
from tests.decoding.table_model import TableModel, random_model
from tfcopy import tokens
from tfcopy.decoding import SearchOptions

V = 7
# JAX compiles each search anew, for seconds.
EXAMPLES = 15 if keras.backend.backend() == "tensorflow" else 3
SOURCE_IDS = np.array([[4, 1, 5, 1, 4], [6, 1, 3, 0, 0]], "int32")
COPY_IDS = np.array([[4, V, 1, V, 4], [V, 5, -1, -1, -1]], "int32")


def search(model, **options):
    options = SearchOptions(**options)
    return search_sources(model, SOURCE_IDS, COPY_IDS, options)


def ngrams(ids, size):
    return [tuple(ids[i : i + size]) for i in range(len(ids) - size + 1)]


def loves(word, steps=8, generate=0.5):
    """A model that says one word for ever, or points at all positions."""
    logits = np.zeros((2, steps, V, V))
    logits[..., word] = 9.0
    attention = np.where(SOURCE_IDS != tokens.PAD, 1.0, 0.0)
    attention /= attention.sum(axis=1, keepdims=True)
    attention = np.tile(attention[:, None, None], (1, steps, V, 1))
    return TableModel(logits, attention, np.full((2, steps, V), generate))


@settings(max_examples=EXAMPLES)
@given(
    seed=st.integers(0, 2**20),
    size=st.integers(1, 3),
    merge=st.sampled_from(["sum", "max"]),
    refill=st.booleans(),
)
def test_no_sequence_of_words_stands_twice(seed, size, merge, refill):
    result = search(
        random_model(seed, SOURCE_IDS, 8, V, eos_logit=-2.0),
        num_beams=3,
        num_hypotheses=3,
        max_length=8,
        no_repeat_ngram=size,
        merge=merge,
        refill=refill,
    )
    for ids in result.ids.reshape(-1, 8):
        said = ngrams(unpadded(ids), size)
        assert len(set(said)) == len(said)


@pytest.mark.parametrize("merge", ["sum", "max"])
def test_copied_and_generated_words_are_the_same_words(merge):
    """The word 4 stands twice in the first source, and may be generated."""
    options = dict(num_beams=1, max_length=6, min_length=5, merge=merge)
    model = loves(4)
    assert unpadded(search(model, **options).ids[0, 0])[:5] == [4] * 5
    result = search(model, **options, no_repeat_ngram=1)
    assert unpadded(result.ids[0, 0]).count(4) == 1
    assert unpadded(result.ids[0, 0]).count(V) <= 1


def test_eos_is_never_blocked():
    """All words are used up: only EOS is left."""
    result = search(loves(4), num_beams=2, max_length=8, no_repeat_ngram=1)
    forced = search(
        loves(4), num_beams=2, max_length=8, min_length=5, no_repeat_ngram=1
    )
    for ids in [*result.ids[:, 0], *forced.ids[:, 0]]:
        assert unpadded(ids)[-1] == tokens.EOS
    assert unpadded(forced.ids[0, 0])[-1] == tokens.EOS
    # Of the first source UNK, 4, 5, 6 and V may be said, and then no more.
    assert len(unpadded(forced.ids[0, 0])) == 6


@pytest.mark.parametrize("refill", [False, True])
def test_a_search_that_may_say_nothing_ends_empty(refill):
    """There are five words, none may come again, and EOS comes too late."""
    result = search(
        loves(4),
        num_beams=3,
        num_hypotheses=2,
        max_length=8,
        min_length=7,
        no_repeat_ngram=1,
        refill=refill,
    )
    assert np.all(result.ids == tokens.PAD)
    assert np.all(result.copied_from == -1)
    assert np.all(result.scores < -1e8)


@pytest.mark.parametrize("merge", ["sum", "max"])
@pytest.mark.parametrize("copied", [False, True])
def test_unk_is_neither_generated_nor_copied(copied, merge):
    options = dict(
        num_beams=4, num_hypotheses=4, max_length=5, min_length=2, merge=merge
    )
    model = loves(tokens.UNK, generate=0.9)
    if copied:
        # The third position holds a word that is UNK even to copying.
        model = loves(4, generate=0.1)
        model.memory["attention"][0] = -5.0
        model.memory["attention"][0, :, :, 2] = -0.01
    assert tokens.UNK in search(model, **options).ids[0]
    result = search(model, **options, forbid_unk=True)
    assert tokens.UNK not in result.ids
    assert np.all(result.scores > -1e8)


def test_what_gets_no_attention_at_all_is_uncovered_but_padding_is_not():
    model = loves(tokens.EOS)
    ignored = model.memory["attention"].copy()
    ignored[0, :, :, 2:] = -1e9
    ignored[0, :, :, :2] = np.log(0.5)
    model.memory["attention"] = ignored
    plain = search(model, num_beams=1, max_length=3)
    result = search(model, num_beams=1, max_length=3, coverage_penalty=0.5)
    np.testing.assert_array_equal(result.ids, plain.ids)
    # The second source has three words and padding.
    expected = 0.5 * np.array(
        [2 * np.log(0.5) + 3 * np.log(1e-12), 3 * np.log(1 / 3)]
    )
    np.testing.assert_allclose(
        (result.scores - plain.scores)[:, 0], expected, rtol=1e-5
    )


def test_more_than_full_coverage_is_no_better():
    model = loves(4)
    options = dict(num_beams=1, max_length=8, min_length=7)
    plain = search(model, **options)
    result = search(model, **options, coverage_penalty=0.5)
    np.testing.assert_allclose(result.scores, plain.scores, atol=1e-5)
