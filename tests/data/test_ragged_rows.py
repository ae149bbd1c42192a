import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.ragged_rows import append, join, keep, rows_of

ROWS = st.lists(st.lists(st.integers(-9, 9), max_size=4), max_size=5)


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_rows_and_their_ends(rows):
    ragged = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
    expected = [i for i, row in enumerate(rows) for _ in row]
    assert rows_of(ragged).numpy().tolist() == expected
    assert append(ragged, 7).to_list() == [[*row, 7] for row in rows]


def test_words_are_appended_too():
    words = tf.ragged.constant([["a", "b"], [], ["c"]])
    expected = [[b"a", b"b", b"."], [b"."], [b"c", b"."]]
    assert append(words, ".").to_list() == expected


@settings(max_examples=60, deadline=None)
@given(ROWS)
def test_values_are_dropped_and_no_rows(rows):
    ragged = tf.ragged.constant(rows, tf.int32, ragged_rank=1)
    kept = keep(ragged, ragged.values > 0)
    assert kept.to_list() == [[x for x in row if x > 0] for row in rows]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.text(min_size=1, max_size=3), max_size=4), max_size=5)
)
def test_strings_are_joined(rows):
    ragged = tf.ragged.constant(rows, tf.string, ragged_rank=1)
    for separator in ("", " ", "à"):
        expected = [separator.join(row).encode() for row in rows]
        assert join(ragged, separator).numpy().tolist() == expected


def test_nothing_is_joined_without_a_separator():
    rows = tf.ragged.constant([["", "a", ""], [""]])
    assert join(rows).numpy().tolist() == [b"a", b""]
