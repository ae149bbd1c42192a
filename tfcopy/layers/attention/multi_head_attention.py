"""Multi-head scaled dot-product attention for pointing.

Shapes: B batch, T target steps, S source steps, H heads, U units, N steps of
training or beams of a search.
"""

import math

import keras
from keras import ops

from tfcopy.layers.attention import pointing_attention
from tfcopy.layers.configured import Configured, Initializer
from tfcopy.layers.products import dense
from tfcopy.layers.tensors import split_heads


@keras.saving.register_keras_serializable(package="tfcopy")
class MultiHeadAttention(Configured, pointing_attention.PointingAttention):
    """Multi-head attention of decoder states over encoder states.

    With `d = U / H`, the score of source step j in head h is
    `(W_h query + b_h) . (V_h value_j) / sqrt(d)`. The weights of a head are the
    softmax of its scores. The weights of the layer are the mean over the heads.
    The context is the sum of `value` itself with these weights, so that it
    describes the position that the layer points at.

    Masking: steps where `value_mask` is `False` get a weight of exactly
    zero. A row without any `True` gets zeros and a context of zeros.

    ```python
    attention = layers.MultiHeadAttention(4, num_heads=2)
    context, weights = attention(targets, annotations, mask)
    ```

    Args:
        units: Positive integer, U, the size of all heads together.
        num_heads: Positive integer that divides `units`.
        kernel_initializer: Initializer of both matrices.

    Call arguments and results are as in `BahdanauAttention`, with no `inputs`.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.2;
        [Garg et al., 2019](https://arxiv.org/abs/1909.02074) for the mean of
        the heads as the alignment.
    """

    def __init__(
        self,
        units: int,
        num_heads: int = 4,
        kernel_initializer: Initializer = "glorot_uniform",
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())
        if num_heads < 1 or units < 1 or units % num_heads:
            raise ValueError(
                "`units` must be a positive multiple of `num_heads`. "
                f"Received: units={units}, num_heads={num_heads}."
            )
        # No bias, since a bias of the keys does not change the softmax.
        self.value_projection = dense(
            self, units, "value_projection", kernel_initializer, use_bias=False
        )

    def build(self, query_shape, value_shape, inputs_shape=None):
        self.value_projection.build(value_shape)
        self.query_kernel = self._add_kernel(
            "query", query_shape[-1], self.units
        )
        self.query_bias = self._add_bias("query", self.units)

    def prepare(self, value, value_mask=None):
        """Prepares the memory of all steps: keys, values, mask as a bias."""
        keys = split_heads(self.value_projection(value), self.num_heads)
        scale = math.sqrt(self.num_heads / self.units)
        keys = ops.transpose(keys * scale, (0, 1, 3, 2))  # (B, H, d, S)
        bias = ops.cast(self.query_bias, "float32")
        memory = super().prepare(value, value_mask)
        return memory.update({"keys": self._cast(keys)}, {"query_bias": bias})

    def combine(self, product, words, memory):
        """Adds the bias to the query for `step`."""
        return product + memory.weights["query_bias"]

    def step(self, query, state, memory, read=None):
        """Attends with one query per sentence, or per beam of a search.

        Arguments and results are as in `BahdanauAttention`.
        """
        one = len(query.shape) == 2
        rows = ops.expand_dims(query, 1) if one else query
        rows = split_heads(self._cast(rows), self.num_heads)
        scores = ops.matmul(rows, memory.sentences["keys"])  # (B, H, N, S)
        scores = ops.cast(scores, "float32")
        scores = self._add_to_scores(scores, state, memory)
        mask_bias = ops.expand_dims(memory.sentences["mask_bias"], (1, 2))
        log_weights = ops.logsumexp(
            pointing_attention.masked_log_softmax(scores, mask_bias), axis=1
        ) - math.log(self.num_heads)
        if one:
            log_weights = ops.squeeze(log_weights, 1)
        context, log_weights, weights = self._weigh(log_weights, memory, read)
        return context, log_weights, self._next_state(state, weights)

    def _add_to_scores(self, scores, state, memory):
        """Adds a subclass's state to the scores, `(B, H, N, S)`."""
        return scores
