"""The definitions of phrases, added to their words.

Shapes: B batch, T words, E embedding size, D size of what is read.
"""

import keras
from keras import ops

from tfcopy.layers.configured import Configured
from tfcopy.layers.rows import multiply

# A word is the first of a phrase, inside it, or the last.
_PLACES = 3


@keras.saving.register_keras_serializable(package="tfcopy")
class PhraseCombination(Configured, keras.layers.Layer):
    """Adds the definition of a phrase to each of its words.

        e(t) + W_p a(t) + P[position(t)]

    where `a(t)` is the definition of the phrase that word t belongs to. `W_p`
    and `P` start at zero, so that nothing changes until they are trained; a
    word outside of phrases never changes. Only the product is in the compute
    dtype.

    Args:
        dropout: Share of the elements of `a` that is dropped in training.
        seed: Optional integer, of the dropout.

    Call arguments:
        words: Embeddings of words, `(B, T, E)`.
        phrases: Definitions of their phrases, `(B, T, D)`; zeros where there is
            none.
        positions: Integers, `(B, T)`: 1 the first word of a phrase, 2 one
            inside, 3 the last, 0 a word of no phrase.

    Returns:
        `(B, T, E)`, float32.

    Reference:
        Phrases are not in the paper, [Bahdanau et al.,
        2017](https://arxiv.org/abs/1706.00286).
    """

    def __init__(self, dropout=0.0, seed=None, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype="float32"
        )

    def build(self, words_shape, phrases_shape, positions_shape=None):
        embedding_dim = words_shape[-1]
        self.kernel = self.add_weight(
            name="kernel",
            shape=(phrases_shape[-1], embedding_dim),
            initializer="zeros",
        )
        self.places = self.add_weight(
            name="places", shape=(_PLACES, embedding_dim), initializer="zeros"
        )

    def call(self, words, phrases, positions, training=False):
        phrases = ops.cast(phrases, "float32")
        phrases = self.dropout_layer(phrases, training=training)
        product = multiply(phrases, self.kernel, self.compute_dtype)
        places = ops.cast(self.places, "float32")
        # Row 0 is for words outside of phrases.
        places = ops.pad(places, [[1, 0], [0, 0]])
        return words + product + ops.take(places, positions, axis=0)

    def compute_output_spec(self, words, phrases, positions, training=False):
        return keras.KerasTensor(words.shape, "float32")
