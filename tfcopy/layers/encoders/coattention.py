"""Two texts that attend to each other.

Shapes: B batch, N words of the context, M words of the question, D size.
"""

import keras
from keras import ops

from tfcopy.layers.masked_softmax import masked_softmax


@keras.saving.register_keras_serializable(package="tfcopy")
class Coattention(keras.layers.Layer):
    """Attention from each word of a context to a question, and back.

        L = C Q^T
        A_C = softmax of L over the question,  A_Q = over the context
        [C ; A_C Q ; A_C S]  with  S = A_Q^T C

    `S` summarises the context for each word of the question. The layer has no
    weights: the paper's `tanh(Q W + b)` comes before it. The softmax is in
    float32.

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        context: `(B, N, D)`, C.
        question: `(B, M, D)`, Q.
        context_mask: Boolean, `(B, N)`.
        question_mask: Boolean, `(B, M)`.

    Returns:
        `(annotations, context_attention, question_attention)`, float32:
        `(B, N, 3 * D)`; `A_C`, `(B, N, M)`, whose rows are distributions
        over the question; and `A_Q`, `(B, N, M)`, whose columns are
        distributions over the context. Padding in the text that is summed over
        gets no weight. A text that is all padding gets uniform weights.

    Reference:
        [Xiong et al., 2017](https://arxiv.org/abs/1611.01604), section 2.2,
        without sentinels and without the recurrent fusion, as in
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.1.
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def call(self, context, question, context_mask, question_mask):
        question_mask = ops.expand_dims(question_mask, 1)  # (B, 1, M)
        context_mask = ops.expand_dims(context_mask, 2)  # (B, N, 1)
        scores = self._multiply(context, ops.transpose(question, (0, 2, 1)))
        context_attention = masked_softmax(scores, question_mask, axis=2)
        question_attention = masked_softmax(scores, context_mask, axis=1)
        weights = ops.transpose(question_attention, (0, 2, 1))  # (B, M, N)
        seen = self._multiply(weights, context)  # (B, M, D)
        both = ops.concatenate(
            [ops.cast(question, "float32"), seen], axis=-1
        )  # (B, M, 2D)
        attended = self._multiply(context_attention, both)  # (B, N, 2D)
        annotations = ops.concatenate(
            [ops.cast(context, "float32"), attended], axis=-1
        )
        return annotations, context_attention, question_attention

    def _multiply(self, x, y):
        x, y = (ops.cast(z, self.compute_dtype) for z in (x, y))
        return ops.cast(ops.matmul(x, y), "float32")

    def compute_output_spec(
        self, context, question, context_mask, question_mask
    ):
        *leading, size = context.shape
        attention = keras.KerasTensor((*leading, question.shape[1]), "float32")
        return (
            keras.KerasTensor((*leading, 3 * size), "float32"),
            attention,
            keras.KerasTensor(attention.shape, "float32"),
        )

    def compute_mask(self, inputs, previous_mask):
        """The outputs carry no Keras mask: it is passed as an argument."""
        return None
