"""Accuracy against the rarity of the words."""

from collections.abc import Iterable, Sequence, Sized

import numpy as np

from tfcopy import tokens as special

_NUM_SPECIALS = len(special.SPECIAL_TOKENS)


def mean_log_rank(texts: Iterable, vocabulary: Sized) -> np.ndarray:
    """The rarity of each text: the mean over its words of `log(rank)`.

    The rank of a word is its place in the vocabulary, 1 for the most frequent
    one; specials have none. Unknown words rank last, as the vocabulary has
    words. Padding and the marks of beginning and end do not count.

    Args:
        texts: For each example the ids of its words, `(T,)`, or all in an
            array, `(N, T)`. The ids of texts that belong together, such as the
            two sentences of a pair, are joined.
        vocabulary: `Vocabulary` of the training data, by frequency.

    Returns:
        float64 array of shape `(N,)`; NaN where there is no word.

    Raises:
        ValueError: If an id is outside the vocabulary.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 4.2.
    """
    size = len(vocabulary)
    return np.array([_mean_log_rank(ids, size) for ids in texts], np.float64)


def _mean_log_rank(ids, size):
    ids = np.asarray(ids, np.int64)
    if np.any((ids < 0) | (ids >= size)):
        raise ValueError(
            f"The ids of words must be from 0 to {size - 1}, as the vocabulary "
            f"has {size}. Received: {ids.min()} to {ids.max()}."
        )
    ids = ids[(ids == special.UNK) | (ids >= _NUM_SPECIALS)]
    if not len(ids):
        return np.nan
    last = max(size - _NUM_SPECIALS, 1)
    ranks = np.where(ids == special.UNK, last, ids - _NUM_SPECIALS + 1)
    return np.log(ranks).mean()


def accuracy_by_quantile(
    x: Sequence[float], correct: Sequence[bool], bins: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Accuracy of examples in bins of equal size, by rising `x`.

    Examples of equal `x` share a bin, so that bins may differ in size, and
    empty ones are left out. Examples whose `x` is not a number are, too.

    Args:
        x: `(N,)`, such as `mean_log_rank` of the examples.
        correct: `(N,)` booleans.
        bins: Positive integer, the most bins.

    Returns:
        `(centres, accuracies, sizes)` of the bins: the mean of their `x`, the
        accuracy in percent, and the number of examples.
        `evaluation.interval(accuracy, size)` is its confidence interval.
    """
    x, correct = np.asarray(x, np.float64), np.asarray(correct, bool)
    if bins < 1:
        raise ValueError(
            f"`bins` must be a positive integer. Received: bins={bins}."
        )
    if x.ndim != 1 or x.shape != correct.shape:
        raise ValueError(
            "`x` and `correct` must be one value for each example. "
            f"Received: shapes {x.shape} and {correct.shape}."
        )
    kept = np.isfinite(x)
    x, correct = x[kept], correct[kept]
    if not len(x):
        return np.zeros(0), np.zeros(0), np.zeros(0, np.int64)
    edges = np.quantile(x, np.arange(1, bins) / bins)
    places = np.searchsorted(edges, x)
    sizes = np.bincount(places, minlength=bins)
    sums = np.bincount(places, x, bins), np.bincount(places, correct, bins)
    filled = sizes > 0
    centres, shares = (total[filled] / sizes[filled] for total in sums)
    return centres, 100 * shares, sizes[filled]
