"""Head that scores the start or the end of a span of text, and best spans.

A span consists of the words from `start` to `end`, exclusive. The scores of
best spans may be normalised or not.

Shapes: B batch, N words of the context, D size.
"""

import keras
from keras import ops

from tfcopy.layers.configured import Configured, Initializer, check_positive
from tfcopy.layers.copying import MASKED
from tfcopy.layers.products import dense
from tfcopy.layers.tensors import argmax, or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class SpanHead(Configured, keras.layers.Layer):
    """Head that scores each word with a network of one hidden layer.

    `ReLU(x W_1 + b_1) w_2 + b_2`. The scores are not normalised.

    ```python
    scores = layers.SpanHead(5)(annotations, mask)  # (2, 4)
    ```

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
        units: int,
        dropout: float = 0.0,
        kernel_initializer: Initializer = "glorot_uniform",
        seed: int | None = None,
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


def independent_spans(start, end):
    """Returns the best start and the best end, chosen independently.

    ```python
    start = np.array([[0.0, 2.0, 1.0]])
    end = np.array([[3.0, 0.0, 1.0]])
    decoding.independent_spans(start, end)  # from 1 to 0: empty
    ```

    Args:
        start: Scores of starts, `(B, N)`.
        end: Scores of ends, `(B, N)`.

    Returns:
        `(start, end)`, int32, `(B,)`. The span is empty if the end is not after
        the start. Among equal scores, the first position is chosen.

    Reference:
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), the
        authors' code.
    """
    return argmax(start), argmax(end)


def joint_spans(start, end, max_length=30):
    """Returns the start and the end with the highest sum of scores.

    `argmax start[i] + end[j]` over all `i < j <= i + max_length`. The span is
    never empty. It has no padding if the scores of padding are very low (-1e9)
    and the text has at least two words, where `EOS` may be one of them.

    ```python
    start = np.array([[0.0, 2.0, 1.0]])
    end = np.array([[3.0, 0.0, 1.0]])
    decoding.joint_spans(start, end)  # from 1 to 2
    ```

    Args:
        start: Scores of starts, `(B, N)`.
        end: Scores of ends, `(B, N)`, finite.
        max_length: Positive integer, the maximum number of words of a span.

    Returns:
        `(start, end)`, int32, `(B,)`. Among equal scores, the first start is
        chosen, then the first end.

    Raises:
        ValueError: If `max_length` is less than 1.
    """
    check_positive("max_length", max_length)
    # No span ends beyond the text.
    end = ops.pad(end, [[0, 0], [0, max_length]], constant_values=-float("inf"))
    first = ops.expand_dims(ops.arange(ops.shape(start)[1]), 1)
    places = first + ops.arange(1, max_length + 1)  # (N, max_length)
    scores = ops.expand_dims(start, -1) + ops.take(end, places, axis=1)
    best = argmax(ops.reshape(scores, (ops.shape(start)[0], -1)))
    start = best // max_length
    return start, start + 1 + best % max_length
