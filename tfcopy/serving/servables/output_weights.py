"""The columns of the output layer that a batch needs.

A bilingual dictionary lists the words that may be generated for a source.

Shapes: B sentences, S source positions, N words that all may generate, M
translations of a word.
"""

import numpy as np
import tensorflow as tf

from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.decoding import Candidates
from tfcopy.layers.copying import MASKED

_NONE = -1


class Shortlist:
    """Frequent words, and the translations of a sentence's words.

    The output layer then has the few columns that a batch may need, instead of
    one for each word of the vocabulary. No sentence generates a word for
    another of its batch.

    Args:
        dictionary: `Dictionary` of source to target language.
        source_vocabulary: `Vocabulary` of the encoder.
        target_vocabulary: `Vocabulary` of the decoder.
        always: `(N,)`, int, ids that every sentence may generate; the special
            tokens among them.

    Reference:
        [Jean et al., 2015](https://arxiv.org/abs/1412.2007), section 3.2, the
        "candidate list".
    """

    def __init__(
        self,
        dictionary: Dictionary,
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        always,
    ):
        self.always = np.asarray(always, np.int32)
        target_ids = {word: i for i, word in enumerate(target_vocabulary.words)}
        left_out = set(self.always.tolist())
        rows = [
            [
                target_ids[x]
                for x in dictionary.senses(word)
                if x in target_ids and target_ids[x] not in left_out
            ]
            for word in source_vocabulary.words
        ]
        width = max(1, *map(len, rows))
        self.table = np.array(
            [row + [_NONE] * (width - len(row)) for row in rows], np.int32
        )  # (source vocabulary, M)
        self.vocabulary_size = target_vocabulary.size

    def candidates(self, source_ids) -> Candidates:
        """Returns the words of a batch, and which sentence may generate which.

        Args:
            source_ids: int32 `(B, S)`.

        Returns:
            `Candidates`, with `always` first.
        """
        rows = tf.shape(source_ids)[0]
        found = tf.gather(tf.constant(self.table), source_ids)  # (B, S, M)
        found = tf.reshape(found, [rows, -1])
        is_word = found != _NONE
        more = tf.unique(tf.sort(found[is_word])).y
        ids = tf.concat([self.always, more], axis=0)
        count, first = tf.size(ids), len(self.always)
        place_of = tf.scatter_nd(
            more[:, None], tf.range(first, count), [self.vocabulary_size]
        )
        # Where there is no word, a place that all have.
        places = tf.gather(place_of, tf.where(is_word, found, 0))
        places = tf.where(is_word, places, 0)
        owners = tf.repeat(tf.range(rows), tf.shape(places)[1])
        hits = tf.scatter_nd(
            tf.stack([owners, tf.reshape(places, [-1])], axis=1),
            tf.ones_like(owners),
            [rows, count],
        )
        allowed = (hits > 0) | (tf.range(count) < first)
        return Candidates(ids, tf.where(allowed, 0.0, MASKED))
