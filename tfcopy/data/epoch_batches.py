"""Batches of an epoch: examples, shuffled and sorted by length.

A batch holds a number of examples, or of tokens.

Shapes: N examples.
"""

import dataclasses
from collections.abc import Sequence

import numpy as np


def epoch_order(
    lengths: Sequence[np.ndarray],
    batch_size: int,
    seed: int | None = None,
    epoch: int = 0,
    pool_batches: int = 20,
) -> np.ndarray:
    """Orders an epoch's examples; each `batch_size` of them are a batch.

    They are shuffled in each epoch. Pools of `pool_batches` batches are
    sorted by length, so that a batch holds examples of similar length, and cut
    into batches, which are shuffled within the pool. A last batch that would be
    smaller is left out. The order depends only on the arguments.

    Args:
        lengths: One or more int arrays `(num_examples,)`; examples are sorted
            by the first, then by the second, and so on.
        batch_size: Positive integer.
        seed: Integer; `None` keeps the original order.
        epoch: Counted from 0.
        pool_batches: Batches in a pool; 1 does not sort by length.

    Returns:
        int64 array of the numbers of the examples.
    """
    size = len(lengths[0])
    num_batches = size // batch_size
    num_used = num_batches * batch_size
    if seed is None:
        return np.arange(num_used)
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(size)[:num_used]
    if pool_batches > 1:
        pools = np.arange(num_used) // (pool_batches * batch_size)
        keys = [x[order] for x in reversed(lengths)]
        order = order[np.lexsort((*keys, pools))]
    pools = np.arange(num_batches) // pool_batches
    places = np.lexsort((rng.random(num_batches), pools))
    return order.reshape(num_batches, batch_size)[places].reshape(-1)


# Rows that kernels like: shapes with more have a multiple of it.
_ROWS = 8


