"""Batches of an encoded corpus as a `tf.data.Dataset`.

The pairs in batch k of epoch e depend only on (seed, e, k), so training can
resume at any batch at once. Shapes: B pairs, S source and T target positions.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.epoch_order import epoch_order
from tfcopy.data.pairs.batch_shapes import shape_for
from tfcopy.data.pairs.encoding import EncodedCorpus

# Tensor of a batch -> its padding.
PADDING = {
    "source_ids": special.PAD,
    "source_copy_ids": special.NO_COPY,
    "target_ids": special.PAD,
    "pointers": special.GENERATE,
}


_SIDES = {
    "source": ("source_ids", "source_copy_ids"),
    "target": ("target_ids", "pointers"),
}


def num_batches(
    encoded: EncodedCorpus, batch_size: int, *, drop_remainder: bool = True
) -> int:
    """The number of batches of an epoch."""
    whole, rest = divmod(len(encoded), batch_size)
    return whole + (rest > 0 and not drop_remainder)


def batches(
    encoded: EncodedCorpus,
    batch_size: int,
    *,
    shuffle_seed: int | None = None,
    epoch: int = 0,
    start_batch: int = 0,
    pool_batches: int = 20,
    pad_multiple: int = 1,
    shapes: Sequence[tuple[int, int]] | None = None,
    replicas: Sequence[int] = range(1),
    num_replicas: int = 1,
    drop_remainder: bool = True,
) -> tf.data.Dataset:
    """The batches of one epoch, from `start_batch` to its end.

    The pairs are shuffled anew each epoch, in pools that are sorted by target
    and source length; see `epoch_order`.

    Args:
        encoded: `EncodedCorpus`.
        batch_size: Pairs in a global batch.
        shuffle_seed: Integer; `None` keeps the order of the corpus.
        epoch: Counted from 0.
        start_batch: Number of batches to skip, to resume.
        pool_batches: Batches in a pool; 1 does not sort by length.
        pad_multiple: Lengths S and T are padded to a multiple of this.
        shapes: The only `(S, T)` that there are, from `choose_shapes`;
            `pad_multiple` counts nothing then.
        replicas: Which slices of each global batch to yield, one after the
            other: those of this worker.
        num_replicas: Number of equal slices that a global batch is cut into.
            All are padded to the length of the global batch.
        drop_remainder: Whether to leave out a last batch that is smaller. If
            so, B is static.

    Returns:
        `tf.data.Dataset` of dicts of int32 tensors: `source_ids` and
        `source_copy_ids` of shape `(B, S)`, `target_ids` and `pointers` of
        shape `(B, T)`, where B is `batch_size / num_replicas`.
    """
    replicas = list(replicas)
    _check(
        encoded,
        batch_size,
        pad_multiple,
        replicas,
        num_replicas,
        drop_remainder,
    )
    order = training_order(
        encoded,
        batch_size,
        seed=shuffle_seed,
        epoch=epoch,
        pool_batches=pool_batches,
        drop_remainder=drop_remainder,
    )
    slices = [
        (start, replica)
        for start in range(start_batch * batch_size, len(order), batch_size)
        for replica in replicas
    ]
    size = batch_size // num_replicas

    def read(start, replica):
        rows = order[start : start + batch_size]
        of_replica = rows[replica * size : (replica + 1) * size]
        lengths = _padded_lengths(encoded, rows, pad_multiple, shapes)
        return _pad_rows(encoded, of_replica, lengths)

    static_size = size if drop_remainder else None
    return _dataset(slices, read, static_size)


def evaluation_batches(
    encoded: EncodedCorpus,
    batch_size: int,
    *,
    pad_multiple: int = 1,
    shapes: Sequence[tuple[int, int]] | None = None,
) -> tf.data.Dataset:
    """All pairs, once, longest sources first, with their indices.

    Args:
        encoded: `EncodedCorpus`.
        batch_size: Largest number of pairs in a batch; the last may be
            smaller.
        pad_multiple: As in `batches`.
        shapes: As in `batches`.

    Returns:
        `tf.data.Dataset` of dicts as `batches` yields, and `indices`, int32 of
        shape `(B,)`: the number of each pair in `encoded`. Assigning to
        `outputs[indices]` restores the order.
    """
    _check(encoded, batch_size, pad_multiple, [0], 1, False)
    order = evaluation_order(encoded)

    def read(start, _):
        rows = order[start : start + batch_size]
        lengths = _padded_lengths(encoded, rows, pad_multiple, shapes)
        return _pad_rows(encoded, rows, lengths)

    slices = [(start, 0) for start in range(0, len(order), batch_size)]
    return _dataset(slices, read, None, with_indices=True)


def evaluation_order(encoded: EncodedCorpus) -> np.ndarray:
    """The order of `evaluation_batches`: longest sources first."""
    return np.lexsort((encoded.target_lengths, encoded.source_lengths))[::-1]


def training_order(
    encoded: EncodedCorpus, batch_size: int, **options
) -> np.ndarray:
    """The order of `batches`; `options` are those of `epoch_order`."""
    lengths = encoded.target_lengths, encoded.source_lengths
    return epoch_order(lengths, batch_size, **options)


def batch_lengths(
    encoded: EncodedCorpus, order: np.ndarray, batch_size: int
) -> list[tuple[int, int]]:
    """The longest source and target of each batch of an order."""
    starts = np.arange(0, len(order), batch_size)
    sides = (encoded.source_lengths, encoded.target_lengths)
    longest = (np.maximum.reduceat(x[order], starts) for x in sides)
    return [(int(s), int(t)) for s, t in zip(*longest)]


def _check(
    encoded, batch_size, pad_multiple, replicas, num_replicas, drop_remainder
):
    if pad_multiple < 1:
        raise ValueError(
            f"`pad_multiple` must be positive. Received: {pad_multiple}."
        )
    if batch_size < 1 or num_replicas < 1 or batch_size % num_replicas:
        raise ValueError(
            "`batch_size` must be a positive multiple of `num_replicas`. "
            f"Received: batch_size={batch_size}, num_replicas={num_replicas}."
        )
    if not replicas or not set(replicas) <= set(range(num_replicas)):
        raise ValueError(
            f"`replicas` must be some of 0 to {num_replicas - 1}. "
            f"Received: replicas={replicas}."
        )
    if num_replicas > 1 and not drop_remainder:
        raise ValueError(
            "A smaller last batch cannot be cut into equal slices: "
            "`num_replicas` above 1 needs drop_remainder=True."
        )
    if drop_remainder and len(encoded) < batch_size:
        raise ValueError(
            f"The corpus holds {len(encoded):,} pairs, fewer than one batch. "
            f"Received: batch_size={batch_size}."
        )


def _padded_lengths(encoded, rows, pad_multiple, shapes):
    """`(S, T)` of a global batch."""
    (lengths,) = batch_lengths(encoded, rows, len(rows))
    if shapes is not None:
        return shape_for(lengths, shapes)
    return tuple(-(-n // pad_multiple) * pad_multiple for n in lengths)


def _pad_rows(encoded, rows, lengths):
    """Arrays `(B, S)`, `(B, S)`, `(B, T)`, `(B, T)` and `rows` `(B,)`."""
    arrays = []
    for side, length in zip(_SIDES, lengths):
        splits = getattr(encoded, f"{side}_splits")
        steps = np.arange(length)
        starts = splits[rows]
        places = starts[:, None] + steps
        is_token = steps < (splits[rows + 1] - starts)[:, None]
        for name in _SIDES[side]:
            padded = np.full(places.shape, PADDING[name], np.int32)
            padded[is_token] = getattr(encoded, name)[places[is_token]]
            arrays.append(padded)
    return (*arrays, rows.astype(np.int32))


def _dataset(slices, read, static_size, with_indices=False):
    """Dataset of `read(*slice)` for each slice."""
    names = (*PADDING, "indices")

    def read_slice(position):
        # NumPy reads the arrays in place: tensors would copy them, half a
        # kilobyte per pair.
        arrays = tf.numpy_function(
            lambda i: read(*slices[i]), [position], [tf.int32] * len(names)
        )
        for array, rank in zip(arrays, (2, 2, 2, 2, 1)):
            array.set_shape([static_size, None][:rank])
        batch = dict(zip(names, arrays))
        if not with_indices:
            del batch["indices"]
        return batch

    dataset = tf.data.Dataset.range(len(slices)).map(read_slice)
    return dataset.prefetch(tf.data.AUTOTUNE)
