"""Few shapes for all batches, for compilers that compile each shape anew.

Shapes: S source and T target positions of a batch.
"""

import functools
from collections.abc import Sequence

import numpy as np

# Lengths that a shape may have, of each side; more cost time and save little.
_MAX_EDGES = 24


def choose_shapes(
    lengths: Sequence[tuple[int, int]], number: int
) -> list[tuple[int, int]]:
    """At most so many shapes, with the fewest cells of padding.

    Batches are cut into groups by T, and each group by S; a dynamic programme
    finds the cuts with the fewest cells, `S + T` of each batch, where lengths
    are rounded up to at most 24 different ones.

    Args:
        lengths: `(S, T)` of each batch.
        number: The most shapes, at least 1.

    Returns:
        List of `(S, T)`; one of them is as long as the longest on both sides.

    Raises:
        ValueError: If there are no batches or no shapes.
    """
    lengths = np.asarray(lengths, dtype=np.int64).reshape(-1, 2)
    if not len(lengths) or number < 1:
        raise ValueError(
            "There must be a batch, and at least one shape. "
            f"Received: {len(lengths)} batches, number={number}."
        )
    edges = [_edges(column) for column in lengths.T]
    counts = np.zeros([len(x) for x in edges], dtype=np.int64)
    places = [np.searchsorted(x, y) for x, y in zip(edges, lengths.T)]
    np.add.at(counts, tuple(places), 1)
    if counts[-1, -1] == 0:
        counts[-1, -1] = 1  # Other orders of the corpus may hold such a batch.
    groups = _Groups(counts, *edges)
    _, shapes = groups.best(len(edges[1]), number)
    return list(shapes)


def shape_for(lengths, shapes) -> tuple[int, int]:
    """The shape with the fewest cells that holds a batch.

    Args:
        lengths: `(S, T)` of the batch.
        shapes: From `choose_shapes`.

    Raises:
        ValueError: If the batch is longer than all shapes.
    """
    fitting = [
        shape
        for shape in shapes
        if shape[0] >= lengths[0] and shape[1] >= lengths[1]
    ]
    if not fitting:
        raise ValueError(
            f"A batch of {lengths[0]} and {lengths[1]} tokens a side has no "
            f"shape. Received: shapes={list(shapes)}."
        )
    return min(fitting, key=sum)


def _edges(lengths):
    """At most `_MAX_EDGES` different lengths, the longest among them."""
    distinct = np.unique(lengths)
    if len(distinct) <= _MAX_EDGES:
        return distinct
    shares = np.linspace(0, 1, _MAX_EDGES + 1)[1:]
    return np.unique(np.quantile(lengths, shares, method="higher"))


class _Groups:
    """Cuts a table of batches into rectangles.

    Args:
        counts: Number of batches by the edges of S and of T.
        source_edges, target_edges: These lengths, ascending.
    """

    def __init__(self, counts, source_edges, target_edges):
        self._counts = counts
        self._sources = source_edges.tolist()
        self._targets = target_edges.tolist()

    @functools.cache  # noqa: B019
    def best(self, end, number):
        """`(cells, shapes)` of the targets before `end`; `None` if none can."""
        if end == 0:
            return 0, ()
        found = None
        for start in range(end):
            for used in range(1, number + 1):
                before = self.best(start, number - used)
                group = self._group(start, end, used)
                if before is None or group is None:
                    continue
                cells = before[0] + group[0]
                if found is None or cells < found[0]:
                    found = cells, before[1] + group[1]
        return found

    @functools.cache  # noqa: B019
    def _group(self, start, end, number):
        """As `best`, of these targets as one group, with `number` shapes."""
        counts = self._counts[:, start:end].sum(axis=1)
        return self._cut(tuple(counts.tolist()), self._targets[end - 1], number)

    def _cut(self, counts, target, number):
        """Cuts sources into `number` shapes of one T."""
        # least[k][j]: the fewest cells of the first j sources in k shapes.
        ends = [j for j, n in enumerate(counts, 1) if n]
        if not ends or number > len(ends):
            return None
        least = {0: (0, ())}
        for _ in range(number):
            longer = {}
            for j in ends:
                choices = [
                    (
                        cells
                        + sum(counts[i:j]) * (self._sources[j - 1] + target),
                        (*shapes, (self._sources[j - 1], target)),
                    )
                    for i, (cells, shapes) in least.items()
                    if i < j
                ]
                if choices:
                    longer[j] = min(choices)
            least = longer
        return least.get(ends[-1])
