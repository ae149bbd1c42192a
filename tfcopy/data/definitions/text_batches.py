"""Batches of texts whose words may have definitions, as `tf.data.Dataset`s.

The examples in batch k of epoch e depend only on (seed, e, k), so training can
resume at any batch at once. Shapes: B examples, W distinct words.
"""

import functools
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

from tfcopy.data.definitions.features import DefinitionFeatures
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.epoch_batches import TokenLimit, cut_rows, epoch_batches


class TextBatches:
    """Makes the batches of a model.

    Words are looked up once, not at each visit.

    Args:
        features: `DefinitionFeatures` of the model.
        words: All words of the texts to come, by their numbers.
        finish: Called in the graph with the ragged words of each text by name
            (strings, `(B, None)`), what `DefinitionFeatures.look_up` gave for
            them, and the labels by name, `(B,)`; gives the batch. By default
            the inputs of the model and the labels.
    """

    def __init__(
        self,
        features: DefinitionFeatures,
        words: Sequence[str],
        finish: Callable | None = None,
    ):
        self.features = features
        self._finish = finish or self._with_labels
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
        """The batches of one epoch, from `start_batch` to its end.

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
        lengths = texts.lengths
        if isinstance(batch_size, TokenLimit):
            batch_size.check(lengths, num_replicas)
        else:
            _check_size(texts, batch_size, num_replicas)
        found = epoch_batches(
            lengths, batch_size, seed=shuffle_seed, epoch=epoch
        )
        slices = [
            part
            for rows in found[start_batch:]
            for part in np.array_split(rows, num_replicas)
        ]
        return self._dataset(texts, slices)

    def evaluation(self, texts: WordTexts, batch_size: int) -> tf.data.Dataset:
        """All examples, once, in their order; the last batch may be smaller."""
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
            values = dict(zip(labels, arrays[2 * len(names) :]))
            return make_batch(rows, values)

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

    def _with_labels(self, words, found, labels):
        return {**self.features.inputs(words, found), **labels}


def _check_size(texts, batch_size, num_replicas):
    if batch_size % num_replicas:
        raise ValueError(
            "`batch_size` must be a multiple of `num_replicas`. Received: "
            f"batch_size={batch_size}, num_replicas={num_replicas}."
        )
    if len(texts) < batch_size:
        raise ValueError(
            f"The corpus holds {len(texts):,} examples, fewer than one batch. "
            f"Received: batch_size={batch_size}."
        )
