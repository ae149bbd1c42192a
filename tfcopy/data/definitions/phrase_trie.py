"""A trie of phrases, as look-up tables of TensorFlow.

Shapes: B sentences, T words, V ways in which words are read.
"""

from collections.abc import Mapping

import tensorflow as tf

_NOWHERE, _ROOT = 0, 1


class PhraseTrie(tf.Module):
    """Finds the longest phrase that begins at each word.

    Args:
        phrases: Phrases, of two words or more, each word a number from 1 on,
            and the entry of each, from 1 on.
        num_words: The largest number of a word.
    """

    def __init__(self, phrases: Mapping[tuple[int, ...], int], num_words: int):
        super().__init__(name="phrase_trie")
        self._size = num_words + 1
        self._longest = max(map(len, phrases), default=2)
        children, entries = {}, [0, 0]
        for words, entry in phrases.items():
            node = _ROOT
            for word in words:
                key = node * self._size + word
                if key not in children:
                    children[key] = len(entries)
                    entries.append(0)
                node = children[key]
            entries[node] = entry
        keys, nodes = list(children), list(children.values())
        with tf.init_scope():
            self._entries = tf.constant(entries, tf.int32)
            self._children = tf.lookup.StaticHashTable(
                tf.lookup.KeyValueTensorInitializer(
                    # Key 0 is none: TensorFlow refuses an empty table.
                    tf.constant([0, *keys], tf.int64),
                    tf.constant([_NOWHERE, *nodes], tf.int32),
                ),
                default_value=_NOWHERE,
            )

    def longest(self, first, inner, last):
        """The longest phrase that begins at each word.

        Words can be read in several ways; among phrases of equal length, the
        first way that gives one counts.

        Args:
            first: int32 of shape `(B, T, V)`, numbers of the words if they
                are the first of a phrase, 0 for words of no phrase.
            inner: Their numbers if they are neither the first nor the last,
                likewise.
            last: Their numbers if they are the last.

        Returns:
            `(entries, lengths)`, int32 of shape `(B, T)`, 0 for none.
        """
        found = []
        nodes = self._child(_ROOT, first)
        for number in range(1, self._longest):
            ends = self._child(nodes, _later(last, number))
            found.insert(0, tf.gather(self._entries, ends))
            nodes = self._child(nodes, _later(inner, number))
        found = tf.concat(found, axis=-1)  # the longest phrases first
        best = tf.argmax(found > 0, axis=-1, output_type=tf.int32)
        entries = tf.gather(found, best, batch_dims=2)
        lengths = self._longest - best // first.shape[-1]
        return entries, tf.where(entries > 0, lengths, 0)

    def _child(self, nodes, words):
        keys = tf.cast(nodes, tf.int64) * self._size + tf.cast(words, tf.int64)
        return self._children.lookup(keys)


def _later(words, number):
    """For each word the word a number of places later, or 0."""
    length = tf.shape(words)[1]
    return tf.pad(words, [[0, 0], [0, number], [0, 0]])[:, number:][:, :length]
