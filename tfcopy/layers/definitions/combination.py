"""Combination of a word's embedding with its definitions and spelling.

Shapes: B batch, T words, E embedding size, D size of a source.
"""

import keras
from keras import ops

from tfcopy import tokens
from tfcopy.layers.configured import Configured, Initializer, check_choice
from tfcopy.layers.products import multiply

COMBINATIONS = ("sum", "transform", "bands", "replace")


@keras.saving.register_keras_serializable(package="tfcopy")
class WordCombination(Configured, keras.layers.Layer):
    """Layer that adds other sources to a word's embedding, or replaces it.

    The sources are embeddings of a word's definitions or spelling. With the
    word's own embedding `e(w)` and the sum of its sources `a(w)`:

        sum        e(w) + a(w)
        transform  e(w) + a(w), each source times its own matrix
        bands      e(w) + a(w) of known words, a(w) of unknown ones
        replace    e(w) of known words, a(w) of unknown ones

    There is no bias. With `sum` and `transform`, a word without sources, whose
    vectors are all zero, is thus exactly `e(w)`. Only the products are in the
    compute dtype.

    ```python
    definitions = np.ones((2, 4, 5), "float32")
    combine = layers.WordCombination("transform")
    vectors = combine(ids, embedded, {"definitions": definitions})
    ```

    Args:
        combine: `"sum"`, `"transform"`, `"bands"` or `"replace"`.
        dropout: Dropout rate of the word's own embedding and of each source.
        kernel_initializer: Initializer of the matrices.
        seed: Optional integer, of the dropout.

    Call arguments:
        ids: `(B, T)`; unknown words are `UNK`.
        word: Their own embeddings, `(B, T, E)`.
        sources: Dict of `(B, T, D)`. Sources that the layer was built with may
            be missing.

    Returns:
        `(B, T, E)`, float32.

    Raises:
        ValueError: When built, if a source has D other than E, and no matrix.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section 3;
        bands and dropout are from the authors' code.
    """

    def __init__(
        self,
        combine: str = "sum",
        dropout: float = 0.0,
        kernel_initializer: Initializer = "glorot_uniform",
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())
        check_choice("combine", combine, COMBINATIONS)
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype="float32"
        )
        self.kernels = {}

    def build(self, ids_shape, word_shape, sources_shape):
        embedding_dim = word_shape[-1]
        for name, shape in sources_shape.items():
            if self.combine == "transform":
                self.kernels[name] = self.add_weight(
                    name=f"{name}_kernel",
                    shape=(shape[-1], embedding_dim),
                    # A copy: an initializer repeats its values.
                    initializer=self.kernel_initializer.clone(),
                )
            elif shape[-1] != embedding_dim:
                raise ValueError(
                    "Unless `combine` is 'transform', each source must have "
                    f"the size of the embeddings, {embedding_dim}. Received: "
                    f"{name} of size {shape[-1]}, combine={self.combine!r}."
                )

    def call(self, ids, word, sources, training=False):
        word = self._drop(word, training)
        read = ops.zeros_like(word)
        for name, vectors in sources.items():
            vectors = self._drop(vectors, training)
            if self.combine == "transform":
                kernel = self.kernels[name]
                vectors = multiply(vectors, kernel, self.compute_dtype)
            read = read + vectors
        if self.combine in ("sum", "transform"):
            return word + read
        is_unknown = ops.expand_dims(ops.equal(ids, tokens.UNK), -1)
        if self.combine == "bands":
            return ops.where(is_unknown, 0.0, word) + read
        return ops.where(is_unknown, read, word)

    def _drop(self, vectors, training):
        vectors = ops.cast(vectors, "float32")
        return self.dropout_layer(vectors, training=training)
