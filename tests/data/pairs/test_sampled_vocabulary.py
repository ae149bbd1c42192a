import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.pairs.sampled_vocabulary import (
    add_candidates,
    choose_candidates,
)
from tfcopy.tokens import NO_COPY

# By frequency, after the special tokens.
WORDS = {"the": 4, "a": 5, "of": 6, "zebra": 7, "quokka": 8}
V = 9


def test_the_example_of_the_paper_page():
    # "axolotl" is not in the vocabulary. Beside four special tokens there is
    # room for three words.
    sources = [[WORDS["quokka"], WORDS["of"], V + 2, NO_COPY]]
    chosen, weights = choose_candidates(tf.constant(sources), V, 7)
    kept = [0, 1, 2, 3, WORDS["the"], WORDS["of"], WORDS["quokka"]]
    assert chosen.numpy().tolist() == kept
    assert not weights.numpy().any()


@settings(max_examples=40)
@given(
    st.lists(st.integers(-1, 14), min_size=1, max_size=8), st.integers(5, 14)
)
def test_holds_all_it_should(words, count):
    chosen, _ = choose_candidates(tf.constant([words]), 10, count)
    chosen = chosen.numpy().tolist()
    assert chosen == sorted(set(chosen)) and len(chosen) == min(count, 10)
    assert chosen[:4] == [0, 1, 2, 3]
    in_source = sorted({word for word in words if 4 <= word < 10})
    others = [word for word in range(4, 10) if word not in in_source]
    assert chosen[4:] == sorted((in_source + others)[: len(chosen) - 4])


def make_dataset(**others):
    arrays = {"source_copy_ids": [[[8, 6]], [[7, -1]]], **others}
    return tf.data.Dataset.from_tensor_slices(
        {name: np.array(array, "int32") for name, array in arrays.items()}
    )


def test_each_batch_has_its_own():
    batches = list(add_candidates(make_dataset(), V, 6))
    chosen = [batch["candidate_ids"].numpy().tolist() for batch in batches]
    assert chosen == [[0, 1, 2, 3, 6, 8], [0, 1, 2, 3, 4, 7]]
    expected = {"source_copy_ids", "candidate_ids", "candidate_log_weights"}
    assert set(batches[0]) == expected


def test_words_of_the_targets_too():
    """`V` + 1 is a copied word."""
    dataset = make_dataset(target_ids=[[[7, V + 1, 2]], [[8, 2, 0]]])
    batches = list(add_candidates(dataset, V, 7, "batch"))
    chosen = [batch["candidate_ids"].numpy().tolist() for batch in batches]
    assert chosen == [[0, 1, 2, 3, 6, 7, 8], [0, 1, 2, 3, 4, 7, 8]]


@settings(max_examples=40)
@given(
    st.lists(st.integers(-1, 34), min_size=1, max_size=8), st.integers(8, 34)
)
def test_a_sample_stands_for_all_words(words, count):
    chosen, weights = choose_candidates(tf.constant([words]), 30, count, [1, 2])
    chosen, weights = chosen.numpy().tolist(), np.exp(weights.numpy())
    assert chosen == sorted(set(chosen)) and len(chosen) == min(count, 30)
    in_batch = sorted({word for word in words if 4 <= word < 30})
    certain = [0, 1, 2, 3, *in_batch][: len(chosen)]
    others = [word for word in range(4, 30) if word not in in_batch]
    certain += others[: (len(chosen) - len(certain)) // 2]
    assert set(certain) <= set(chosen)
    of = dict(zip(chosen, weights))
    assert all(of.pop(word) == 1.0 for word in certain)
    assert of or len(certain) == len(chosen)
    if of:  # all drawn words stand for equally many, all for all words
        assert weights.sum() == pytest.approx(30, rel=1e-5)
        each = (30 - len(certain)) / len(of)
        np.testing.assert_allclose(list(of.values()), each, rtol=1e-5)


def test_a_sampled_sum_is_right_in_the_mean():
    masses = np.random.default_rng(0).gamma(1.0, size=40)
    choose = tf.function(
        lambda x: choose_candidates([9, 31], 40, 14, [x, 0]), autograph=False
    )
    sums = []
    for seed in tf.range(400):
        chosen, weights = choose(seed)
        sums.append((masses[chosen] * np.exp(weights)).sum())
    error = np.std(sums) / np.sqrt(len(sums))
    assert np.mean(sums) == pytest.approx(masses.sum(), abs=4 * error)


def test_each_batch_has_a_sample_of_its_own_always_the_same():
    dataset = make_dataset(target_ids=[[[5, 2, 0]], [[6, 2, 0]]])
    found = [
        [batch["candidate_ids"].numpy().tolist() for batch in batches]
        for batches in (
            add_candidates(dataset, 100, 20, "sample"),
            add_candidates(dataset, 100, 20, "sample"),
        )
    ]
    assert found[0] == found[1]
    assert found[0][0] != found[0][1]
    assert {5, 6, 8} <= set(found[0][0])


def test_all_words_without_a_count():
    for batch in add_candidates(make_dataset(), V):
        assert batch["candidate_ids"].numpy().tolist() == list(range(V))
