import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests import helpers
from tfcopy.layers import copying
from tfcopy.tokens import GENERATE, NO_COPY, UNK, UNMATCHED

V = 6  # Four special tokens and two words.


@st.composite
def cases(draw):
    """A distribution over sentences with OOV, repeated and padded words.

    Returns:
        `(generated, copied, source_copy_ids, ids)`: probabilities
        `(B, T, V)` and `(B, T, S)`, and what the batch would hold.
    """
    batch, steps, sources = 2, 2, 3  # One shape, so that JAX compiles once.
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    source_copy_ids = np.full((batch, sources), NO_COPY, "int32")
    for row in source_copy_ids:
        words = draw(st.lists(st.integers(0, V + 1), max_size=sources))
        first = {}
        for j, word in enumerate(words):
            # Ids from V - 1 on are words outside the vocabulary; 0 is no word.
            oov = V + first.setdefault(word, j) if word >= V - 1 else word
            row[j] = oov or NO_COPY
    generated = rng.gamma(0.5, size=(batch, steps, V)) + 1e-6
    copied = rng.gamma(0.5, size=(batch, steps, sources)) + 1e-6
    total = generated.sum(-1, keepdims=True) + copied.sum(-1, keepdims=True)
    ids = np.array(
        [
            draw(st.lists(st.sampled_from([*range(1, V), *row[row >= 0]]),
                          min_size=steps, max_size=steps))
            for row in source_copy_ids
        ],
        "int32",
    )  # fmt: skip
    return generated / total, copied / total, source_copy_ids, ids


def naive_merge(generated, copied, source_copy_ids):
    """`{word: probability}` of each sentence and step."""
    rows = []
    for b, t in np.ndindex(generated.shape[:2]):
        words = dict(enumerate(generated[b, t]))
        for word, p in zip(source_copy_ids[b], copied[b, t]):
            if word != NO_COPY:
                words[word] = words.get(word, 0.0) + p
        rows.append(words)
    return rows


few = settings(max_examples=40)


@few
@given(cases())
def test_merge_adds_up_what_names_the_same_word(case):
    generated, copied, source_copy_ids, _ = case
    distribution = helpers.distribution_of(generated, copied)
    merged = np.exp(
        helpers.to_numpy(copying.merge(distribution, source_copy_ids))
    )
    merged = merged.reshape(-1, merged.shape[-1])
    for row, words in zip(
        merged, naive_merge(generated, copied, source_copy_ids)
    ):
        expected = np.zeros(len(row))
        expected[list(words)] = list(words.values())
        np.testing.assert_allclose(row, expected, rtol=1e-5, atol=1e-6)


@few
@given(cases())
def test_marginal_likelihood_is_that_of_the_merged_word(case):
    generated, copied, source_copy_ids, ids = case
    distribution = helpers.distribution_of(generated, copied)
    actual = helpers.to_numpy(
        copying.marginal_log_likelihood(distribution, ids, source_copy_ids)
    )
    merged = naive_merge(generated, copied, source_copy_ids)
    expected = [np.log(w[i]) for w, i in zip(merged, ids.ravel())]
    np.testing.assert_allclose(actual.ravel(), expected, rtol=1e-4, atol=1e-4)
    table = helpers.to_numpy(copying.merge(distribution, source_copy_ids))
    same = np.take_along_axis(table, ids[..., None], -1)[..., 0]
    np.testing.assert_allclose(actual, same, rtol=1e-4, atol=1e-4)


def test_words_outside_the_vocabulary_get_nothing_from_unk():
    ids = np.array([[V - 1, V, V + 1, UNK]], "int32")
    generated = np.full((1, 4, V), 0.1)
    copied = np.full((1, 4, 3), [[[0.1, 0.2, 0.1]]])
    source_copy_ids = np.array([[V, V + 1, NO_COPY]], "int32")
    actual = copying.marginal_log_likelihood(
        helpers.distribution_of(generated, copied), ids, source_copy_ids
    )
    helpers.assert_close(
        np.exp(helpers.to_numpy(actual)), [[0.1, 0.1, 0.2, 0.1]]
    )


@few
@given(cases(), st.lists(st.integers(UNMATCHED, 2), min_size=4, max_size=4))
def test_observed_likelihood_goes_by_the_labels(case, labels):
    generated, copied, source_copy_ids, ids = case
    pointers = np.array(labels, "int32").reshape(ids.shape)
    actual = helpers.to_numpy(
        copying.observed_log_likelihood(
            helpers.distribution_of(generated, copied),
            ids,
            pointers,
            source_copy_ids,
        )
    )
    for b, t in np.ndindex(ids.shape):
        label = pointers[b, t]
        if label == GENERATE:
            expected = generated[b, t, ids[b, t] if ids[b, t] < V else UNK]
        elif label == UNMATCHED:
            words = np.flatnonzero(source_copy_ids[b] != NO_COPY)
            if not len(words):
                continue
            expected = copied[b, t, words].max()
        else:
            expected = copied[b, t, label]
        np.testing.assert_allclose(actual[b, t], np.log(expected), rtol=1e-4)


def test_copied_mass():
    distribution = helpers.distribution_of([[[0.1] * V]], [[[0.1, 0.3, 0.0]]])
    helpers.assert_close(copying.copied_mass(distribution), [[0.4]])


def test_words_outside_the_vocabulary_are_generated_as_unk():
    ids = np.array([0, 5, 6, 99], "int32")
    known = helpers.to_numpy(copying.generation_ids(ids, 6))
    assert known.tolist() == [0, 5, UNK, UNK]


def test_a_word_that_the_source_lacks_is_about_impossible_to_copy():
    copied = copying.copy_log_probs_of(
        helpers.distribution_of([[[0.1] * V]], [[[0.2, 0.2]]]),
        np.array([[4]], "int32"),
        np.array([[5, NO_COPY]], "int32"),
    )
    helpers.assert_close(copied, [[copying.MASKED]])


def logits_and_upstream(scale):
    rng = np.random.default_rng(0)
    logits = scale * rng.normal(size=(2, 3, 5)).astype("float32")
    return logits, rng.normal(size=(2, 3)).astype("float32")


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_log_normalizer_and_its_gradient(scale):
    logits, upstream = logits_and_upstream(scale)
    highest = logits.max(-1, keepdims=True)
    total = np.exp(logits - highest).sum(-1)
    expected = np.log(total) + highest[..., 0]
    helpers.assert_close(copying.log_normalizer(logits), expected)
    _, gradient, _ = helpers.gradients(
        lambda x: ops.sum(upstream * copying.log_normalizer(x)), logits
    )
    softmax = np.exp(logits - highest) / total[..., None]
    helpers.assert_close(
        gradient,
        softmax * upstream[..., None],
        atol=1e-5 if scale == 1 else 1e-3,
    )


def test_gather_last_and_its_gradient():
    x, upstream = logits_and_upstream(1.0)
    indices = np.array([[0, 4, 2], [2, 2, 0]], "int32")
    expected = np.take_along_axis(x, indices[..., None], -1)[..., 0]
    helpers.assert_close(copying.gather_last(x, indices), expected)
    _, gradient, _ = helpers.gradients(
        lambda x: ops.sum(upstream * copying.gather_last(x, indices)), x
    )
    helpers.assert_close(gradient, np.eye(5)[indices] * upstream[..., None])
