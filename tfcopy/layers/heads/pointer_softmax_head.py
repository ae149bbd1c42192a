"""Pointer softmax head, and its noisy activation.

Shapes: B batch, T target steps, S source steps, H switch units.
"""

import math

import keras
from keras import ops

from tfcopy.layers.attention.pointing_attention import masked_log_softmax
from tfcopy.layers.configured import Configured, Initializer, check_choice
from tfcopy.layers.copying import MASKED, observed_log_likelihood
from tfcopy.layers.heads.softmax_head import SoftmaxHead
from tfcopy.layers.products import Dense, dense


@keras.saving.register_keras_serializable(package="tfcopy")
class NoisyTanh(Configured, keras.layers.Layer):
    """Activation layer: a hard tanh with noise where it saturates.

        hard(x) = max(-1, min(1, x));  gap = hard(x) - x
        sigma = scale * (sigmoid(p * gap) - 1/2)^2
        alpha * hard(x) + (1 - alpha) * x - sgn(x) sgn(1 - alpha) sigma noise

    In training, `noise` is drawn for each unit and call. Otherwise its mean is
    used.

    ```python
    switch = layers.NoisyTanh(seed=1)(features, training=True)
    ```

    Args:
        alpha: Weight of the hard part; above 1 the slope is negative where
            the unit saturates.
        scale: The constant `c` of the paper.
        half_normal: Whether the noise is `|N(0, 1)|` rather than `N(0, 1)`.
        seed: Optional integer.

    Call arguments:
        x: `(..., units)`.
        training: Whether to draw noise, instead of its mean.

    Returns:
        `(..., units)`.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.00391), eq. 10-14.
    """

    def __init__(
        self,
        alpha: float = 1.15,
        scale: float = 0.5,
        half_normal: bool = True,
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        self.seed_generator = keras.random.SeedGenerator(seed)

    def build(self, input_shape):
        self.p = self.add_weight(
            name="p", shape=(input_shape[-1],), initializer="ones"
        )

    def call(self, x, training=False):
        hard = ops.clip(x, -1.0, 1.0)
        gap = ops.cast(self.p, x.dtype) * (hard - x)
        sigma = self.scale * ops.square(ops.sigmoid(gap) - 0.5)
        direction = -ops.sign(x) * math.copysign(1.0, 1.0 - self.alpha)
        value = self.alpha * hard + (1.0 - self.alpha) * x
        return value + direction * sigma * self._noise(x, training)

    def _noise(self, x, training):
        if not training:
            return math.sqrt(2.0 / math.pi) if self.half_normal else 0.0
        noise = keras.random.normal(
            ops.shape(x), dtype=x.dtype, seed=self.seed_generator
        )
        return ops.abs(noise) if self.half_normal else noise


@keras.saving.register_keras_serializable(package="tfcopy")
class PointerSoftmaxHead(SoftmaxHead):
    """Head with a shortlist softmax, a location softmax and a switch.

        u0 = [state ; context]
        h1 = phi(W1 u0 + b1);  h2 = h1 + phi(W2 h1 + b2)
        p(generate) = sigmoid(temperature * (v . h2 + b))
        p(generate word) = p(generate) softmax(logits)
        p(point at j) = (1 - p(generate)) attention_j

    The paper sets `b` to -1 "to lean to the shortlist". This contradicts its
    definition of the switch. Here definition and intention are kept, with
    `switch_bias=1`.

    ```python
    head = layers.PointerSoftmaxHead(9)
    distribution = head(features, decoded, annotations, mask)
    ```

    Args:
        vocabulary_size: Size of the shortlist.
        switch_units: H; the width of the features if `None`.
        switch_activation: `"noisy_tanh"` (the paper's translation system),
            or the name of a Keras activation.
        switch_bias: Initial `b`.
        temperature: Inverse temperature of the switch; 2 in the paper's toy
            task.
        pointer: `"attention"` points with the attention weights, `"separate"`
            with a separate pointer network.
        kernel_initializer: Initializer of all matrices.
        seed: Optional integer, of the switch's noise.

    Call arguments: As `SoftmaxHead`.

    Returns:
        `CopyDistribution`.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.08148), section 4.
    """

    inherits = frozenset(
        ("seed", "switch_activation", "switch_bias", "switch_units")
    )
    merge = "max"

    def __init__(
        self,
        vocabulary_size: int,
        switch_units: int | None = None,
        switch_activation: str = "noisy_tanh",
        switch_bias: float = 1.0,
        temperature: float = 1.0,
        pointer: str = "attention",
        kernel_initializer: Initializer = "glorot_uniform",
        seed: int | None = None,
        **kwargs,
    ):
        super().__init__(vocabulary_size, kernel_initializer, **kwargs)
        self.keep_arguments(locals())
        check_choice("pointer", pointer, ("attention", "separate"))

    def build(self, features_shape, decoded_shape, annotations_shape=None):
        super().build(features_shape, decoded_shape)
        units = self.switch_units or features_shape[-1]
        leading = tuple(features_shape[:-1])
        self.hidden1 = self._dense(units, "switch_hidden1")
        size = decoded_shape["state"][-1] + decoded_shape["context"][-1]
        self.hidden1.build((*leading, size))
        self.hidden2 = self._dense(units, "switch_hidden2")
        self.hidden2.build((*leading, units))
        self.activations = [self._activation(i) for i in (1, 2)]
        for activation in self.activations:
            activation.build((*leading, units))
        # In float32, since the head takes its log.
        self.switch = Dense(
            1,
            kernel_initializer=self.kernel_initializer,
            bias_initializer=keras.initializers.Constant(self.switch_bias),
            dtype="float32",
            name="switch",
        )
        self.switch.build((*leading, units))
        if self.pointer == "separate":
            self.pointer_query = self._dense(units, "pointer_query")
            self.pointer_query.build(decoded_shape["state"])
            self.pointer_value = self._dense(
                units, "pointer_value", use_bias=False
            )
            self.pointer_value.build(annotations_shape)
            self.pointer_score = self.add_weight(
                name="pointer_score",
                shape=(units, 1),
                initializer=self.kernel_initializer,
            )

    def switch_logit(self, decoded, training=False):
        """Computes the scaled logit of the switch, `(B, T)`, float32."""
        hidden = ops.concatenate(
            [decoded["state"], decoded["context"]], axis=-1
        )
        hidden = self.activations[0](self.hidden1(hidden), training=training)
        hidden = hidden + self.activations[1](
            self.hidden2(hidden), training=training
        )
        logit = self.switch(ops.cast(hidden, "float32"))
        return self.temperature * ops.squeeze(logit, -1)

    def location_log_probs(self, decoded, annotations, source_mask):
        """Computes the log of the location softmax, `(B, T, S)`, float32."""
        if self.pointer == "attention":
            return ops.cast(decoded["attention"], "float32")
        query = ops.expand_dims(self.pointer_query(decoded["state"]), 2)
        value = ops.expand_dims(self.pointer_value(annotations), 1)
        hidden = ops.tanh(ops.cast(query + value, "float32"))  # (B, T, S, H)
        scores = ops.matmul(hidden, ops.cast(self.pointer_score, "float32"))
        mask_bias = ops.where(source_mask, 0.0, MASKED)
        return masked_log_softmax(
            ops.squeeze(scores, -1), ops.expand_dims(mask_bias, 1)
        )

    def mix(self, logits, decoded, annotations, source_mask, training=False):
        switch = self.switch_logit(decoded, training)
        location = self.location_log_probs(decoded, annotations, source_mask)
        point = ops.expand_dims(ops.log_sigmoid(-switch), -1)
        return ops.log_sigmoid(switch), point + location

    def log_likelihood(self, batch, distribution):
        """Computes `log p` of tokens whose labels give their origin.

        Args:
            batch: Dict of `target_ids` and `pointers`, both `(B, T)`, and
                `source_copy_ids` `(B, S)`; see `observed_log_likelihood`.
            distribution: The head's `CopyDistribution`.

        Returns:
            `(B, T)`.
        """
        return observed_log_likelihood(
            distribution,
            batch["target_ids"],
            batch["pointers"],
            batch["source_copy_ids"],
        )

    def _dense(self, units, name, **options):
        return dense(self, units, name, self.kernel_initializer, **options)

    def _activation(self, index):
        if self.switch_activation == "noisy_tanh":
            return NoisyTanh(
                seed=None if self.seed is None else self.seed + index,
                dtype=self.dtype_policy,
                name=f"switch_noisy_tanh{index}",
            )
        return keras.layers.Activation(
            self.switch_activation,
            dtype=self.dtype_policy,
            name=f"switch_activation{index}",
        )
