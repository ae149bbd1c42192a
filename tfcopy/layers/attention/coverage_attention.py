"""Additive attention with coverage.

Shapes: B batch, T target steps, S source steps, U units.
"""

import keras
from keras import ops

from tfcopy.layers.attention.bahdanau_attention import BahdanauAttention
from tfcopy.layers.attention.coverage import Coverage

FEATURES = ("vector", "scalar")


@keras.saving.register_keras_serializable(package="tfcopy")
class CoverageAttention(Coverage, BahdanauAttention):
    """Additive attention with the sum of all earlier weights as a feature.

    The score of source step `j` is
    `v^T tanh(W query + U value_j + b + w_c * coverage_j)`, and the coverage
    of a step is the sum of the weights that EARLIER steps gave to `j`. It is
    the state of `step`, `(B, S)`, float32, zeros at first. With
    `feature="scalar"` the score is
    `v^T tanh(W query + U value_j + b) + w_c * coverage_j`, and `w_c` a single
    number, as in the authors' code of CopyNet.

    `w_c` starts at zero, so that a model trained without coverage is unchanged
    at first. With `enabled=False` it stays there: its gradient is exactly zero
    and all is as in `BahdanauAttention`, until `enable` is called.

    Args:
        units: As in `BahdanauAttention`.
        use_bias: As in `BahdanauAttention`.
        kernel_initializer: As in `BahdanauAttention`, for all matrices but
            `w_c`.
        use_score_bias: As in `BahdanauAttention`.
        enabled: Whether coverage is on from the start. It is kept in a
            weight, so a checkpoint restores it.
        feature: `"vector"` or `"scalar"`: whether coverage is added to the
            hidden layer, or to the score.

    Call arguments and results are as in `BahdanauAttention`, but the queries
    are processed one after the other.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 2.3;
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393) for `"scalar"`.
    """

    def __init__(
        self,
        units,
        use_bias=False,
        kernel_initializer="glorot_uniform",
        use_score_bias=None,
        enabled=True,
        feature="vector",
        **kwargs,
    ):
        super().__init__(
            units, use_bias, kernel_initializer, use_score_bias, **kwargs
        )
        if feature not in FEATURES:
            raise ValueError(
                f"`feature` must be one of {FEATURES}. "
                f"Received: feature={feature!r}."
            )
        self.starts_enabled = enabled
        self.feature = feature

    @property
    def _coverage_size(self):
        return self.units if self.feature == "vector" else 1

    def _add_state(self, hidden, state, memory):
        if self.feature == "scalar":
            return hidden
        # A matrix product, whose gradients need no further `(B, S, U)` tensors.
        term = ops.matmul(
            ops.reshape(state, (-1, 1)), memory.weights["coverage"]
        )
        return hidden + ops.reshape(term, ops.shape(hidden))

    def _add_to_scores(self, scores, state, memory):
        if self.feature == "vector":
            return scores
        return scores + memory.weights["coverage"] * state

    def get_config(self):
        return {**super().get_config(), "feature": self.feature}
