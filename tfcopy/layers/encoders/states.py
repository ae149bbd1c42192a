"""Layers after an encoder: first state of the decoder, one-hot positions.

Shapes: B batch, S source steps, E input size, C annotation size, P positions.
"""

import keras
from keras import ops

from tfcopy.layers import configured
from tfcopy.layers.tensors import or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class MeanInitialState(configured.Configured, configured.Unmasked):
    """First decoder state `tanh(W mean_j annotations_j + b)`, without padding.

    Args:
        units: Positive integer, the size of the state.
        kernel_initializer: Initializer of `W`.

    Call arguments:
        annotations: `(B, S, C)`.
        mask: Boolean, `(B, S)`.
        final: Ignored; the encoder's last states.

    Returns:
        `(B, units)`, float32.

    Reference:
        The dl4mt tutorial, session 2.
    """

    def __init__(self, units, kernel_initializer="glorot_uniform", **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        self.dense = keras.layers.Dense(
            units,
            activation="tanh",
            kernel_initializer=self.kernel_initializer,
            dtype=self.dtype_policy,
            name="projection",
        )

    def build(self, annotations_shape, mask_shape=None, final_shape=None):
        self.dense.build((annotations_shape[0], annotations_shape[-1]))

    def call(self, annotations, mask=None, final=None):
        mask = or_all(mask, annotations)
        keep = ops.cast(ops.expand_dims(mask, -1), "float32")
        total = ops.sum(ops.cast(annotations, "float32") * keep, axis=1)
        count = ops.maximum(ops.sum(keep, axis=1), 1.0)
        return ops.cast(self.dense(total / count), "float32")


@keras.saving.register_keras_serializable(package="tfcopy")
class StateReduction(configured.Configured, configured.Unmasked):
    """First decoder state: `relu(W_i final_i + b_i)` for each part `i`.

    For an LSTM, part 0 is the cell state and part 1 the hidden state, each with
    both directions. The result is the decoder's `[cell ; hidden]`.

    ```python
    state = layers.StateReduction(5)(annotations, mask, final)  # (2, 10)
    ```

    Args:
        units: Positive integer, the size of each reduced part.
        parts: Positive integer, the number of equal parts of `final`.
        activation: Activation of the reduced parts.
        kernel_initializer: Initializer of each `W_i`.
        bias_initializer: Initializer of each `b_i`.

    Call arguments:
        annotations: Ignored, `(B, S, C)`.
        mask: Ignored, `(B, S)`.
        final: The encoder's last states, `(B, F)`.

    Returns:
        `(B, parts * units)`, float32.

    Reference:
        [See et al., 2017](https://arxiv.org/abs/1704.04368), in the authors'
        code (`_reduce_states`); not in the text.
    """

    def __init__(
        self,
        units: int,
        parts: int = 2,
        activation: str = "relu",
        kernel_initializer: configured.Initializer = "glorot_uniform",
        bias_initializer: configured.Initializer = "zeros",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        self.activation = keras.activations.get(activation)
        self.reductions = [
            keras.layers.Dense(
                units,
                activation=self.activation,
                kernel_initializer=configured.another(
                    self.kernel_initializer, i
                ),
                bias_initializer=configured.another(self.bias_initializer, i),
                dtype=self.dtype_policy,
                name=f"reduction_{i}",
            )
            for i in range(parts)
        ]

    def build(self, annotations_shape, mask_shape=None, final_shape=None):
        if final_shape[-1] % self.parts:
            raise ValueError(
                f"The size of `final` must be a multiple of parts={self.parts}."
                f" Received: shape={final_shape}."
            )
        for reduction in self.reductions:
            reduction.build((final_shape[0], final_shape[-1] // self.parts))

    def call(self, annotations, mask, final):
        parts = ops.split(final, self.parts, axis=-1)
        reduced = [f(x) for f, x in zip(self.reductions, parts)]
        return ops.cast(ops.concatenate(reduced, axis=-1), "float32")

    def get_config(self):
        activation = keras.activations.serialize(self.activation)
        return {**super().get_config(), "activation": activation}


@keras.saving.register_keras_serializable(package="tfcopy")
class PositionOneHot(configured.Configured, configured.Unmasked):
    """Layer that appends the one-hot position to each annotation of an encoder.

    The authors' code of CopyNet does this for the synthetic rules, with 57
    positions; the paper does not mention it. Padding and all positions from
    `positions` on get zeros.

    ```python
    encoder = layers.PositionOneHot(layers.BidirectionalGRU(4), positions=3)
    annotations, final = encoder(embedded, mask)  # (2, 4, 11), (2, 8)
    ```

    Args:
        encoder: An encoder, such as `BidirectionalGRU`.
        positions: Positive integer, P.

    Call arguments:
        inputs: Embedded tokens, `(B, S, E)`.
        mask: Boolean, `(B, S)`.

    Returns:
        `(annotations, final)`: `(B, S, C + P)`, and the encoder's last states
        unchanged.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), section 5.1.
    """

    layer_arguments = ("encoder",)

    def __init__(self, encoder: keras.Layer, positions: int = 57, **kwargs):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        configured.check_positive("positions", positions)

    def build(self, inputs_shape, mask_shape=None):
        if not self.encoder.built:
            self.encoder.build(inputs_shape, mask_shape)

    def call(self, inputs, mask=None):
        mask = or_all(mask, inputs)
        annotations, final = self.encoder(inputs, mask)
        steps = ops.expand_dims(ops.arange(ops.shape(annotations)[1]), 1)
        is_at = ops.equal(steps, ops.arange(self.positions))  # (S, P)
        one_hot = is_at & ops.expand_dims(mask, -1)  # (B, S, P)
        one_hot = ops.cast(one_hot, annotations.dtype)
        return ops.concatenate([annotations, one_hot], axis=-1), final

    def compute_output_spec(self, inputs, mask=None):
        annotations, final = self.encoder.compute_output_spec(inputs, mask)
        *leading, size = annotations.shape
        shape = (*leading, size + self.positions)
        return keras.KerasTensor(shape, annotations.dtype), final
