"""Batches of an encoded corpus as a `tf.data.Dataset`.

The pairs in batch k of epoch e depend only on (seed, e, k), so training can
resume at any batch at once. Few shapes suffice, for compilers that compile
each.

Shapes: B pairs, S source and T target positions.
"""

import functools
from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.epoch_batches import (
    TokenLimit,
    check_batch_size,
    cut_rows,
    epoch_batches,
)
from tfcopy.data.pairs.encoding import SIDES, EncodedCorpus

# Lengths that a shape may have, of each side; more cost time and save little.
_MAX_EDGES = 24


def choose_shapes(
    lengths: Sequence[tuple[int, int]], number: int
) -> list[tuple[int, int]]:
    """Chooses at most so many shapes, with the fewest cells of padding.

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
    """Finds the shape with the fewest cells that holds a batch.

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
    """Returns at most `_MAX_EDGES` lengths, the longest among them."""
    distinct = np.unique(lengths)
    if len(distinct) <= _MAX_EDGES:
        return distinct
    shares = np.linspace(0, 1, _MAX_EDGES + 1)[1:]
    return np.unique(np.quantile(lengths, shares, method="higher"))


class _Groups:
    """Table of batches, to be cut into rectangles.

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
        """Finds `(cells, shapes)` of the targets before `end`, or `None`."""
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
        """Chooses `number` shapes as `best` does, for one group of targets."""
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


# Tensor of a batch -> its padding.
PADDING = {
    "source_ids": special.PAD,
    "source_copy_ids": special.NO_COPY,
    "target_ids": special.PAD,
    "pointers": special.GENERATE,
}


def batches(
    encoded: EncodedCorpus,
    batch_size: int | TokenLimit,
    *,
    shuffle_seed: int | None = None,
    epoch: int = 0,
    start_batch: int = 0,
    pool_batches: int = 20,
    shapes: Sequence[tuple[int, int]] | None = None,
    num_replicas: int = 1,
) -> tf.data.Dataset:
    """Makes the batches of one epoch, from `start_batch` to its end.

    The pairs are shuffled in each epoch, in pools that are sorted by target and
    source length; see `epoch_batches`. A last batch that would be smaller is
    left out.

    ```python
    encoded = data.encode(pairs, *vocabularies)
    for batch in data.batches(encoded, 2, shuffle_seed=0):
        batch["source_ids"]  # (2, S)
    ```

    Args:
        encoded: `EncodedCorpus`.
        batch_size: Pairs in a global batch, or a `TokenLimit`, whose
            `shapes` then take the place of those below.
        shuffle_seed: Integer; `None` keeps the order of the corpus.
        epoch: Counted from 0.
        start_batch: Number of batches to skip, to resume.
        pool_batches: Batches in a pool; 1 does not sort by length.
        shapes: The only `(S, T)` that there are, from `choose_shapes`.
        num_replicas: Number of slices that a global batch is cut into, equal
            but for one pair where tokens are counted. They are yielded one
            after the other, padded to the length of the global batch.

    Returns:
        `tf.data.Dataset` of dicts of int32 tensors: `source_ids` and
        `source_copy_ids` of shape `(B, S)`, `target_ids` and `pointers` of
        shape `(B, T)`, where B is `batch_size / num_replicas`, and static
        unless tokens are counted. If the corpus
        has an alignment, also `alignment`, float32 of shape `(B, T, S)`: see
        `GuidedAlignment.weights`.
    """
    by_tokens = isinstance(batch_size, TokenLimit)
    if by_tokens:
        sides = encoded.source_lengths, encoded.target_lengths
        batch_size.check(sides, num_replicas)
    else:
        check_batch_size(len(encoded), batch_size, num_replicas, "pairs")
    found = training_rows(
        encoded,
        batch_size,
        seed=shuffle_seed,
        epoch=epoch,
        pool_batches=pool_batches,
    )
    slices = [
        (rows, replica)
        for rows in found[start_batch:]
        for replica in range(num_replicas)
    ]

    def read(rows, replica):
        own = shapes
        if by_tokens and batch_size.shapes is not None:
            own = batch_size.shapes_with(len(rows))
        lengths = _padded_lengths(encoded, rows, own)
        of_replica = np.array_split(rows, num_replicas)[replica]
        arrays = _pad_rows(encoded, of_replica, lengths)
        if encoded.alignment is not None:
            arrays += (encoded.alignment.weights(of_replica, lengths),)
        return arrays

    size = None if by_tokens else batch_size // num_replicas
    names = [*PADDING, *(["alignment"] * (encoded.alignment is not None))]
    return _dataset(slices, read, size, names)


def evaluation_batches(
    encoded: EncodedCorpus,
    batch_size: int,
    *,
    shapes: Sequence[tuple[int, int]] | None = None,
) -> tf.data.Dataset:
    """Makes batches of all pairs, longest sources first.

    ```python
    encoded = data.encode(pairs, *vocabularies)
    for batch in data.evaluation_batches(encoded, 2):
        batch["indices"]  # (2,)
    ```

    Args:
        encoded: `EncodedCorpus`.
        batch_size: Largest number of pairs in a batch; the last may be
            smaller.
        shapes: As in `batches`.

    Returns:
        `tf.data.Dataset` of dicts as `batches` yields, and `indices`, int32 of
        shape `(B,)`: the number of each pair in `encoded`. Assigning to
        `outputs[indices]` restores the order.
    """
    # A smaller last batch may be the only one.
    check_batch_size(max(len(encoded), batch_size), batch_size)

    def read(rows):
        lengths = _padded_lengths(encoded, rows, shapes)
        arrays = _pad_rows(encoded, rows, lengths)
        return (*arrays, rows.astype(np.int32))

    slices = [(rows,) for rows in evaluation_rows(encoded, batch_size)]
    return _dataset(slices, read, None, [*PADDING, "indices"])


def evaluation_rows(
    encoded: EncodedCorpus, batch_size: int
) -> list[np.ndarray]:
    """Returns the rows of each batch of `evaluation_batches`."""
    order = np.lexsort((encoded.target_lengths, encoded.source_lengths))
    return cut_rows(order[::-1], batch_size)


def training_rows(
    encoded: EncodedCorpus, batch_size: int | TokenLimit, **options
) -> list[np.ndarray]:
    """Returns the rows of each batch of `batches`."""
    sides = [encoded.target_lengths, encoded.source_lengths]
    if isinstance(batch_size, TokenLimit) and batch_size.shapes is not None:
        sides.reverse()  # as in its shapes
    return epoch_batches(sides, batch_size, **options)


def batch_lengths(
    encoded: EncodedCorpus, batches: Sequence[np.ndarray]
) -> list[tuple[int, int]]:
    """Returns the longest source and target of each batch."""
    rows = np.concatenate(batches)
    starts = np.cumsum([0, *map(len, batches)])[:-1]
    sides = (encoded.source_lengths, encoded.target_lengths)
    longest = (np.maximum.reduceat(x[rows], starts) for x in sides)
    return [(int(s), int(t)) for s, t in zip(*longest)]


def _padded_lengths(encoded, rows, shapes):
    """Returns `(S, T)` of a global batch."""
    (lengths,) = batch_lengths(encoded, [rows])
    return lengths if shapes is None else shape_for(lengths, shapes)


def _pad_rows(encoded, rows, lengths):
    """Arrays `(B, S)`, `(B, S)`, `(B, T)` and `(B, T)`."""
    arrays = []
    for side, length in zip(SIDES, lengths):
        splits = getattr(encoded, f"{side}_splits")
        steps = np.arange(length)
        starts = splits[rows]
        places = starts[:, None] + steps
        is_token = steps < (splits[rows + 1] - starts)[:, None]
        for name in SIDES[side]:
            padded = np.full(places.shape, PADDING[name], np.int32)
            padded[is_token] = getattr(encoded, name)[places[is_token]]
            arrays.append(padded)
    return tuple(arrays)


_RANKS = {"indices": 1, "alignment": 3}  # others have 2


def _dataset(slices, read, static_size, names):
    """Makes a dataset of `read(*slice)` for each slice, dicts by name."""
    types = [tf.float32 if x == "alignment" else tf.int32 for x in names]
    shapes = [
        [static_size, None, None][: _RANKS.get(name, 2)] for name in names
    ]

    def read_slice(position):
        # NumPy reads the arrays in place: tensors would copy them, half a
        # kilobyte per pair.
        arrays = tf.numpy_function(
            lambda i: read(*slices[i]), [position], types
        )
        for array, shape in zip(arrays, shapes):
            array.set_shape(shape)
        return dict(zip(names, arrays))

    dataset = tf.data.Dataset.range(len(slices)).map(read_slice)
    return dataset.prefetch(tf.data.AUTOTUNE)
