"""A table that a loop adds rows to.

On TensorFlow a loop copies a tensor that it changes, but not a `TensorArray`.
XLA, and so JAX, copies neither and knows static shapes alone: there a table has
all its rows from the beginning.
"""

import keras
from keras import ops

if keras.backend.backend() == "tensorflow":
    import tensorflow as tf


def make(first, capacity, static_shapes=False):
    """A table of some rows.

    Args:
        first: `(N, ...)`.
        capacity: How many rows it will have at most.
        static_shapes: Whether the loop is compiled by XLA.
    """
    if static_shapes or keras.backend.backend() != "tensorflow":
        table = ops.zeros((capacity, *first.shape[1:]), dtype=first.dtype)
        return extend(table, first, 0)
    table = tf.TensorArray(
        first.dtype,
        size=0,
        dynamic_size=True,
        infer_shape=False,
        element_shape=[None, *first.shape[1:]],
    )
    return table.write(0, first)


def extend(table, rows, count):
    """The table with more rows.

    Args:
        table: From `make`.
        rows: `(N, ...)`.
        count: The number of rows so far; scalar tensor.
    """
    if not ops.is_tensor(table):
        return table.write(table.size(), rows)
    places = ops.arange(ops.shape(rows)[0], dtype="int32") + count
    return ops.scatter_update(table, ops.expand_dims(places, 1), rows)


def content(table):
    """All rows, `(M, ...)`; M is the capacity or the number of rows."""
    return table if ops.is_tensor(table) else table.concat()
