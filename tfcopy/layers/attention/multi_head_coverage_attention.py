"""Attention by several heads with coverage.

Shapes: B batch, S source steps, H heads, N steps of training or beams.
"""

import keras
from keras import ops

from tfcopy.layers.attention.coverage import Coverage
from tfcopy.layers.attention.multi_head_attention import MultiHeadAttention


@keras.saving.register_keras_serializable(package="tfcopy")
class MultiHeadCoverageAttention(Coverage, MultiHeadAttention):
    """Attention by several heads, with coverage as a feature of each score.

    `w_ch * coverage_j` is added to the score of head h for source step j. The
    coverage is that of the averaged weights; it is the state of `step`, `w_c`
    starts at zero, and `enabled` has its effect, as in `CoverageAttention`.

    Args:
        units: As in `MultiHeadAttention`.
        num_heads: As in `MultiHeadAttention`.
        kernel_initializer: As in `MultiHeadAttention`.
        enabled: As in `CoverageAttention`.

    Call arguments and results are as in `MultiHeadAttention`, but the queries
    are processed one after the other.
    """

    def __init__(
        self,
        units,
        num_heads=4,
        kernel_initializer="glorot_uniform",
        enabled=True,
        **kwargs,
    ):
        super().__init__(units, num_heads, kernel_initializer, **kwargs)
        self.starts_enabled = enabled

    @property
    def _coverage_size(self):
        return self.num_heads

    def _add_to_scores(self, scores, state, memory):
        kernel = ops.reshape(memory.weights["coverage"], (-1, 1, 1))
        rows = state if len(state.shape) == 3 else ops.expand_dims(state, 1)
        return scores + kernel * ops.expand_dims(rows, 1)
