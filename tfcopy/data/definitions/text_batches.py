"""Batches of texts whose words may have definitions, as `tf.data.Dataset`s.

The examples in batch k of epoch e depend only on (seed, e, k), so training can
resume at any batch at once.

Batches differ in the number of definitions and in the lengths of definitions
and texts. Nearly each batch has a shape of its own, for which XLA would
compile.

Shapes: B examples, W distinct words, A axes of all tensors of a batch but that
of the examples, C classes.
"""

import functools
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import tensorflow as tf

from tfcopy import tokens
from tfcopy.data.definitions.features import DefinitionFeatures
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.epoch_batches import (
    TokenLimit,
    check_batch_size,
    cut_rows,
    epoch_batches,
)

# Tensors that belong to all examples together, and so have no axis of these.
_SHARED = ("definition_", "spelling_ids")
# Rows of tokens, whose readers need one that is not padding.
_ROWS = ("definition_ids", "spelling_ids")
_STATIC_SHAPE = operator.attrgetter("shape")
# Size of the largest class, as a multiple of the largest seen.
_SPARE = 1.1


class TextShapes:
    """A small number of shapes that batches are padded to.

    Batches that were seen are sorted by their cells and cut into classes of
    equal number; a class is as long as the longest of its batches on each axis.
    One more class is a tenth larger than all batches that were seen. A batch
    gets the smallest class that holds it, and keeps its own shape if none does.

    Batches of other numbers of examples have classes of their own. One with a
    number that was not seen gets a class of any.

    Args:
        batches: Batches, dicts of tensors.
        number: The most classes, at least 2 for each number of examples.
    """

    def __init__(self, batches: Iterable[Mapping], number: int):
        batches = list(batches)
        self._names = sorted(batches[0])
        of_texts = [name for name in self._names if not _is_shared(name)]
        self._of_texts = of_texts[0]
        self._axes = [len(self._own(n, batches[0])) for n in self._names]
        seen = np.array([self._sizes(x, _STATIC_SHAPE) for x in batches])
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
        """Pads a batch to the shape of its class.

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
            padded[name] = _pad(x, target, name) if axes else x
        return padded

    def _own(self, name, batch):
        """Returns the axes of a tensor without the axis of the examples."""
        return range(0 if _is_shared(name) else 1, batch[name].shape.rank)

    def _sizes(self, batch, shape_of):
        """Returns the sizes of all axes, A numbers."""
        return [
            shape_of(batch[name])[axis]
            for name in self._names
            for axis in self._own(name, batch)
        ]

    def _make_classes(self, seen, rows, number):
        """Makes the classes of batches of the same number of examples."""
        order = np.argsort(self._cells(seen, rows), kind="stable")
        groups = np.array_split(seen[order], min(number - 1, len(seen)))
        largest = np.ceil(_SPARE * seen.max(axis=0)).astype(seen.dtype)
        classes = np.unique([*(x.max(axis=0) for x in groups), largest], axis=0)
        order = np.argsort(self._cells(classes, rows), kind="stable")
        return classes[order]

    def _cells(self, sizes, rows):
        """Counts the elements of all tensors, for sizes `(..., A)`."""
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


def _pad(x, target, name):
    """Pads a tensor to the target's shape."""
    padding = target - tf.shape(x)
    longer = tf.pad(x, tf.stack([tf.zeros_like(padding), padding], axis=1))
    if x.shape.rank != 2 or not name.startswith(_ROWS):
        return longer
    is_new = tf.range(target[0])[:, None] >= tf.shape(x)[0]
    return tf.where(is_new & (tf.range(target[1]) == 0), tokens.EOS, longer)


