"""Weights of a decoder's step: constants, and columns of few words.

The weights are constants of the graph, for exports. A bilingual dictionary
lists the words that may be generated for a source.

Shapes: B sentences, S source positions, K candidates, M translations of a word.
"""

import numpy as np
import tensorflow as tf
from keras import tree

from tfcopy.data.text.dictionary import Dictionary
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.decoding import Candidates
from tfcopy.layers.copying import MASKED
from tfcopy.layers.loop import Product

# A graph holds less than 2 GiB, and these weights once for each signature.
_MOST_BYTES = 2**29


class ConstantWeights:
    """A `Seq2Seq` to search with, whose steps read constants.

    TensorFlow's library of products arranges a constant matrix once for its
    processor, but a variable one at each product. The constants have the values
    of the weights when this is made. TensorFlow keeps about 25 copies of a
    graph's constants when it loads it.

    Args:
        model: A `Seq2Seq`.

    Raises:
        ValueError: If no graph can hold the weights.
    """

    def __init__(self, model):
        self.model = model
        self.vocabulary_size = model.vocabulary_size
        self.source_inputs = model.source_inputs
        # In eager mode: the graph has the values, not how they are computed.
        with tf.init_scope():
            self._weights = tree.map_structure(_Arrays, model.step_weights())
        size = sum(array.nbytes for array in self.arrays())
        if size > _MOST_BYTES:
            raise ValueError(
                f"The weights of a step, {size:,} bytes, are too many for "
                "constants of a graph. Set constants=false."
            )

    def arrays(self) -> list:
        """Returns the constants."""
        parts = tree.flatten(self._weights)
        return [array for part in parts for array in part.arrays]

    @property
    def variables(self) -> list:
        """Weights that are no constants: the encoder's."""
        constant = {id(x) for x in self.model.variables_of_steps()}
        return [x for x in self.model.variables if id(x) not in constant]

    def encode(self, source_ids, source_copy_ids, **source_inputs):
        """Encodes as `Seq2Seq.encode` does, without the weights."""
        memory, state = self.model.encode_sentences(
            source_ids, source_copy_ids, **source_inputs
        )
        return memory._replace(weights={}), state

    def restrict(self, memory, candidate_ids, log_weights=None):
        """Restricts as `Seq2Seq.restrict` does, beside the constants."""
        whole = memory._replace(weights=self._constants())
        few = self.model.restrict(whole, candidate_ids, log_weights)
        pairs = zip(whole.weights["layers"], few.weights["layers"])
        changed = {
            str(place): new
            for place, (old, new) in enumerate(pairs)
            if old is not new
        }
        if "candidate_ids" in few.weights:
            changed["candidate_ids"] = few.weights["candidate_ids"]
        return few._replace(weights=changed)

    def decode_step(self, ids, state, memory):
        """Decodes a step as `Seq2Seq.decode_step` does."""
        weights = {**self._constants(), **memory.weights}
        layers = [
            memory.weights.get(str(place), x)
            for place, x in enumerate(weights["layers"])
        ]
        memory = memory._replace(weights={**weights, "layers": layers})
        return self.model.decode_step(ids, state, memory)

    def _constants(self):
        """Returns the weights as constants of the current graph."""
        return tree.map_structure(lambda x: x.constant(), self._weights)


class _Arrays:
    """A tensor, or a `Product`, as arrays."""

    def __init__(self, x):
        self._is_product = isinstance(x, Product)
        tensors = x.tensors() if self._is_product else [x]
        self.arrays = [np.asarray(tf.convert_to_tensor(y)) for y in tensors]

    def constant(self):
        tensors = [tf.constant(x) for x in self.arrays]
        return Product(*tensors) if self._is_product else tensors[0]


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
