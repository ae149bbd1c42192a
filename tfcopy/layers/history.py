"""What the beams of a search remember of all steps before.

A row that a beam has written is never moved: when beams continue others, only
what says whose rows are whose is gathered. A beam then attends to all rows of
its sentence, and masks those of other hypotheses. This takes K times the
products, which are a small part of a step, and spares the copies of the rows.

Shapes: B batch, K beams, L maximum length, R rows so far.
"""

from typing import Any, NamedTuple

from keras import ops, tree

from tfcopy.layers.cutting import take_each


class History(NamedTuple):
    """The rows that beams have written, as many as there are.

    Attributes:
        rows: Nested tensors `(B, H, R, d)`; a step writes K rows.
        own: Boolean, `(B, K, R)`: which rows belong to a beam's hypothesis.
        steps: int32, `(B, 1)`, the number of steps.
    """

    rows: Any
    own: Any
    steps: Any

    def visible(self):
        """Boolean, `(B, K, *)`: the rows that a beam of this step attends to.

        These are its own so far and the one that it writes.
        """
        return ops.concatenate([self.own, self._written()], axis=2)

    def add(self, rows, new):
        """Tensors of `rows` with those that a step writes, `(B, H, K, d)`."""
        return tree.map_structure(
            lambda x, y: ops.concatenate([x, y], axis=2), rows, new
        )

    def after_step(self, rows):
        """The history with the rows that `add` returned."""
        return self._replace(
            rows=rows, own=self.visible(), steps=self.steps + 1
        )

    def follow(self, parents):
        """The history of the beams that continue others, `(B, K)`."""
        return self._replace(own=take_each(self.own, parents))

    def with_beams(self, beams, capacity=None):
        """The history before a search.

        Args:
            beams: K.
            capacity: Greatest number of steps, if shapes must not change.

        Returns:
            `History`, or `FixedHistory`.
        """
        own = ops.stack([self.own] * beams, axis=1)
        if capacity is None:
            return self._replace(own=own)
        return FixedHistory(
            tree.map_structure(
                lambda x: _widened(x, capacity * beams), self.rows
            ),
            _widened(own, capacity * beams),
            self.steps,
        )

    def _written(self):
        """Boolean, `(B, K, K)`: the rows that this step writes."""
        batch, beams = ops.shape(self.own)[0], self.own.shape[1]
        one = ops.expand_dims(ops.eye(beams, dtype="bool"), 0)
        return ops.broadcast_to(one, (batch, beams, beams))


class FixedHistory(NamedTuple):
    """As `History`, for XLA: of as many rows as there will ever be.

    Attributes:
        rows: Nested tensors `(B, H, L * K, d)`.
        own: Boolean, `(B, K, L * K)`; `False` for rows that are not written.
        steps: int32, `(B, 1)`.
    """

    rows: Any
    own: Any
    steps: Any

    after_step = History.after_step
    follow = History.follow
    _written = History._written

    def visible(self):
        return self._written_at(self.own, self._written(), 2)

    def add(self, rows, new):
        return tree.map_structure(
            lambda x, y: self._written_at(x, y, 2), rows, new
        )

    def _written_at(self, x, new, axis):
        start = [0] * len(x.shape)
        start[axis] = self.steps[0, 0] * self.own.shape[1]
        return ops.slice_update(x, start, new)


def first_history(rows):
    """The `History` before the first step.

    Args:
        rows: Nested tensors `(B, H, 0, d)`.
    """
    batch = ops.shape(tree.flatten(rows)[0])[0]
    own = ops.zeros((batch, 0), "bool")
    return History(rows, own, ops.zeros((batch, 1), "int32"))


def is_history(x):
    """Whether it is a `History`, or a `FixedHistory`."""
    return isinstance(x, (History, FixedHistory))


def _widened(x, size):
    """Zeros of the shape of `x` but for the axis of rows."""
    shape = (*ops.shape(x)[:2], size, *x.shape[3:])
    return ops.zeros(shape, x.dtype)
