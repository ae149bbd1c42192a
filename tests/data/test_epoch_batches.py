import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.epoch_batches import TokenLimit, epoch_batches, epoch_order

LENGTHS = np.random.default_rng(0).integers(1, 30, (2, 1003))
LONGEST = LENGTHS.max(axis=0)
SHAPES = ((9, 9), (12, 30), (30, 12), (20, 20), (30, 30))


def made(size, **options):
    return epoch_batches(LENGTHS, size, **{"seed": 1} | options)


def rows_of(batches):
    return [rows.tolist() for rows in batches]


def padded(rows):
    return len(rows) * LONGEST[rows].max()


@pytest.mark.parametrize("options", [{}, {"seed": None}, {"epoch": 3}])
def test_batches_of_examples_are_parts_of_the_order(options):
    options = {"seed": 1} | options
    batches = made(10, **options)
    order = epoch_order(LENGTHS, 10, **options)
    assert np.concatenate(batches).tolist() == order.tolist()
    assert [len(rows) for rows in batches[:-1]] == [10] * (len(batches) - 1)


@given(
    tokens=st.integers(30, 900),
    seed=st.integers(0, 4),
    epoch=st.integers(0, 3),
    pool_batches=st.sampled_from([1, 2, 20]),
    shapes=st.sampled_from([None, SHAPES]),
)
@settings(max_examples=60, deadline=None)
def test_no_batch_has_more_tokens(tokens, seed, epoch, pool_batches, shapes):
    order = {"seed": seed, "epoch": epoch, "pool_batches": pool_batches}
    batches = made(TokenLimit(tokens, shapes=shapes), **order)
    assert max(map(padded, batches)) <= tokens
    assert min(map(len, batches)) > 0
    seen = np.concatenate(batches)
    assert len(set(seen.tolist())) == len(seen)
    left_out = len(LONGEST) - len(seen)
    if len(batches) > 1:
        assert left_out < tokens // LONGEST[seen].min() + 1
    else:
        assert not left_out


def test_batches_are_full():
    """No batch has room for one more of its length, the last left out."""
    assert np.mean([padded(rows) for rows in made(TokenLimit(200))]) > 185
    in_order = made(TokenLimit(200), seed=None)
    for rows, following in zip(in_order, in_order[1:]):
        assert padded(np.append(rows, following[0])) > 200
    assert np.concatenate(in_order).tolist() == list(
        range(in_order[-1][-1] + 1)
    )


def test_token_batches_differ_by_epoch_and_seed_and_repeat():
    for shapes in (None, SHAPES):
        limit = TokenLimit(200, shapes=shapes)
        first = rows_of(made(limit))
        assert first == rows_of(made(limit))
        assert first != rows_of(made(limit, epoch=1))
        assert first != rows_of(made(limit, seed=2))


def test_token_batches_hold_examples_of_like_length():
    spread = [
        np.mean([np.ptp(LONGEST[rows]) for rows in made(limit, **options)])
        for limit, options in (
            (TokenLimit(300), {"pool_batches": 1}),
            (TokenLimit(300), {}),
        )
    ]
    assert spread[1] < 3 < 15 < spread[0]


def test_batches_of_a_shape_have_equally_many_rows():
    limit = TokenLimit(500, shapes=SHAPES)
    assert [limit.rows(shape) for shape in SHAPES] == [48, 16, 16, 24, 16]
    batches = made(limit)
    assert {len(rows) for rows in batches} <= {48, 16, 24}
    for rows in batches:
        s, t = LENGTHS[:, rows].max(axis=1)
        fitting = limit.shapes_with(len(rows))
        assert any(s <= shape[0] and t <= shape[1] for shape in fitting)
    # Few are put into a larger shape than they need.
    smallest = np.flatnonzero(LONGEST <= 9)
    of_smallest = [rows for rows in batches if len(rows) == 48]
    assert len(np.concatenate(of_smallest)) > len(smallest) - 48


def test_rows_of_long_texts_may_be_any_number():
    assert TokenLimit(100, shapes=((30, 30),)).rows((30, 30)) == 3


def test_a_small_corpus_is_one_batch():
    for shapes in (None, SHAPES):
        (rows,) = made(TokenLimit(9 * 10**4, shapes=shapes))
        assert len(rows) == 1003


@pytest.mark.parametrize(
    "limit, replicas, message",
    [
        (TokenLimit(28), 1, "at least 29, 1 times the .* text, .*: 28"),
        (TokenLimit(57), 2, "at least 58, 2 times .*. Received: 57"),
        (TokenLimit(59, shapes=SHAPES), 2, "at least 60, 2 times"),
        # Nine rows of a shape would be cut down to eight.
        (TokenLimit(479, shapes=SHAPES), 9, "at least 480, 16 times"),
    ],
)
def test_too_few_tokens_are_refused(limit, replicas, message):
    with pytest.raises(ValueError, match=f"`tokens` must be {message}"):
        limit.check(LENGTHS, replicas)
    TokenLimit(480, shapes=SHAPES).check(LENGTHS, 9)
