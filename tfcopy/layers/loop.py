"""The loop over time steps, and what its steps read: memory and history.

A step reads the same `Memory` every time, and never changes it. In a search,
beams may also read what they have written at all steps before, a `History`.

Neither `keras.layers.RNN` nor `keras.ops.scan` lets a step return several
outputs of different shapes, so `scan` is our own.

Shapes: B batch, K beams, L maximum length, R rows so far.
"""

from typing import Any, NamedTuple

import keras
from keras import ops, tree

from tfcopy.layers.products import Product
from tfcopy.layers.tensors import copies, take, take_each


def unrolled_scan(step, inputs, state, memory, training=False):
    """`scan` as a Python loop, for backends without one of their own."""
    length = keras.tree.flatten(inputs)[0].shape[0]
    steps = []
    for t in range(length):
        inputs_t = keras.tree.map_structure(lambda x: x[t], inputs)
        outputs, state = step(inputs_t, state, memory)
        steps.append(outputs)
    stack = lambda *xs: ops.stack(xs)  # noqa: E731
    return keras.tree.map_structure(stack, *steps), state


if keras.backend.backend() == "tensorflow":
    from tfcopy.layers.tensorflow_loop import scan  # noqa: F401
elif keras.backend.backend() == "jax":
    import jax

    def scan(step, inputs, state, memory, training=False):
        """Runs `step` over the leading axis; see `tensorflow_loop.scan`.

        It is `jax.lax.scan`, which differentiates itself.
        """

        def body(carry, inputs_t):
            outputs, carry = step(inputs_t, carry, memory)
            return carry, outputs

        state, outputs = jax.lax.scan(body, state, inputs)
        return outputs, state
else:
    scan = unrolled_scan


def beside(x, rows):
    """Adds a beam axis to a per-sentence tensor where its rows carry one.

    Args:
        x: `(B, ...)`.
        rows: `(B, D)` in training, `(B, K, D)` in a search with K beams.

    Returns:
        `x`, or `x` as `(B, 1, ...)`.
    """
    return ops.expand_dims(x, 1) if len(rows.shape) == 3 else x


class Memory(NamedTuple):
    """Tensors that every decoder step reads besides its inputs and state.

    It has two parts, since sentences that are done leave a search, while all
    share the weights. The beams of a sentence share its entries.

    Attributes:
        sentences: Dict of tensors, and of `Product`s without a bias, whose
            first axis is the batch. The entries of a layer inside another
            are a dict in turn, under that layer's name.
        weights: Dict of tensors and `Product`s that do not depend on the
            sentences, nested in the same way.
    """

    sentences: dict
    weights: dict

    def updated(self, sentences=None, weights=None):
        """A memory with these entries added, or replaced."""
        return Memory(
            {**self.sentences, **(sentences or {})},
            {**self.weights, **(weights or {})},
        )

    def nested(self, name):
        """The memory of an outer layer that holds this memory under a name."""
        return Memory({name: self.sentences}, {name: self.weights})

    def part(self, name):
        """The memory of the inner layer of that name."""
        return Memory(self.sentences[name], self.weights[name])

    def take(self, rows):
        """The memory of some sentences, by their numbers."""

        def of_rows(x):
            if isinstance(x, Product):
                return Product(take(x.kernel, rows))
            return take(x, rows)

        return self._replace(
            sentences=tree.map_structure(of_rows, self.sentences)
        )


class History(NamedTuple):
    """The rows that beams have written, as many as there are.

    A row that a beam has written is never moved: when beams continue others,
    only what says whose rows are whose is gathered. A beam then attends to all
    rows of its sentence, and masks those of other hypotheses. This takes K
    times the products, which are a small part of a step, and spares the copies
    of the rows.

    Attributes:
        rows: Nested tensors `(B, H, R, d)`; a step writes K rows.
        own: Boolean, `(B, K, R)`: which rows belong to a beam's hypothesis.
        steps: int32, `(B, 1)`, the number of steps.
        prompt: Nested tensors `(B, ...)`, what stands before the first row: all
            beams read it, and no step changes it.
    """

    rows: Any
    own: Any
    steps: Any
    prompt: Any = ()

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

    def with_beams(self, beams):
        """The history before a search with so many beams, K."""
        return self._replace(own=copies(self.own, beams))

    def with_room(self, steps):
        """The `FixedHistory` with room for so many steps in all."""
        size = steps * self.own.shape[1]
        return FixedHistory(
            tree.map_structure(lambda x: _widened(x, size), self.rows),
            _widened(self.own, size),
            self.steps,
            self.prompt,
        )

    def _written(self):
        """Boolean, `(B, K, K)`: the rows that this step writes."""
        batch, beams = ops.shape(self.own)[0], self.own.shape[1]
        one = ops.expand_dims(ops.eye(beams, dtype="bool"), 0)
        return ops.broadcast_to(one, (batch, beams, beams))


class FixedHistory(NamedTuple):
    """History of a fixed shape, for compiled loops; see `History`.

    Attributes:
        rows: Nested tensors `(B, H, R, d)`, R the steps that there is room for
            times K.
        own: Boolean, `(B, K, R)`; `False` for rows that are not written.
        steps: int32, `(B, 1)`.
        prompt: As there.
    """

    rows: Any
    own: Any
    steps: Any
    prompt: Any = ()

    with_room = History.with_room
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


def first_history(like, prompt=()):
    """The `History` before the first step.

    Args:
        like: Nested tensors `(B, H, *, d)`, of the shapes that rows have.
        prompt: As in `History`.
    """
    batch = ops.shape(tree.flatten(like)[0])[0]
    # TensorFlow does not know the shape of a slice `:0`.
    rows = tree.map_structure(
        lambda x: ops.zeros((batch, x.shape[1], 0, x.shape[3]), x.dtype), like
    )
    own = ops.zeros((batch, 0), "bool")
    return History(rows, own, ops.zeros((batch, 1), "int32"), prompt)


def is_history(x):
    """Returns whether a value is a `History` or a `FixedHistory`."""
    return isinstance(x, (History, FixedHistory))


def has_history(nested):
    """Returns whether nested tensors hold a `History`."""
    found = []
    tree.traverse(lambda x: found.append(x) if is_history(x) else None, nested)
    return bool(found)


def with_room(nested, steps):
    """Nested tensors whose histories have room for so many steps in all."""
    return tree.traverse(
        lambda x: x.with_room(steps) if is_history(x) else None, nested
    )


def _widened(x, size):
    """Zeros behind `x` along the axis of rows."""
    more = [[0, 0] for _ in x.shape]
    more[2][1] = size - x.shape[2]
    return ops.pad(x, more)
