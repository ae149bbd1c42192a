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
from tfcopy.data.epoch_order import epoch_order


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
        batch_size: int,
        *,
        shuffle_seed: int | None = None,
        epoch: int = 0,
        start_batch: int = 0,
        num_replicas: int = 1,
    ) -> tf.data.Dataset:
        """The batches of one epoch, from `start_batch` to its end.

        Examples are shuffled as `epoch_order` does, the longest text counting
        first. A last batch that is smaller is left out.

        Args:
            texts: `WordTexts`.
            batch_size: Examples in a global batch, a multiple of
                `num_replicas`.
            shuffle_seed: Integer; `None` keeps the order of the corpus.
            epoch: Counted from 0.
            start_batch: Number of batches to skip, to resume.
            num_replicas: Number of equal slices of a global batch, which come
                one after the other.
        """
        if batch_size % num_replicas:
            raise ValueError(
                "`batch_size` must be a multiple of `num_replicas`. Received: "
                f"batch_size={batch_size}, num_replicas={num_replicas}."
            )
        if len(texts) < batch_size:
            raise ValueError(
                f"The corpus holds {len(texts):,} examples, fewer than one "
                f"batch. Received: batch_size={batch_size}."
            )
        order = epoch_order(
            _by_length(texts), batch_size, seed=shuffle_seed, epoch=epoch
        )
        size = batch_size // num_replicas
        return self._dataset(texts, order[start_batch * batch_size :], size)

    def evaluation(self, texts: WordTexts, batch_size: int) -> tf.data.Dataset:
        """All examples, once, in their order; the last batch may be smaller."""
        return self._dataset(texts, np.arange(len(texts)), batch_size)

    def _dataset(self, texts, order, size):
        names, labels = tuple(texts.texts), tuple(texts.labels)
        shapes = self.shapes
        if shapes not in self._graphs:
            self._graphs[shapes] = tf.function(
                functools.partial(self._batch, shapes), autograph=False
            )
        make_batch = self._graphs[shapes]

        def read(start):
            rows = order[start : start + size]
            arrays = []
            for name in names:
                numbers = [texts.texts[name][row] for row in rows]
                arrays += [np.concatenate(numbers), list(map(len, numbers))]
            arrays += [texts.labels[name][rows] for name in labels]
            return [np.asarray(x, np.int32) for x in arrays]

        def batch(start):
            arrays = tf.numpy_function(
                read, [start], [tf.int32] * (2 * len(names) + len(labels))
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

        starts = tf.data.Dataset.range(0, len(order), size)
        dataset = starts.map(
            tf.autograph.experimental.do_not_convert(batch),
            tf.data.AUTOTUNE,
            deterministic=True,
        )
        dataset = dataset.prefetch(tf.data.AUTOTUNE)
        # `numpy_function` hides it from tf.data.
        return dataset.apply(
            tf.data.experimental.assert_cardinality(-(-len(order) // size))
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


def _by_length(texts):
    """Lengths of the texts, with the text of longest total length first."""
    lengths = [sentences.lengths for sentences in texts.texts.values()]
    return sorted(lengths, key=lambda x: -int(x.sum()))
