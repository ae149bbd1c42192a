"""The noisy tanh unit."""

import math

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="tfcopy")
class NoisyTanh(keras.layers.Layer):
    """Hard tanh that adds noise where it saturates.

        hard(x) = max(-1, min(1, x));  gap = hard(x) - x
        sigma = scale * (sigmoid(p * gap) - 1/2)^2
        alpha * hard(x) + (1 - alpha) * x - sgn(x) sgn(1 - alpha) sigma noise

    In training, `noise` is drawn for each unit and call; otherwise it is
    replaced by its mean.

    Args:
        alpha: Weight of the hard part; above 1 the slope is negative where
            the unit saturates.
        scale: The constant `c` of the paper.
        half_normal: Whether the noise is `|N(0, 1)|` rather than `N(0, 1)`.
        seed: Optional integer.

    Call arguments:
        x: `(..., units)`.
        training: Whether to draw noise.

    Returns:
        `(..., units)`.

    Reference:
        [Gulcehre et al., 2016](https://arxiv.org/abs/1603.00391), eq. 10-14.
    """

    def __init__(
        self, alpha=1.15, scale=0.5, half_normal=True, seed=None, **kwargs
    ):
        super().__init__(**kwargs)
        self.alpha = alpha
        self.scale = scale
        self.half_normal = half_normal
        self.seed = seed
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

    def get_config(self):
        return {
            **super().get_config(),
            "alpha": self.alpha,
            "scale": self.scale,
            "half_normal": self.half_normal,
            "seed": self.seed,
        }
