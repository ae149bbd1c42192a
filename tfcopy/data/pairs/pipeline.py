"""Batches of an encoded corpus as a `tf.data.Dataset`.

The pairs in batch k of epoch e depend only on (seed, e, k), so training can
resume at any batch at once. Few shapes suffice, for compilers that compile
each.

Shapes: B pairs, S source and T target positions.
"""

import math
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


def choose_shapes(
    lengths: Sequence[tuple[int, int]], number: int
) -> list[tuple[int, int]]:
    """Chooses at most so many shapes, with few cells of padding.

    Batches are cut into equally large groups by T, and each group into equally
    large ones by S; a shape is as long as the longest of its group.

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
    # Other orders of the corpus may hold such a batch.
    lengths = np.concatenate([lengths, lengths.max(axis=0, keepdims=True)])
    groups, shapes = math.isqrt(number), {}
    for group in _cut(lengths, 1, groups):
        for part in _cut(group, 0, number // groups):
            shapes[tuple(part.max(axis=0).tolist())] = None
    return list(shapes)


def _cut(lengths, side, number):
    """Cuts lengths `(N, 2)` into groups by one side, the shortest first."""
    order = np.argsort(lengths[:, side], kind="stable")
    return np.array_split(lengths[order], min(number, len(lengths)))


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
    order = {"seed": shuffle_seed, "epoch": epoch, "pool_batches": pool_batches}
    slices = [
        (rows, replica)
        for rows in training_rows(encoded, batch_size, **order)[start_batch:]
        for replica in range(num_replicas)
    ]

    def read(rows, replica):
        own = shapes
        if by_tokens and batch_size.shapes is not None:
            own = batch_size.shapes_with(len(rows))
        lengths = _get_padded_lengths(encoded, rows, own)
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
        lengths = _get_padded_lengths(encoded, rows, shapes)
        return (*_pad_rows(encoded, rows, lengths), rows.astype(np.int32))

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


def _get_padded_lengths(encoded, rows, shapes):
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
