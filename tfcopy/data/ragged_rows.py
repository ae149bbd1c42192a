"""Rows of ragged tensors, with few operations: every text read needs them."""

import tensorflow as tf


def rows_of(ragged):
    """The row of each value, int64.

    Equals `value_rowids`, with 5 operations for 60 in a graph.

    Args:
        ragged: Ragged tensor, `(B, None)`.
    """
    return tf.raw_ops.UpperBound(
        sorted_inputs=ragged.row_splits[None, 1:],
        values=tf.range(tf.size(ragged.values, tf.int64))[None],
        out_type=tf.int64,
    )[0]


def append(ragged, last):
    """Appends one value to each row.

    Args:
        ragged: Ragged tensor, `(B, None)`.
        last: The value, of the same dtype.

    Returns:
        Ragged tensor, `(B, None)`.
    """
    splits = ragged.row_splits
    places = tf.range(tf.size(ragged.values, tf.int64)) + rows_of(ragged)
    longer = tf.fill([tf.size(ragged.values) + tf.size(splits) - 1], last)
    return tf.RaggedTensor.from_row_splits(
        tf.tensor_scatter_nd_update(longer, places[:, None], ragged.values),
        splits + tf.range(tf.size(splits, tf.int64)),
        validate=False,
    )
