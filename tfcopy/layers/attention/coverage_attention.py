"""Attention with coverage: the sum of all earlier attention weights.

Shapes: B batch, T target steps, S source steps, U units.
"""

import keras
from keras import ops

from tfcopy.layers.attention.bahdanau_attention import BahdanauAttention
from tfcopy.layers.attention.multi_head_attention import MultiHeadAttention
from tfcopy.layers.configured import Initializer, check_choice

FEATURES = ("vector", "scalar")


class Coverage:
    """Mixin of attentions with coverage: the state, and its weight `w_c`.

    A subclass sets `starts_enabled`, and has `_coverage_size`, the size of
    `w_c`. Whether coverage is on is a variable, but no weight, as the state of
    a random generator is: models save it, but do not count it.
    """

    has_state = True

    def build(self, query_shape, value_shape, inputs_shape=None):
        super().build(query_shape, value_shape, inputs_shape)
        self.coverage_kernel = self.add_weight(
            name="coverage_kernel",
            shape=(self._coverage_size,),
            initializer="zeros",
        )
        self.enabled = self.add_weight(
            name="enabled",
            shape=(),
            initializer="ones" if self.starts_enabled else "zeros",
            trainable=False,
        )

    @property
    def weights(self):
        own = getattr(self, "enabled", None)  # `None` before `build`
        return [weight for weight in super().weights if weight is not own]

    def enable(self):
        """Switches coverage on, for the second phase of training."""
        self.starts_enabled = True
        if self.built:
            self.enabled.assign(1.0)

    def prepare(self, value, value_mask=None):
        kernel = ops.cast(self.coverage_kernel, "float32")
        kernel = kernel * ops.cast(self.enabled, "float32")
        memory = super().prepare(value, value_mask)
        return memory.update(weights={"coverage": ops.expand_dims(kernel, 0)})

    def initial_state(self, memory):
        """Returns the coverage before the first step: zeros, `(B, S)`."""
        return ops.zeros_like(memory.sentences["mask_bias"])

    def _next_state(self, state, weights):
        return state + weights

    def get_config(self):
        return {**super().get_config(), "enabled": self.starts_enabled}


@keras.saving.register_keras_serializable(package="tfcopy")
class CoverageAttention(Coverage, BahdanauAttention):
    """Additive attention whose scores depend on the sum of earlier weights.

    The score of source step `j` is
    `v^T tanh(W query + U value_j + b + w_c * coverage_j)`. `coverage_j` is the
    sum of the weights of `j` at EARLIER target steps. It is the state of
    `step`, `(B, S)`, float32, zeros at first. With `feature="scalar"` the score
    is `v^T tanh(W query + U value_j + b) + w_c * coverage_j`, and `w_c` a
    single number, as in the authors' code of CopyNet.

    `w_c` starts at zero, so that a model trained without coverage is unchanged
    at first. With `enabled=False` it stays zero: its gradient is exactly zero,
    and the layer computes the same as `BahdanauAttention` until `enable` is
    called.

    ```python
    attention = layers.CoverageAttention(4)
    context, weights = attention(targets, annotations, mask)
    ```

    Args:
        units: As in `BahdanauAttention`.
        use_bias: As in `BahdanauAttention`.
        kernel_initializer: As in `BahdanauAttention`, for all matrices but
            `w_c`.
        use_score_bias: As in `BahdanauAttention`.
        enabled: Whether coverage is on from the start. A variable stores it,
            so that checkpoints restore it.
        feature: `"vector"` adds coverage to the hidden layer, `"scalar"` to the
            score.

    Call arguments and results are as in `BahdanauAttention`, but the queries
    are processed one after the other.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), section 2.3;
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393) for `"scalar"`.
    """

    def __init__(
        self,
        units: int,
        use_bias: bool = False,
        kernel_initializer: Initializer = "glorot_uniform",
        use_score_bias: bool | None = None,
        enabled: bool = True,
        feature: str = "vector",
        **kwargs,
    ):
        super().__init__(
            units, use_bias, kernel_initializer, use_score_bias, **kwargs
        )
        self.keep_arguments(locals(), "enabled")
        check_choice("feature", feature, FEATURES)
        self.starts_enabled = enabled

    @property
    def _coverage_size(self):
        return self.units if self.feature == "vector" else 1

    def _add_state(self, hidden, state, memory):
        if self.feature == "scalar":
            return hidden
        # As a matrix product, since its gradient needs no more `(B, S, U)`
        # tensors.
        term = ops.matmul(
            ops.reshape(state, (-1, 1)), memory.weights["coverage"]
        )
        return hidden + ops.reshape(term, ops.shape(hidden))

    def _add_to_scores(self, scores, state, memory):
        if self.feature == "vector":
            return scores
        return scores + memory.weights["coverage"] * state


@keras.saving.register_keras_serializable(package="tfcopy")
class MultiHeadCoverageAttention(Coverage, MultiHeadAttention):
    """Multi-head attention whose scores depend on the sum of earlier weights.

    `w_ch * coverage_j` is added to the score of head h for source step j. The
    coverage is the sum of the averaged weights. As in `CoverageAttention`, it
    is the state of `step`, `w_c` starts at zero, and `enabled` switches it on.

    ```python
    attention = layers.MultiHeadCoverageAttention(4, num_heads=2)
    context, weights = attention(targets, annotations, mask)
    ```

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
        units: int,
        num_heads: int = 4,
        kernel_initializer: Initializer = "glorot_uniform",
        enabled: bool = True,
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
