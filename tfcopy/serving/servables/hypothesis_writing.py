"""From the hypotheses of a search to words.

Shapes: B sentences, S source positions (with EOS), N hypotheses, T words of
the longest hypothesis.
"""

import tensorflow as tf

from tfcopy import tokens as special
from tfcopy.data.text.dictionary import Dictionary, emit
from tfcopy.data.text.entities import restore
from tfcopy.data.text.vocabulary import Vocabulary

_UNK_WORD = special.SPECIAL_TOKENS[special.UNK]


class HypothesisWriter:
    """Writes the words that a search has generated or pointed at.

    Args:
        vocabulary: `Vocabulary` of the decoder.
        dictionary: As in `Translator`.
        replace_unk: As in `Translator`.
    """

    def __init__(
        self,
        vocabulary: Vocabulary,
        dictionary: Dictionary | None,
        replace_unk: bool,
    ):
        self._size = vocabulary.size
        self._replace_unk = replace_unk
        self._target_words = _words_by_id(vocabulary)
        self._emission = None
        if dictionary is not None:
            self._emission = dictionary.emission_table(vocabulary.words)

    @property
    def resources(self) -> list:
        """Tables, which a SavedModel must hold."""
        tables = [self._target_words, self._emission]
        return [x for x in tables if x is not None]

    def write(self, result, source):
        """The words of hypotheses.

        Args:
            result: `SearchResult`.
            source: `Sources`.

        Returns:
            `(words, copied_from, lengths)`: strings `(B, N, T)`, int32
            `(B, N, T)` and the number of words, int32 `(B, N)`.
        """
        ids = result.ids
        is_word = (ids != special.PAD) & (ids != special.EOS)
        lengths = tf.reduce_sum(tf.cast(is_word, tf.int32), axis=-1)
        longest = tf.reduce_max(lengths)
        ids = ids[:, :, :longest]
        is_word = is_word[:, :, :longest]
        size = self._size
        known_ids = tf.where(is_word & (ids < size), ids, special.PAD)
        generated = self._target_words.lookup(tf.cast(known_ids, tf.int64))
        if source.keys is not None:
            restored = restore(
                tf.reshape(generated, [tf.shape(ids)[0], -1]),
                source.keys,
                source.words,
            )
            generated = tf.reshape(restored, tf.shape(ids))
        # Which of the word's positions, if search does not say: the first.
        copied_from = result.copied_from[:, :, :longest]
        copied_from = tf.where(
            (ids >= size) & (copied_from < 0), ids - size, copied_from
        )
        if self._replace_unk:
            attention = tf.where(
                (source.copy_ids != special.NO_COPY)[:, None, None],
                result.attention[:, :, :longest],
                -1.0,
            )
            highest = tf.argmax(attention, axis=-1, output_type=tf.int32)
            can_replace = tf.reduce_max(attention, axis=-1) >= 0
            copied_from = tf.where(
                (generated == _UNK_WORD) & can_replace, highest, copied_from
            )
        copied_from = tf.where(is_word, copied_from, special.GENERATE)
        # No word of the source, which may be a huge one, where none is copied.
        pointed = tf.gather(
            tf.pad(source.words, [[0, 0], [1, 0]]),
            tf.maximum(copied_from, -1) + 1,
            batch_dims=1,
        )
        if self._emission is not None:
            pointed = emit(pointed, self._emission)
        words = tf.where(copied_from >= 0, pointed, generated)
        return tf.where(is_word, words, ""), copied_from, lengths


def _words_by_id(vocabulary):
    """The table from int64 id to word, from the vocabulary's file if any."""
    if vocabulary.path is None:
        initializer = tf.lookup.KeyValueTensorInitializer(
            tf.range(vocabulary.size, dtype=tf.int64),
            tf.constant(vocabulary.words),
        )
    else:
        initializer = tf.lookup.TextFileInitializer(
            vocabulary.path,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
        )
    return tf.lookup.StaticHashTable(initializer, default_value=_UNK_WORD)
