"""A table of all its rows from the beginning, for all backends."""

from keras import ops


def make(first, capacity):
    """A table of some rows.

    Args:
        first: `(N, ...)`.
        capacity: How many rows it will have at most.
    """
    table = ops.zeros((capacity, *first.shape[1:]), dtype=first.dtype)
    return extend(table, first, 0)


def extend(table, rows, count):
    """The table with more rows.

    Args:
        table: From `make`.
        rows: `(N, ...)`.
        count: The number of rows so far; scalar tensor.
    """
    places = ops.arange(ops.shape(rows)[0], dtype="int32") + count
    return ops.scatter_update(table, ops.expand_dims(places, 1), rows)


def content(table):
    """All rows, `(M, ...)`; M is the capacity or the number of rows."""
    return table
