"""The loop over time steps, `scan`, and the inputs that its steps share.

All steps read the same `Memory`, and never change it. In a search, beams may
also read the rows that they appended at earlier steps, their `History`.

Neither `keras.layers.RNN` nor `keras.ops.scan` lets a step return several
outputs of different shapes. Hence `scan`.

Shapes: B batch, K beams, L maximum length, R rows so far.
"""

from typing import Any, NamedTuple

import keras
from keras import ops, tree

from tfcopy.layers.products import Product
from tfcopy.layers.tensors import copies, take, take_each


def unroll_scan(step, inputs, state, memory, training=False):
    """Runs `scan` as a Python loop, for backends without a loop."""
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

        It is `jax.lax.scan`, which JAX can differentiate.
        """

        def body(carry, inputs_t):
            outputs, carry = step(inputs_t, carry, memory)
            return carry, outputs

        state, outputs = jax.lax.scan(body, state, inputs)
        return outputs, state
else:
    scan = unroll_scan


def expand_beams(x, rows):
    """Adds a beam axis to a per-sentence tensor if the step's rows have one.

    Args:
        x: `(B, ...)`.
        rows: `(B, D)` in training, `(B, K, D)` in a search with K beams.

    Returns:
        `x`, or `x` as `(B, 1, ...)`.
    """
    return ops.expand_dims(x, 1) if len(rows.shape) == 3 else x


class Memory(NamedTuple):
    """Tensors that every decoder step reads besides its inputs and state.

    It has two parts: finished sentences leave a search, while all sentences
    share the weights. The beams of a sentence share its entries.

    Attributes:
        sentences: Dict of tensors, and of `Product`s without a bias, whose
            first axis is the batch. The entries of an inner layer are a nested
            dict under the name of that layer.
        weights: Dict of tensors and `Product`s that do not depend on the
            sentences, nested in the same way.
    """

    sentences: dict
    weights: dict

    def update(self, sentences=None, weights=None):
        """Returns a memory with these entries added or replaced."""
        return Memory(
            {**self.sentences, **(sentences or {})},
            {**self.weights, **(weights or {})},
        )

    def nest(self, name):
        """Returns the memory of an outer layer, with this one under a name."""
        return Memory({name: self.sentences}, {name: self.weights})

    def part(self, name):
        """Returns the memory of the inner layer with that name."""
        return Memory(self.sentences[name], self.weights[name])

    def take(self, rows):
        """Returns the memory of some sentences, by their indices."""

        def take_rows(x):
            if isinstance(x, Product):
                return Product(take(x.kernel, rows))
            return take(x, rows)

        return self._replace(
            sentences=tree.map_structure(take_rows, self.sentences)
        )


class History(NamedTuple):
    """Keys and values that the beams of a search appended at earlier steps.

    A row is never moved once a beam has appended it. When beams extend other
    beams, only the mask `own` is gathered. A beam thus attends to all rows of
    its sentence, and masks the rows of other hypotheses. This takes K times the
    products, which are a small part of a step, but no copies of the rows.

    Attributes:
        rows: Nested tensors `(B, H, R, d)`; a step appends K rows.
        own: Boolean, `(B, K, R)`: which rows belong to a beam's hypothesis.
        steps: int32, `(B, 1)`, the number of steps.
        prompt: Nested tensors `(B, ...)` that come before the first row. All
            beams read them, and no step changes them.
    """

    rows: Any
    own: Any
    steps: Any
    prompt: Any = ()

    def visible(self):
        """Returns the rows that each beam attends to, boolean, `(B, K, *)`.

        They are the rows of its hypothesis, and the one that it appends.
        """
        return ops.concatenate([self.own, self._get_appended_rows()], axis=2)

    def add(self, rows, new):
        """Appends a step's rows, `new`, of shape `(B, H, K, d)`, to `rows`."""
        return tree.map_structure(
            lambda x, y: ops.concatenate([x, y], axis=2), rows, new
        )

    def advance(self, rows):
        """Returns the history after a step, with the rows from `add`."""
        return self._replace(
            rows=rows, own=self.visible(), steps=self.steps + 1
        )

    def follow(self, parents):
        """Returns the history of beams that extend `parents`, `(B, K)`."""
        return self._replace(own=take_each(self.own, parents))

    def add_beams(self, beams):
        """Returns the history before a search with K beams."""
        return self._replace(own=copies(self.own, beams))

    def reserve(self, steps):
        """Returns a `FixedHistory` with room for `steps` steps in all."""
        size = steps * self.own.shape[1]
        return FixedHistory(
            tree.map_structure(lambda x: _widen(x, size), self.rows),
            _widen(self.own, size),
            self.steps,
            self.prompt,
        )

    def _get_appended_rows(self):
        """Returns the row that each beam appends, boolean, `(B, K, K)`."""
        batch, beams = ops.shape(self.own)[0], self.own.shape[1]
        one = ops.expand_dims(ops.eye(beams, dtype="bool"), 0)
        return ops.broadcast_to(one, (batch, beams, beams))


class FixedHistory(NamedTuple):
    """History of a fixed shape, for compiled loops; see `History`.

    Attributes:
        rows: Nested tensors `(B, H, R, d)`; R is K times the maximum number of
            steps.
        own: Boolean, `(B, K, R)`; `False` for rows that are still empty.
        steps: int32, `(B, 1)`.
        prompt: As in `History`.
    """

    rows: Any
    own: Any
    steps: Any
    prompt: Any = ()

    reserve = History.reserve
    advance = History.advance
    follow = History.follow
    _get_appended_rows = History._get_appended_rows

    def visible(self):
        return self._write_at(self.own, self._get_appended_rows(), 2)

    def add(self, rows, new):
        return tree.map_structure(
            lambda x, y: self._write_at(x, y, 2), rows, new
        )

    def _write_at(self, x, new, axis):
        start = [0] * len(x.shape)
        start[axis] = self.steps[0, 0] * self.own.shape[1]
        return ops.slice_update(x, start, new)


def first_history(like, prompt=()):
    """Returns the `History` before the first step.

    Args:
        like: Nested tensors `(B, H, *, d)`, with the shapes of the rows.
        prompt: As in `History`.
    """
    batch = ops.shape(tree.flatten(like)[0])[0]
    # Not a slice `:0`, whose shape TensorFlow does not know.
    rows = tree.map_structure(
        lambda x: ops.zeros((batch, x.shape[1], 0, x.shape[3]), x.dtype), like
    )
    own = ops.zeros((batch, 0), "bool")
    return History(rows, own, ops.zeros((batch, 1), "int32"), prompt)


def is_history(x):
    """Returns whether a value is a `History` or a `FixedHistory`."""
    return isinstance(x, (History, FixedHistory))


def has_history(nested):
    """Returns whether nested tensors contain a `History`."""
    found = []
    tree.traverse(lambda x: found.append(x) if is_history(x) else None, nested)
    return bool(found)


def reserve_room(nested, steps):
    """Gives the histories in nested tensors room for `steps` steps in all."""
    return tree.traverse(
        lambda x: x.reserve(steps) if is_history(x) else None, nested
    )


def _widen(x, size):
    """Pads `x` with zeros along the axis of rows."""
    padding = [[0, 0] for _ in x.shape]
    padding[2][1] = size - x.shape[2]
    return ops.pad(x, padding)
