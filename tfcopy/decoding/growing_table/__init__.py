"""A table that a loop adds rows to.

On TensorFlow a loop copies a tensor that it changes, but not a `TensorArray`;
XLA, and so JAX, copies neither and knows static shapes alone: each kind of
table has its own file.
"""

import keras

from tfcopy.decoding.growing_table import keras_table

if keras.backend.backend() == "tensorflow":
    from tfcopy.decoding.growing_table import tensorflow_table
else:
    tensorflow_table = keras_table


def make(first, capacity, static_shapes=False):
    """As `make` of either file; `static_shapes` for XLA."""
    kind = keras_table if static_shapes else tensorflow_table
    return kind.make(first, capacity)


def extend(table, rows, count):
    """As `extend` of the table's file."""
    return _kind_of(table).extend(table, rows, count)


def content(table):
    """As `content` of the table's file."""
    return _kind_of(table).content(table)


def _kind_of(table):
    is_tensor = keras.ops.is_tensor(table)
    return keras_table if is_tensor else tensorflow_table