class TextBatches:
    """Maker of the batches of a model.

    Words are looked up once, not at each visit.

    Args:
        features: `DefinitionFeatures` of the model.
        words: All words of the texts to come, by their numbers.
        finish: Called in the graph with the ragged words of each text by name
            (strings, `(B, None)`), the results of `DefinitionFeatures.look_up`
            for them, and the labels by name, `(B,)`; returns the batch. By
            default the inputs of the model and the labels.
    """

    def __init__(
        self,
        features: DefinitionFeatures,
        words: Sequence[str],
        finish: Callable | None = None,
    ):
        self.features = features
        self._finish = finish or self._join_labels
        self.shapes = None
        # All datasets of the same shapes share its graph.
        self._graphs = {}
        with tf.init_scope():
            self._words = tf.constant(list(words), tf.string)
            self._found = features.look_up(self._words)  # (W,), (W, L)

    def train(
        self,
        texts: WordTexts,
        batch_size: int | TokenLimit,
        *,
        shuffle_seed: int | None = None,
        epoch: int = 0,
        start_batch: int = 0,
        num_replicas: int = 1,
    ) -> tf.data.Dataset:
        """Makes the batches of one epoch, from `start_batch` to its end.

        Examples are shuffled as `epoch_batches` does, the longest text counting
        first. A last batch that is smaller is left out.

        Args:
            texts: `WordTexts`.
            batch_size: Examples in a global batch, a multiple of
                `num_replicas`; or a `TokenLimit`.
            shuffle_seed: Integer; `None` keeps the order of the corpus.
            epoch: Counted from 0.
            start_batch: Number of batches to skip, to resume.
            num_replicas: Number of slices of a global batch, which come one
                after the other; equal but for one example.
        """
        if isinstance(batch_size, TokenLimit):
            batch_size.check(texts.lengths, num_replicas)
        else:
            check_batch_size(len(texts), batch_size, num_replicas)
        found = epoch_batches(
            texts.lengths, batch_size, seed=shuffle_seed, epoch=epoch
        )
        slices = [
            part
            for rows in found[start_batch:]
            for part in np.array_split(rows, num_replicas)
        ]
        return self._dataset(texts, slices)

    def evaluation(self, texts: WordTexts, batch_size: int) -> tf.data.Dataset:
        """Makes batches of all examples, in order; the last may be smaller."""
        return self._dataset(texts, cut_rows(np.arange(len(texts)), batch_size))

    def _dataset(self, texts, slices):
        names, labels = tuple(texts.texts), tuple(texts.labels)
        shapes = self.shapes
        if shapes not in self._graphs:
            self._graphs[shapes] = tf.function(
                functools.partial(self._batch, shapes), autograph=False
            )
        make_batch = self._graphs[shapes]

        def read(number):
            rows, arrays = slices[number], []
            for name in names:
                numbers = [texts.texts[name][row] for row in rows]
                arrays += [np.concatenate(numbers), list(map(len, numbers))]
            arrays += [texts.labels[name][rows] for name in labels]
            return [np.asarray(x, np.int32) for x in arrays]

        def batch(number):
            arrays = tf.numpy_function(
                read, [number], [tf.int32] * (2 * len(names) + len(labels))
            )
            for x in arrays:
                x.set_shape([None])
            rows = {
                name: tf.RaggedTensor.from_row_lengths(
                    arrays[2 * i], arrays[2 * i + 1], validate=False
                )
                for i, name in enumerate(names)
            }
            return make_batch(rows, dict(zip(labels, arrays[2 * len(names) :])))

        dataset = tf.data.Dataset.range(len(slices)).map(
            tf.autograph.experimental.do_not_convert(batch),
            tf.data.AUTOTUNE,
            deterministic=True,
        )
        dataset = dataset.prefetch(tf.data.AUTOTUNE)
        # `numpy_function` hides it from tf.data.
        return dataset.apply(
            tf.data.experimental.assert_cardinality(len(slices))
        )

    def _batch(self, shapes, rows, labels):
        words, found = {}, {}
        for name, row in rows.items():
            numbers = row.flat_values
            words[name] = row.with_flat_values(tf.gather(self._words, numbers))
            found[name] = {
                key: tf.gather(x, numbers) for key, x in self._found.items()
            }
        batch = self._finish(words, found, labels)
        return batch if shapes is None else shapes.pad(batch)

    def _join_labels(self, words, entries, labels):
        return {**self.features.inputs(words, entries), **labels}
