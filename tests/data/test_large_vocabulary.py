import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.large_vocabulary import choose_candidates, with_candidates
from tfcopy.tokens import NO_COPY

# By frequency, after the special tokens.
WORDS = {"the": 4, "a": 5, "of": 6, "zebra": 7, "quokka": 8}
V = 9


def test_the_example_of_the_paper_page():
    # "axolotl" is not in the vocabulary. Beside four special tokens there is
    # room for three words.
    sources = [[WORDS["quokka"], WORDS["of"], V + 2, NO_COPY]]
    chosen = choose_candidates(tf.constant(sources), V, 7)
    kept = [0, 1, 2, 3, WORDS["the"], WORDS["of"], WORDS["quokka"]]
    assert chosen.numpy().tolist() == kept


def test_the_most_frequent_words_of_the_sources_if_they_are_too_many():
    chosen = choose_candidates(tf.constant([[8, 7, 6, 6]]), V, 6)
    assert chosen.numpy().tolist() == [0, 1, 2, 3, 6, 7]


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-1, 14), min_size=1, max_size=8), st.integers(5, 14)
)
def test_holds_all_it_should(words, count):
    chosen = choose_candidates(tf.constant([words]), 10, count)
    chosen = chosen.numpy().tolist()
    assert chosen == sorted(set(chosen)) and len(chosen) == min(count, 10)
    assert chosen[:4] == [0, 1, 2, 3]
    in_source = sorted({word for word in words if 4 <= word < 10})
    others = [word for word in range(4, 10) if word not in in_source]
    expected = (in_source + others)[: len(chosen) - 4]
    assert chosen[4:] == sorted(expected)


def make_dataset(**others):
    arrays = {"source_copy_ids": [[[8, 6]], [[7, -1]]], **others}
    return tf.data.Dataset.from_tensor_slices(
        {name: np.array(array, "int32") for name, array in arrays.items()}
    )


def test_each_batch_has_its_own():
    batches = list(with_candidates(make_dataset(), V, 6))
    chosen = [batch["candidate_ids"].numpy().tolist() for batch in batches]
    assert chosen == [[0, 1, 2, 3, 6, 8], [0, 1, 2, 3, 4, 7]]
    assert set(batches[0]) == {"source_copy_ids", "candidate_ids"}


def test_words_of_the_targets_too():
    """`V` + 1 is a copied word."""
    dataset = make_dataset(target_ids=[[[7, V + 1, 2]], [[8, 2, 0]]])
    batches = list(with_candidates(dataset, V, 7, "batch"))
    chosen = [batch["candidate_ids"].numpy().tolist() for batch in batches]
    assert chosen == [[0, 1, 2, 3, 6, 7, 8], [0, 1, 2, 3, 4, 7, 8]]


def test_all_words_without_a_count():
    for batch in with_candidates(make_dataset(), V):
        assert batch["candidate_ids"].numpy().tolist() == list(range(V))


def test_room_for_the_special_tokens():
    with pytest.raises(ValueError, match="above 4.*Received: count=4"):
        with_candidates(make_dataset(), V, 4)
