"""Definitions as rows of ids, gathered in either layout, as TensorFlow ops.

Shapes: U things that have definitions, N definitions and M tokens of
definitions of a batch, K the longest.
"""

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from tfcopy import tokens as special


class DefinitionRows:
    """All definitions, each a row of ids.

    Args:
        rows: Ids of each definition, none of them empty. Row 0 is the filler.
    """

    def __init__(self, rows: Sequence[Sequence[int]]):
        lengths = [len(row) for row in rows]
        self._longest = max(lengths)
        ids = np.fromiter((i for row in rows for i in row), np.int32)
        with tf.init_scope():
            self._ids = tf.constant(ids)
            self._starts = tf.constant(np.cumsum([0, *lengths[:-1]]), tf.int32)
            self._lengths = tf.constant(lengths, tf.int32)

    def lengths(self, rows):
        """The number of ids of rows: `(N,)` to `(N,)`."""
        return tf.gather(self._lengths, rows)

    def flat(self, rows, owners):
        """Ids one row after another.

        Args:
            rows: int32 of shape `(N,)`, numbers of rows.
            owners: int32 of shape `(N,)`, the owner of each row; 0 for fillers.

        Returns:
            Dict of `ids`, `owners` and `weights`, `(M,)`, of each token.
        """
        lengths = self.lengths(rows)
        places, numbers = _ranges(tf.gather(self._starts, rows), lengths)
        owners = tf.gather(owners, numbers)
        weights = 1.0 / tf.cast(tf.gather(lengths, numbers), tf.float32)
        return {
            "ids": tf.gather(self._ids, places),
            "owners": owners,
            "weights": tf.where(owners > 0, weights, 0.0),
        }

    def padded(self, rows, owners, to_longest=False):
        """Ids with one definition per row, `PAD` after the end.

        Args:
            rows: int32 of shape `(N,)`, numbers of rows.
            owners: int32 of shape `(N,)`, the owner of each row; 0 for fillers.
            to_longest: Whether K is the longest of all rows there are.

        Returns:
            Dict of `ids`, `(N, K)`, `owners` and `weights`, `(N,)`.
        """
        starts = tf.gather(self._starts, rows)[:, None]
        lengths = self.lengths(rows)[:, None]
        longest = self._longest if to_longest else tf.reduce_max(lengths)
        steps = tf.range(longest)
        is_token = steps < lengths
        places = tf.where(is_token, starts + steps, 0)
        ids = tf.where(is_token, tf.gather(self._ids, places), special.PAD)
        weights = tf.cast(owners > 0, tf.float32)
        return {"ids": ids, "owners": owners, "weights": weights}


class DefinitionGroups:
    """Groups of definitions that are read together, for one vector.

    Args:
        groups: Numbers of the rows of each group. Group 0 has none.
    """

    def __init__(self, groups: Sequence[Sequence[int]]):
        counts = [len(group) for group in groups]
        with tf.init_scope():
            self._counts = tf.constant(counts, tf.int32)
            self._starts = tf.constant(np.cumsum([0, *counts[:-1]]), tf.int32)
            rows = np.fromiter((i for group in groups for i in group), np.int32)
            self._rows = tf.constant(rows)

    def counts(self, groups):
        """The number of definitions of groups, of any shape."""
        return tf.gather(self._counts, groups)

    def rows(self, groups):
        """The definitions of groups.

        Args:
            groups: int32 of shape `(U + 1,)`, numbers of groups.

        Returns:
            `(rows, owners)`, int32 of shape `(N,)`: numbers of rows, and the
            places in `groups` of those that they belong to.
        """
        starts = tf.gather(self._starts, groups)
        places, owners = _ranges(starts, self.counts(groups))
        return tf.gather(self._rows, places), owners


def _ranges(starts, lengths):
    """The members of ranges, one range after another, with their owners."""
    ranges = tf.ragged.range(
        starts, starts + lengths, row_splits_dtype=tf.int32
    )
    return ranges.values, ranges.value_rowids()
