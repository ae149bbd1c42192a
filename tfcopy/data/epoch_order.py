"""The order of the examples of an epoch: shuffled, and sorted by length."""

from collections.abc import Sequence

import numpy as np


def epoch_order(
    lengths: Sequence[np.ndarray],
    batch_size: int,
    *,
    seed: int | None = None,
    epoch: int = 0,
    pool_batches: int = 20,
    drop_remainder: bool = True,
) -> np.ndarray:
    """The order of an epoch's examples; each `batch_size` of them are a batch.

    They are shuffled anew each epoch. Pools of `pool_batches` batches are
    sorted by length, so that a batch holds examples of similar length, and cut
    into batches, which are shuffled within the pool. The order depends only on
    the arguments.

    Args:
        lengths: One or more int arrays `(num_examples,)`; examples are sorted
            by the first, then by the second, and so on.
        batch_size: Positive integer.
        seed: Integer; `None` keeps the original order.
        epoch: Counted from 0.
        pool_batches: Batches in a pool; 1 does not sort by length.
        drop_remainder: Whether to leave out a last batch that is smaller.

    Returns:
        int64 array of the numbers of the examples.
    """
    size = len(lengths[0])
    num_used = size - size % batch_size if drop_remainder else size
    if seed is None:
        return np.arange(num_used)
    rng = np.random.default_rng([seed, epoch])
    order = rng.permutation(size)[:num_used]
    if pool_batches > 1:
        pools = np.arange(num_used) // (pool_batches * batch_size)
        keys = [x[order] for x in reversed(lengths)]
        order = order[np.lexsort((*keys, pools))]
    # Full batches are shuffled within their pool; a smaller last one stays.
    num_whole = num_used // batch_size
    pools = np.arange(num_whole) // pool_batches
    places = np.lexsort((rng.random(num_whole), pools))
    whole = order[: num_whole * batch_size].reshape(num_whole, batch_size)
    rest = order[num_whole * batch_size :]
    return np.concatenate([whole[places].reshape(-1), rest])