@dataclasses.dataclass(frozen=True)
class TokenLimit:
    """Limit of the tokens of a batch, padding included.

    They are its examples times the longest text of any of them; the longer side
    of a pair counts.

    Attributes:
        tokens: Positive integer, the most tokens of a batch.
        shapes: The only lengths that batches are padded to, one or more
            numbers each, for compilers; the last holds every example. All
            batches of a shape then have equally many rows. `None` for any.
    """

    tokens: int
    shapes: Sequence[tuple[int, ...]] | None = None

    def longest(self, lengths: Sequence[np.ndarray]) -> np.ndarray:
        """Returns the length of the longest text of examples, `(N,)`."""
        return np.maximum(np.maximum.reduce(list(lengths)), 1)

    def check(self, lengths: Sequence[np.ndarray], num_replicas: int = 1):
        """Raises a ValueError if a batch lacks an example for each replica."""
        longest, rows = self.longest(lengths).max(initial=1), num_replicas
        if self.shapes is not None:
            longest = max(longest, *map(max, self.shapes))
            if rows > _ROWS:
                rows = -(-rows // _ROWS) * _ROWS
        if self.tokens < rows * longest:
            raise ValueError(
                f"`tokens` must be at least {rows * longest}, {rows} times the "
                "length of the longest text, so that each device gets one. "
                f"Received: {self.tokens}."
            )

    def rows(self, shape: tuple[int, ...]) -> int:
        """Returns the number of examples in a batch of one of the `shapes`."""
        rows = self.tokens // max(shape)
        return rows // _ROWS * _ROWS or rows

    def shapes_with(self, rows: int) -> list[tuple[int, ...]]:
        """Returns the `shapes` whose batches have so many rows.

        The only batch of a small corpus may have fewer than any: then all.
        """
        found = [shape for shape in self.shapes if self.rows(shape) == rows]
        return found or list(self.shapes)


def epoch_batches(
    lengths: Sequence[np.ndarray],
    size: int | TokenLimit,
    *,
    seed: int | None = None,
    epoch: int = 0,
    pool_batches: int = 20,
) -> list[np.ndarray]:
    """Cuts the examples of an epoch into batches.

    They are shuffled in each epoch. Pools of `pool_batches` batches are
    sorted by length, so that a batch holds examples of similar length, and cut
    into batches, which are shuffled within the pool. With a `TokenLimit` of
    some shapes, examples of the same shape share batches instead, in random
    order. A last batch with room for more is left out, unless it is the only
    one and its size is one of tokens. The batches depend only on the arguments.

    Args:
        lengths: One or more int arrays `(N,)`; examples are sorted by the
            first, then by the second, and so on; with a `TokenLimit` by the
            longest of them before.
        size: Number of examples of a batch, or a `TokenLimit`.
        seed: Integer; `None` keeps the original order.
        epoch: Counted from 0.
        pool_batches: Batches in a pool; 1 does not sort by length.

    Returns:
        List of int arrays, the numbers of the examples.

    Raises:
        ValueError: If an example is longer than a `TokenLimit`.
    """
    if not isinstance(size, TokenLimit):
        order = epoch_order(lengths, size, seed, epoch, pool_batches)
        return cut_rows(order, size)
    size.check(lengths)
    longest = size.longest(lengths)
    if seed is None:
        return _cut(np.arange(len(longest)), longest, size)
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(len(longest))
    if size.shapes is not None:
        found = _cut_by_shape(order, lengths, size)
        return [found[i] for i in rng.permutation(len(found))]
    tokens = pool_batches * size.tokens
    pools = (np.cumsum(longest[order]) - 1) // tokens  # ascending
    if pool_batches > 1:
        # Every other pool descends: a batch may begin in one and end in the
        # next, where lengths are alike.
        signs = np.where(pools % 2, -1, 1)
        keys = [x[order] * signs for x in reversed([longest, *lengths])]
        order = order[np.lexsort((*keys, pools))]
    found = _cut(order, longest, size)
    starts = np.cumsum([0, *map(len, found)])[:-1]
    places = np.lexsort((rng.random(len(found)), pools[starts]))
    return [found[i] for i in places]


def check_batch_size(
    number: int, batch_size: int, num_replicas: int = 1, noun: str = "examples"
) -> None:
    """Raises a ValueError if replicas or examples do not make a batch.

    Args:
        number: Number of examples.
        batch_size: Number of examples in a global batch.
        num_replicas: Number of slices of a global batch.
        noun: Noun for an example.
    """
    if batch_size < 1 or num_replicas < 1 or batch_size % num_replicas:
        raise ValueError(
            "`batch_size` must be a positive multiple of `num_replicas`. "
            f"Received: batch_size={batch_size}, num_replicas={num_replicas}."
        )
    if number < batch_size:
        raise ValueError(
            f"The corpus holds {number:,} {noun}, fewer than one batch. "
            f"Received: batch_size={batch_size}."
        )


def cut_rows(order: np.ndarray, size: int) -> list[np.ndarray]:
    """Cuts an order into parts of `size` examples; the last may be smaller."""
    return [order[i : i + size] for i in range(0, len(order), size)]


def _cut(order, longest, size):
    """Cuts an order into batches, each as large as the limit allows."""
    lengths, start, found = longest[order], 0, []
    while start < len(order):
        most = size.tokens // lengths[start] + 1
        some = np.maximum.accumulate(lengths[start : start + most])
        too_many = some * np.arange(1, len(some) + 1) > size.tokens
        rows = int(too_many.argmax()) if too_many.any() else len(some)
        found.append(order[start : start + rows])
        start += rows
    if len(found) > 1:
        rows = found[-1]
        if (len(rows) + 1) * longest[rows].max() <= size.tokens:
            found.pop()
    return found


def _cut_by_shape(order, lengths, size):
    """Batches of the examples of each shape, in the given order.

    Examples that do not fill a batch go to the next larger shape.
    """
    waiting, batches = order, []
    for shape in sorted(size.shapes, key=sum):
        fits = np.all(
            [x[waiting] <= most for x, most in zip(lengths, shape)], axis=0
        )
        rows = size.rows(shape)
        parts = cut_rows(waiting[fits], rows)
        rest = parts.pop() if parts and len(parts[-1]) < rows else order[:0]
        batches += parts
        # Those that wait for a shape come first in it.
        waiting = np.concatenate([rest, waiting[~fits]])
    return batches or [waiting]
