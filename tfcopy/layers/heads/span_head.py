"""Head that scores the start or the end of a span of text.

Shapes: B batch, N words of the context, D size.
"""

import keras
from keras import ops

from tfcopy.layers.configured import Configured
from tfcopy.layers.copying import MASKED
from tfcopy.layers.products import dense
from tfcopy.layers.tensors import or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class SpanHead(Configured, keras.layers.Layer):
    """Head that scores each word with a network of one hidden layer.

    `ReLU(x W_1 + b_1) w_2 + b_2`. The scores are not normalised.

    Args:
        units: Positive integer, the size of the hidden layer.
        dropout: Dropout rate of the hidden layer.
        kernel_initializer: Initializer of both matrices.
        seed: Optional integer, of the dropout.

    Call arguments:
        inputs: `(B, N, D)`.
        mask: Boolean, `(B, N)`.

    Returns:
        `(B, N)`, float32; `MASKED`, -1e9, where the mask is `False`.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.1; separate heads for start and end are from the authors' code.
    """

    def __init__(
        self,
        units,
        dropout=0.0,
        kernel_initializer="glorot_uniform",
        seed=None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.keep_arguments(locals())
        self.supports_masking = True
        # Copies: an initializer repeats its values.
        initializer = self.kernel_initializer.clone
        self.hidden = dense(
            self, units, "hidden", initializer(), activation="relu"
        )
        self.score = dense(self, 1, "score", initializer())
        self.dropout_layer = keras.layers.Dropout(
            dropout, seed=seed, dtype=self.dtype_policy
        )

    def build(self, inputs_shape, mask_shape=None):
        self.hidden.build(inputs_shape)
        self.score.build((*inputs_shape[:-1], self.units))

    def call(self, inputs, mask=None, training=False):
        mask = or_all(mask, inputs)
        hidden = self.dropout_layer(self.hidden(inputs), training=training)
        scores = ops.squeeze(self.score(hidden), axis=-1)
        return ops.where(mask, ops.cast(scores, "float32"), MASKED)

    def compute_mask(self, inputs, previous_mask):
        """Returns `None`: masks are arguments, and outputs have none."""
        return None
