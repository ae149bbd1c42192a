import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.ragged_rows import append, rows_of

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
