"""A GRU that reads words of a small vocabulary.

Shapes: B batch, S source steps, N words, E embedding size, D units.
"""

import keras
from keras import ops

from tfcopy.layers.cells.gru import gru_update
from tfcopy.layers.cutting import split
from tfcopy.layers.initializers import Blockwise
from tfcopy.layers.loop import Product, scan
from tfcopy.layers.word_products import word_products


@keras.saving.register_keras_serializable(package="tfcopy")
class WordGRU(keras.layers.Layer):
    """Embeds words, and reads them from left to right with a GRU.

    `word_products` computes what words add to the gates. The first step, whose
    state is zero, needs no recurrent product.

    Padding must be on the right; there the state is kept.

    Args:
        num_words: N, specials included.
        embedding_dim: E.
        units: D.
        embeddings_initializer: Initializer of the table.
        kernel_initializer: Initializer of each block of the input kernel.
        recurrent_initializer: Initializer of each gate's recurrent kernel.

    Call arguments:
        ids: `(B, S)`, S known.
        mask: Boolean, `(B, S)`.

    Returns:
        `(states, final)`: `(B, S, D)`, and the last of them, `(B, D)`;
        float32.

    Reference:
        [Cho et al., 2014](https://arxiv.org/abs/1406.1078), eq. 5-8, with the
        reset gate after the product.
    """

    def __init__(
        self,
        num_words,
        embedding_dim,
        units,
        embeddings_initializer="uniform",
        kernel_initializer="glorot_uniform",
        recurrent_initializer="orthogonal",
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True
        self.num_words = num_words
        self.embedding_dim = embedding_dim
        self.units = units
        self.embeddings_initializer = keras.initializers.get(
            embeddings_initializer
        )
        self.kernel_initializer = keras.initializers.get(kernel_initializer)
        self.recurrent_initializer = keras.initializers.get(
            recurrent_initializer
        )

    def build(self, ids_shape, mask_shape=None):
        if ids_shape[1] is None:
            raise ValueError(
                "The length of `ids` must be known. "
                f"Received: shape={tuple(ids_shape)}."
            )
        width = 3 * self.units
        self.embeddings = self.add_weight(
            name="embeddings",
            shape=(self.num_words, self.embedding_dim),
            initializer=self.embeddings_initializer,
        )
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.embedding_dim, width),
            initializer=Blockwise(self.kernel_initializer, 3),
        )
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.units, width),
            initializer=Blockwise(self.recurrent_initializer, 3),
        )
        self.bias = self.add_weight(
            name="bias", shape=(width,), initializer="zeros"
        )

    def call(self, ids, mask, training=False):
        batch, length = ops.shape(ids)
        project = word_products(
            ops.convert_to_tensor(self.embeddings),
            self.kernel,
            self.bias,
            batch * length,
            self.compute_dtype,
        )
        projected = project(ops.transpose(ids))  # (S, B, 3D), float32
        keep = ops.cast(ops.transpose(mask), "float32")
        keep = ops.expand_dims(keep, -1)  # (S, B, 1)
        first, others = split(projected, [1], axis=0)
        keep_first, keep_others = split(keep, [1], axis=0)
        zeros = ops.zeros_like(first)
        state = gru_update(first, zeros, zeros[..., : self.units])
        states = keep_first * state  # (1, B, D)
        final = states[0]
        if ids.shape[1] > 1:
            kernel = ops.cast(self.recurrent_kernel, self.compute_dtype)
            following, final = scan(
                self._step,
                (others, keep_others),
                final,
                {"recurrent": Product(kernel)},
                training,
            )
            states = ops.concatenate([states, following], axis=0)
        return ops.transpose(states, (1, 0, 2)), final

    @staticmethod
    def _step(inputs, state, memory):
        projected, keep = inputs
        new = gru_update(projected, memory["recurrent"](state), state)
        state = state + keep * (new - state)
        return state, state

    def compute_output_spec(self, ids, mask, training=False):
        batch, length = ids.shape
        return (
            keras.KerasTensor((batch, length, self.units), "float32"),
            keras.KerasTensor((batch, self.units), "float32"),
        )

    def compute_mask(self, ids, previous_mask):
        """The outputs carry no Keras mask: it is passed as an argument."""
        return None

    def get_config(self):
        initializers = {
            name: keras.initializers.serialize(getattr(self, name))
            for name in (
                "embeddings_initializer",
                "kernel_initializer",
                "recurrent_initializer",
            )
        }
        return {
            **super().get_config(),
            "num_words": self.num_words,
            "embedding_dim": self.embedding_dim,
            "units": self.units,
            **initializers,
        }
