"""Few shapes for batches of texts with definitions, for compilers.

How many definitions a batch has, how long they and its texts are, all differ:
nearly each batch has a shape of its own, which XLA would compile for.

Shapes: A axes of all tensors of a batch but that of the examples, C classes.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import tensorflow as tf

from tfcopy import tokens

# Tensors that belong to all examples together, and so have no axis of these.
_SHARED = ("definition_", "spelling_ids")
# Rows of tokens, whose readers need one that is not padding.
_ROWS = ("definition_ids", "spelling_ids")
# How much more than was seen the largest class holds.
_SPARE = 1.1


class TextShapes:
    """Pads batches to the shapes of few classes.

    Batches that were seen are sorted by their cells and cut into classes of
    equal number; a class is as long as the longest of its batches on each axis.
    One more holds a tenth more than all that was seen. A batch gets the
    smallest class that holds it, and keeps its own shape if none does.

    Batches of other numbers of examples have classes of their own. One with a
    number that was not seen gets a class of any.

    Args:
        batches: Batches, dicts of tensors.
        number: The most classes, at least 2 for each number of examples.

    Raises:
        ValueError: If there are no batches.
    """

    def __init__(self, batches: Iterable[Mapping], number: int):
        batches = list(batches)
        if not batches or number < 2:
            raise ValueError(
                "There must be a batch, and at least two classes. Received: "
                f"{len(batches)} batches, number={number}."
            )
        self._names = sorted(batches[0])
        of_texts = [name for name in self._names if not _is_shared(name)]
        self._of_texts = of_texts[0]
        self._axes = [len(self._own(n, batches[0])) for n in self._names]
        seen = np.array([self._sizes(x, _static_shape) for x in batches])
        rows = np.array([int(x[self._of_texts].shape[0]) for x in batches])
        numbers = np.unique(rows)
        each = max(number // len(numbers), 2)
        parts = [self._make_classes(seen[rows == n], n, each) for n in numbers]
        self.classes = np.concatenate(parts).astype(np.int32)  # (C, A)
        self.rows = np.repeat(numbers, list(map(len, parts))).astype(np.int32)
        chosen = [self._class_of(x, n) for x, n in zip(seen, rows)]
        cells = self._cells(chosen, rows).sum()
        self.share = self._cells(seen, rows).sum() / cells

    def pad(self, batch: Mapping) -> dict:
        """The batch with the shape of a class; what is added is padding.

        Args:
            batch: Dict of tensors, of the same names as those seen.
        """
        own = tf.stack(self._sizes(batch, tf.shape))
        fits = tf.reduce_all(self.classes >= own, axis=1)
        alike = self.rows == tf.shape(batch[self._of_texts])[0]
        fits &= alike | ~tf.reduce_any(alike)
        chosen = tf.gather(self.classes, tf.argmax(tf.cast(fits, tf.int32)))
        chosen = tf.where(tf.reduce_any(fits), chosen, own)
        padded, at = {}, 0
        for name, axes in zip(self._names, self._axes):
            x = batch[name]
            kept = [] if _is_shared(name) else [tf.shape(x)[0]]
            target = tf.concat([kept, chosen[at : at + axes]], axis=0)
            at += axes
            padded[name] = _padded(x, target, name) if axes else x
        return padded

    def _own(self, name, batch):
        """The axes of a tensor without that of the examples."""
        rank = batch[name].shape.rank
        return range(0 if _is_shared(name) else 1, rank)

    def _sizes(self, batch, shape_of):
        """The sizes of all axes, A numbers."""
        return [
            shape_of(batch[name])[axis]
            for name in self._names
            for axis in self._own(name, batch)
        ]

    def _make_classes(self, seen, rows, number):
        """The classes for batches of the same number of examples."""
        order = np.argsort(self._cells(seen, rows), kind="stable")
        groups = np.array_split(seen[order], min(number - 1, len(seen)))
        largest = np.ceil(_SPARE * seen.max(axis=0)).astype(seen.dtype)
        classes = np.unique([*(x.max(axis=0) for x in groups), largest], axis=0)
        order = np.argsort(self._cells(classes, rows), kind="stable")
        return classes[order]

    def _cells(self, sizes, rows):
        """The number of elements of all tensors, for sizes `(..., A)`."""
        sizes, at, cells = np.asarray(sizes, np.int64), 0, 0
        for name, axes in zip(self._names, self._axes):
            part = sizes[..., at : at + axes].prod(axis=-1)
            cells = cells + part * (1 if _is_shared(name) else rows)
            at += axes
        return cells

    def _class_of(self, sizes, rows):
        fits = (self.classes >= sizes).all(axis=1) & (self.rows == rows)
        return self.classes[fits.argmax()]


def _is_shared(name):
    return name.startswith(_SHARED)


def _static_shape(x):
    return x.shape


def _padded(x, target, name):
    """A tensor of the target's shape, filled up with what nothing reads."""
    more = target - tf.shape(x)
    longer = tf.pad(x, tf.stack([tf.zeros_like(more), more], axis=1))
    if x.shape.rank != 2 or not name.startswith(_ROWS):
        return longer
    is_new = tf.range(target[0])[:, None] >= tf.shape(x)[0]
    is_first = tf.range(target[1]) == 0
    return tf.where(is_new & is_first, tokens.EOS, longer)
