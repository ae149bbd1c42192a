"""All ways to say a word are one continuation, before the best are chosen."""

import itertools

import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests.decoding.searching import assert_finds, search_sources
from tests.decoding.table_model import TableModel, probabilities, random_model
from tfcopy import tokens
from tfcopy.decoding import SearchOptions

V = 7
# JAX compiles each search anew, for seconds.
EXAMPLES = 8 if keras.backend.backend() == "tensorflow" else 3
# Two words of the vocabulary, one of them twice; an unknown word twice and
# one once; in the second a literal UNK, and padding.
SOURCE_IDS = np.array([[4, 1, 4, 1, 5, 1], [1, 6, 1, 6, 0, 0]], "int32")
COPY_IDS = np.array(
    [[4, V + 1, 4, V + 1, 5, V + 5], [-1, 6, V + 2, 6, -1, -1]], "int32"
)

# A word of the vocabulary that stands there twice.
PROTECTED = np.array([[1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]], bool)
MERGE = st.sampled_from(["sum", "max"])


def search(model, prefix=None, **options):
    must_copy = options.get("must_copy")
    return search_sources(
        model,
        SOURCE_IDS,
        COPY_IDS,
        SearchOptions(**options),
        prefix,
        protected=ops.convert_to_tensor(PROTECTED) if must_copy else None,
    )


def enumerated(model, row, max_length, forbid_unk, rescale, merge):
    """`(log p, words)` of all that ends in EOS, the most probable first."""
    words = {*range(4, V), *COPY_IDS[row]} - {-1}
    words |= set() if forbid_unk else {tokens.UNK}
    actual = []
    for length in range(max_length):
        for said in itertools.product(sorted(map(int, words)), repeat=length):
            ids, log_p = [tokens.BOS, *said, tokens.EOS], 0.0
            for step, (previous, word) in enumerate(itertools.pairwise(ids)):
                previous = previous if previous < V else tokens.UNK
                p = probabilities(
                    model, row, step, previous, COPY_IDS[row], merge
                )
                rest = 1 - p[tokens.UNK] if forbid_unk and rescale else 1
                log_p += np.log(p[word] / rest)
            actual.append((log_p, ids[1:]))
    return sorted(actual, reverse=True)


@settings(max_examples=EXAMPLES)
@given(
    seed=st.integers(0, 2**20),
    forbid_unk=st.booleans(),
    rescale=st.booleans(),
    merge=MERGE,
)
def test_a_wide_beam_finds_the_best_of_all(seed, forbid_unk, rescale, merge):
    model = random_model(seed, SOURCE_IDS, 3, V, eos_logit=1.0)
    result = search(
        model,
        num_beams=350,
        num_hypotheses=8,
        max_length=3,
        forbid_unk=forbid_unk,
        rescale=rescale,
        merge=merge,
    )
    options = 3, forbid_unk, rescale, merge
    assert_finds(result, [enumerated(model, x, *options) for x in range(2)])


@settings(max_examples=2 * EXAMPLES)
@given(
    seed=st.integers(0, 2**20),
    num_beams=st.integers(2, 6),
    merge=MERGE,
    options=st.sampled_from(
        [
            {},
            {"refill": True},
            {"must_copy": True},
            {"no_repeat_ngram": 2, "min_length": 2},
            {"forbid_unk": True, "rescale": True, "source_only": (4, 5)},
            {"static_shapes": True, "unfinished_compete": True},
        ]
    ),
)
def test_no_hypothesis_is_there_twice(seed, num_beams, merge, options):
    model = random_model(seed, SOURCE_IDS, 4, V, eos_logit=-1.0)
    # The source's first word is the best one, in all its ways.
    model.memory["attention"][:, :, :, [0, 2]] += 2.0
    model.memory["logits"][..., 4] += 2.0
    result = search(
        model,
        num_beams=num_beams,
        num_hypotheses=num_beams,
        max_length=4,
        merge=merge,
        **options,
    )
    for row in result.ids:
        assert len({tuple(ids) for ids in row}) == num_beams


@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**20), merge=MERGE, must_copy=st.booleans())
def test_a_forced_word_counts_as_one_that_is_chosen(seed, merge, must_copy):
    model = random_model(seed, SOURCE_IDS, 4, V)
    options = dict(max_length=4, merge=merge, must_copy=must_copy)
    free = search(model, **options)
    for of_both in zip(free, search(model, free.ids[:, 0], **options)):
        np.testing.assert_allclose(*of_both, rtol=1e-5)


def mixture():
    """Check 3 of CopyNet's, for a source a c c: a is 4, b 5, and c V + 1.

    EOS 0.1, a 0.2 + 0.2, b 0.1, UNK 0.1, c 0.1 + 0.2.
    """
    generated = np.full(V, 1e-20)
    generated[[tokens.EOS, 4, 5, tokens.UNK]] = 0.2, 0.4, 0.2, 0.2
    return TableModel(
        np.tile(np.log(generated), (1, 1, V, 1)),
        np.tile([0.4, 0.2, 0.4], (1, 1, V, 1)),
        np.full((1, 1, V), 0.5),
    )


def search_mixture(**options):
    result = search_sources(
        mixture(),
        np.array([[4, 1, 1]], "int32"),
        np.array([[4, V + 1, V + 1]], "int32"),
        SearchOptions(max_length=1, **options),
    )
    return result.ids[0, :, 0], result.scores[0], result.copied_from[0]


@pytest.mark.parametrize(
    "merge, probabilities", [("sum", [0.4, 0.3]), ("max", [0.2, 0.2])]
)
def test_a_beam_of_two_holds_different_words(merge, probabilities):
    ids, scores, copied_from = search_mixture(
        num_beams=2, num_hypotheses=2, merge=merge
    )
    assert ids.tolist() == [4, V + 1]
    np.testing.assert_allclose(np.exp(scores), probabilities, atol=1e-5)
    assert copied_from[1, 0] == 2  # where c is the likelier


@pytest.mark.parametrize("rescale, total", [(False, 1.0), (True, 0.9)])
def test_without_unk_the_others_may_share_its_mass(rescale, total):
    ids, scores, _ = search_mixture(
        num_beams=4, num_hypotheses=4, forbid_unk=True, rescale=rescale
    )
    actual = dict(zip(ids.tolist(), np.exp(scores)))
    expected = {tokens.EOS: 0.1, 4: 0.4, 5: 0.1, V + 1: 0.3}
    assert actual == pytest.approx({k: p / total for k, p in expected.items()})
