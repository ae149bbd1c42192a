"""Check 17: spans by their scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import helpers
from tfcopy.decoding import independent_spans, joint_spans

MASKED = -1e9
LONGEST = 9
LENGTHS = st.lists(st.integers(2, LONGEST), min_size=3, max_size=3)


def scores(seed, lengths, values=4):
    """Few values, so that there are equal ones; `MASKED` on padding."""
    rng = np.random.default_rng(seed)
    shape = (2, len(lengths), LONGEST)
    is_word = np.arange(LONGEST) < np.array(lengths)[:, None]
    drawn = rng.integers(values, size=shape).astype("float32")
    return np.where(is_word, drawn, np.float32(MASKED))


def brute_force(start, end, max_length):
    """The first best pair of one row."""
    best, actual = -np.inf, None
    for i, j in np.ndindex(len(start), len(end)):
        if i < j <= i + max_length and start[i] + end[j] > best:
            best, actual = start[i] + end[j], (i, j)
    return actual


@settings(max_examples=60)
@given(st.integers(0, 2**32), LENGTHS, st.sampled_from([1, 3, 8, 10]))
def test_joint_spans_are_those_of_brute_force(seed, lengths, max_length):
    start, end = scores(seed, lengths)
    actual = helpers.to_numpy(joint_spans(start, end, max_length))
    assert all(x.dtype == "int32" for x in actual)
    expected = [brute_force(*row, max_length) for row in zip(start, end)]
    assert list(zip(*map(np.ndarray.tolist, actual))) == expected
    for first, last, length in zip(*actual, lengths):
        # Neither empty, nor with the `EOS` that ends the text, nor padding.
        assert 0 <= first < last < length


@settings(max_examples=20)
@given(st.integers(0, 2**32), LENGTHS)
def test_independent_spans_are_two_maxima(seed, lengths):
    start, end = scores(seed, lengths)
    actual = helpers.to_numpy(independent_spans(start, end))
    assert all(x.dtype == "int32" for x in actual)
    expected = start.argmax(-1), end.argmax(-1)
    assert [x.tolist() for x in actual] == [x.tolist() for x in expected]


def test_independent_spans_may_be_empty_and_joint_ones_not():
    start = np.array([[0.0, 1.0, 5.0, 0.0]], "float32")
    end = np.array([[0.0, 4.0, 0.0, 3.0]], "float32")
    actual = helpers.to_numpy(independent_spans(start, end))
    assert [x.tolist() for x in actual] == [[2], [1]]
    actual = helpers.to_numpy(joint_spans(start, end))
    assert [x.tolist() for x in actual] == [[2], [3]]


def test_spans_of_thirty_words_and_no_more():
    start, end = np.zeros((2, 1, 40), "float32")
    start[0, 3], end[0, 34], end[0, 33] = 5, 5, 1
    assert [int(x[0]) for x in joint_spans(start, end)] == [3, 33]
    assert [int(x[0]) for x in joint_spans(start, end, 31)] == [3, 34]


def test_works_in_a_graph_of_any_size():
    start, end = scores(0, [7, 3, 5])

    def function(tensors):
        return (
            joint_spans(tensors["start"], tensors["end"]),
            independent_spans(tensors["start"], tensors["end"]),
        )

    given_ = {"start": start, "end": end}
    axes = dict.fromkeys(given_, (0, 1))
    helpers.assert_close(
        helpers.compiled(function, given_, axes)(given_), function(given_)
    )


def test_a_span_has_a_word():
    start, end = scores(0, [3])
    with pytest.raises(ValueError, match="max_length=0"):
        joint_spans(start, end, 0)
