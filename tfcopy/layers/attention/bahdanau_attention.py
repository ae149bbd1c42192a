"""Additive attention (Bahdanau et al.).

Shapes: B batch, T target steps, S source steps, U units.
"""

import keras
from keras import ops

from tfcopy.layers.attention.pointing_attention import PointingAttention
from tfcopy.layers.configured import Configured, Initializer, check_positive
from tfcopy.layers.loop import expand_beams
from tfcopy.layers.products import apply_to_rows, dense, multiply


@keras.saving.register_keras_serializable(package="tfcopy")
class BahdanauAttention(Configured, PointingAttention):
    """Additive attention of decoder states over encoder states.

    A network with one hidden layer scores each source step for each query,
    `v^T tanh(W query + U value + b)`. The softmax of the scores weights `value`
    to give the context. The weights are returned, too, since copying heads
    point with them.

    In a decoder cell, call `prepare` once per sentence and `step` at each step;
    `call` does both for all queries at once. The scores and the softmax are in
    float32 with any dtype policy.

    Masking: steps where `value_mask` is `False` get a weight of exactly
    zero. A row without any `True` gets zeros and a context of zeros.

    ```python
    attention = layers.BahdanauAttention(4)
    context, weights = attention(targets, annotations, mask)
    ```

    Args:
        units: Positive integer, the size of the hidden layer.
        use_bias: Whether the hidden layer has a bias.
        kernel_initializer: Initializer of all matrices.
        use_score_bias: Whether the score has a bias, as in the base system
            of Gulcehre et al.; `use_bias` if `None`.
        reads_words: Whether the previous token is part of the query, as in the
            code of Chung et al., 2016; `project` adds it.

    Call arguments:
        query: Decoder states, of shape `(B, T, query_dim)`.
        value: Encoder states, of shape `(B, S, value_dim)`.
        value_mask: Optional boolean tensor of shape `(B, S)`.
        inputs: Embeddings of the previous tokens, `(B, T, E)`, with
            `reads_words`.

    Returns:
        `(context, attention_weights)`: `(B, T, value_dim)` and `(B, T, S)`.

    Reference:
        [Bahdanau et al., 2015](https://arxiv.org/abs/1409.0473), A.1.2.
    """

    def __init__(
        self,
        units: int,
        use_bias: bool = False,
        kernel_initializer: Initializer = "glorot_uniform",
        use_score_bias: bool | None = None,
        reads_words: bool = False,
        **kwargs,
    ):
        super().__init__(autocast=False, **kwargs)
        self.keep_arguments(locals())
        check_positive("units", units)
        self.use_score_bias = (
            use_bias if use_score_bias is None else use_score_bias
        )
        self.value_projection = dense(
            self,
            units,
            "value_projection",
            kernel_initializer,
            use_bias=use_bias,
        )

    def build(self, query_shape, value_shape, inputs_shape=None):
        self.value_projection.build(value_shape)
        self.query_kernel = self._add_kernel(
            "query", query_shape[-1], self.units
        )
        self.score_kernel = self._add_kernel("score", self.units, 1)
        if self.use_score_bias:
            self.score_bias = self._add_bias("score", 1)
        if self.reads_words:
            self._build_words(inputs_shape)

    def _build_words(self, inputs_shape):
        if inputs_shape is None:
            raise ValueError(
                "With `reads_words`, call the attention with `inputs`, the "
                "embeddings of the previous tokens. Received: inputs=None."
            )
        self.input_kernel = self._add_kernel(
            "input", inputs_shape[-1], self.units
        )

    def prepare(self, value, value_mask=None):
        keys = ops.cast(self.value_projection(value), "float32")
        weights = {"score": ops.cast(self.score_kernel, "float32")}
        if self.use_score_bias:
            weights["score_bias"] = self._score_bias()
        return (
            super().prepare(value, value_mask).update({"keys": keys}, weights)
        )

    def _score_bias(self):
        """Returns the bias of the score, float32, with a gradient of zero."""
        # The softmax does not depend on the bias. Its computed gradient would
        # be rounding noise instead of zero, and Adam would amplify that.
        bias = ops.cast(self.score_bias, "float32")
        return ops.stop_gradient(bias) + 0.0 * bias

    def project(self, inputs, training=False):
        """Projects the previous tokens for the queries of all steps.

        Args:
            inputs: Embedded tokens, `(..., E)`.
            training: Whether to draw noise, in attentions that use it.

        Returns:
            `(..., query_units)`, float32; `None` without `reads_words`.
        """
        return self._read_words(inputs) if self.reads_words else None

    def _read_words(self, inputs):
        """Multiplies the tokens by their kernel, `(..., units)`, float32."""
        return multiply(inputs, self.input_kernel, self.compute_dtype)

    def step(self, query, state, memory, read=None):
        """Attends with one query per sentence, or per beam of a search.

        In a search, all tensors but the memory have an axis of K beams after
        the batch axis.

        Args:
            query: From `combine`, `(B, query_units)`, float32. A cell computes
                the product with `query_matrix` together with its own products.
            state: `()`; a subclass may have a state.
            memory: From `prepare`.
            read: Optional second weights of the values, `(B, S)`, which a cell
                computes itself. The same product applies them.

        Returns:
            `(context, log_weights, state)`: `(B, value_dim)`, and `(B, S)`,
            the logs of the attention weights, about `MASKED` on padding.
            With `read` the context is `[attended ; read]`.
        """
        keys = expand_beams(memory.sentences["keys"], query)
        hidden = keys + ops.expand_dims(query, -2)
        hidden = self._add_state(hidden, state, memory)
        scores = ops.squeeze(self._scores(hidden, memory), -1)
        scores = self._add_to_scores(scores, state, memory)
        context, log_weights, weights = self._read(scores, memory, read)
        return context, log_weights, self._next_state(state, weights)

    def _scores(self, hidden, memory):
        """Computes the scores from the hidden layer before its `tanh`.

        Args:
            hidden: `(..., U)`.
            memory: From `prepare`.

        Returns:
            `(..., k)`, with k columns in the kernel of the score.
        """
        scores = apply_to_rows(
            lambda rows: ops.matmul(ops.tanh(rows), memory.weights["score"]),
            hidden,
        )
        if self.use_score_bias:
            scores = scores + memory.weights["score_bias"]
        return scores

    def _add_state(self, hidden, state, memory):
        """Adds a subclass's state before the `tanh`."""
        return hidden

    def _add_to_scores(self, scores, state, memory):
        """Adds a subclass's state after the `tanh`."""
        return scores
