"""The words of a pretrained network, in the order of our vocabularies.

Shapes: B batch, T words, D hidden size, V vocabulary, M rows of the network's
table, N rows of features, C candidates.
"""

import keras
import numpy as np
from keras import ops

from tfcopy.layers.backbones.hub_backbone import OfBackbone, parts_of
from tfcopy.layers.cutting import take


@keras.saving.register_keras_serializable(package="tfcopy")
class BackboneEmbedding(OfBackbone, keras.layers.Layer):
    """The table of a backbone's words, and its output layer.

    Our vocabularies begin with PAD, UNK, BOS and EOS. These have the rows
    `special_ids` of the backbone's table, several of them perhaps the same one.
    All other rows follow in their order.

    Args:
        backbone: A backbone of KerasHub.
        vocabulary_size: V; by default all rows of its table have a word.
        special_ids: The rows of PAD, UNK, BOS and EOS; by default those of
            its published vocabularies.

    Call arguments:
        ids: Of our vocabulary, `(B, T)`.

    Returns:
        `(B, T, D)`, float32.
    """

    def __init__(
        self, backbone, vocabulary_size=None, special_ids=None, **kwargs
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals(), "backbone")
        self.parts = parts_of(backbone)
        self.table = backbone.token_embedding
        self.special_ids = tuple(special_ids or self.parts.special_ids)
        size = self.table.input_dim
        others = np.setdiff1d(np.arange(size), self.special_ids)
        # The row of each word.
        self.rows = np.concatenate([self.special_ids, others]).astype("int32")
        self.vocabulary_size = vocabulary_size or len(self.rows)
        if self.vocabulary_size > len(self.rows):
            raise ValueError(
                f"The backbone's table has {size} rows, enough for "
                f"{len(self.rows)} words. Received: "
                f"vocabulary_size={vocabulary_size}."
            )
        self.rows = self.rows[: self.vocabulary_size]
        self.output_dim = self.table.output_dim

    def build(self, ids_shape):
        """The table is built: it belongs to the backbone."""

    def call(self, ids):
        vectors = self.table(take(ops.convert_to_tensor(self.rows), ids))
        return ops.cast(vectors, "float32")

    def compute_output_spec(self, ids):
        return keras.KerasTensor((*ids.shape, self.output_dim), "float32")

    def logits(self, features, candidate_ids=None):
        """The products of features with the words' rows, without a bias.

        Args:
            features: `(N, D)`.
            candidate_ids: Optional `(C,)`, the only words asked for.

        Returns:
            `(N, V)`, or `(N, C)`.
        """
        features = features * self.parts.feature_scale
        tied = self.table.tie_weights
        # Its own `call` would multiply in float32 inside another layer.
        kernel = ops.cast(
            self.table.embeddings if tied else self.table.reverse_embeddings,
            features.dtype,
        )
        if candidate_ids is not None:
            rows = take(ops.convert_to_tensor(self.rows), candidate_ids)
            kernel = take(kernel, rows, axis=0 if tied else 1)
        kernel = ops.transpose(kernel) if tied else kernel
        product = ops.matmul(features, kernel)
        return product if candidate_ids is not None else self._in_order(product)

    def _in_order(self, logits):
        """`(N, M)` in the order of the backbone's rows to `(N, V)`."""
        # A few slices; a gather of all columns would take many times as long.
        starts = np.flatnonzero(np.diff(self.rows, prepend=-2) != 1)
        ends = [*starts[1:], len(self.rows)]
        parts = [
            logits[:, self.rows[start] : self.rows[end - 1] + 1]
            for start, end in zip(starts, ends)
        ]
        return ops.concatenate(parts, axis=1)
