"""A table as a `TensorArray` of what was added; see `keras_table.py`."""

import tensorflow as tf


def make(first, capacity):
    table = tf.TensorArray(
        first.dtype,
        size=0,
        dynamic_size=True,
        infer_shape=False,
        element_shape=[None, *first.shape[1:]],
    )
    return table.write(0, first)


def extend(table, rows, count):
    return table.write(table.size(), rows)


def content(table):
    return table.concat()
