"""Few shapes for all batches."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.pairs import batch_shapes
from tfcopy.data.pairs.batch_shapes import choose_shapes, shape_for

LENGTHS = st.integers(1, 60)
BATCHES = st.lists(st.tuples(LENGTHS, LENGTHS), min_size=1, max_size=40)


def cells(batches, shapes):
    return sum(sum(shape_for(x, shapes)) for x in batches)


@settings(max_examples=25)
@given(BATCHES, st.integers(1, 16))
def test_every_batch_has_one_of_few_shapes(batches, number):
    shapes = choose_shapes(batches, number)
    assert 1 <= len(set(shapes)) == len(shapes) <= number
    for batch in batches:
        shape = shape_for(batch, shapes)
        assert shape in shapes
        assert all(a <= b for a, b in zip(batch, shape))
    longest = tuple(max(x) for x in zip(*batches))
    assert longest in shapes


@settings(max_examples=10)
@given(BATCHES)
def test_more_shapes_need_no_more_cells(batches):
    counts = [cells(batches, choose_shapes(batches, n)) for n in (1, 2, 4, 8)]
    assert counts == sorted(counts, reverse=True)


@settings(max_examples=25)
@given(
    st.lists(
        st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=1, max_size=8
    ),
    st.integers(1, 3),
)
def test_groups_by_target_are_cut_as_well_as_can_be(batches, number):
    """Against all cuts of the targets and of each group's sources."""
    longest = tuple(max(x) for x in zip(*batches))
    targets = sorted({t for _, t in batches})
    best = None
    for size in range(1, len(targets) + 1):
        for ends in itertools.combinations(targets, size):
            if ends[-1] != targets[-1]:
                continue
            groups = [
                [x for x in batches if start < x[1] <= end]
                for start, end in zip((0, *ends), ends)
            ]
            sources = [sorted({s for s, _ in group}) for group in groups]
            sources[-1] = sorted({*sources[-1], longest[0]})
            cuts = [
                [
                    cut
                    for n in range(1, len(some) + 1)
                    for cut in itertools.combinations(some, n)
                    if cut[-1] == some[-1]
                ]
                for some in sources
            ]
            for cut in itertools.product(*cuts):
                if sum(map(len, cut)) > number:
                    continue
                total = sum(
                    min(s for s in edges if s >= batch[0]) + end
                    for group, edges, end in zip(groups, cut, ends)
                    for batch in group
                )
                best = total if best is None else min(best, total)
    found = choose_shapes([*batches, longest], number)
    assert cells(batches, found) <= best


def test_a_thousand_lengths_are_few_edges():
    batches = [(n, 2 * n) for n in range(1, 1_001)]
    shapes = choose_shapes(batches, 16)
    assert len(shapes) == 16 and (1_000, 2_000) in shapes
    assert cells(batches, shapes) < 1.1 * sum(map(sum, batches))
    assert len(batch_shapes._edges(range(1_000))) <= 24


def test_what_cannot_be_is_refused():
    with pytest.raises(ValueError, match="Received: 0 batches, number=3"):
        choose_shapes([], 3)
    with pytest.raises(ValueError, match="number=0"):
        choose_shapes([(1, 1)], 0)
    with pytest.raises(ValueError, match="5 and 1 tokens a side has no shape"):
        shape_for((5, 1), [(4, 4)])
