"""Matching of two texts: soft alignment, coattention, pooling.

Shapes: B batch, N words of the premise or context, M words of the hypothesis or
question, D size.
"""

import keras
from keras import ops

from tfcopy.layers.configured import Unmasked
from tfcopy.layers.copying import MASKED
from tfcopy.layers.products import multiply
from tfcopy.layers.tensors import masked_softmax, or_all


@keras.saving.register_keras_serializable(package="tfcopy")
class SoftAlignment(Unmasked):
    """Layer that compares each word of a sentence with its soft alignment.

        E = a b^T
        a~ = softmax of E over b, times b;  b~ = softmax over a, times a
        [a ; a~ ; a - a~ ; a * a~],  [b ; b~ ; b - b~ ; b * b~]

    ```python
    align = layers.SoftAlignment()
    premise, hypothesis = align(embedded, embedded, mask, mask)  # (2, 4, 24)
    ```

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        premise: `(B, N, D)`, a.
        hypothesis: `(B, M, D)`, b.
        premise_mask: Boolean, `(B, N)`.
        hypothesis_mask: Boolean, `(B, M)`.

    Returns:
        `(premise, hypothesis)`: `(B, N, 4 * D)` and `(B, M, 4 * D)`, float32.
        Padding gets no weight. A sentence that is all padding gets uniform
        weights.

    Reference:
        [Chen et al., 2017](https://arxiv.org/abs/1609.06038), eq. 11-15.
    """

    def call(self, premise, hypothesis, premise_mask, hypothesis_mask):
        dtype = self.compute_dtype
        scores = multiply(premise, _transpose(hypothesis), dtype)  # (B, N, M)
        over_hypothesis = masked_softmax(
            scores, ops.expand_dims(hypothesis_mask, 1), axis=2
        )
        over_premise = masked_softmax(
            scores, ops.expand_dims(premise_mask, 2), axis=1
        )
        over_premise = _transpose(over_premise)
        return (
            _compare(premise, multiply(over_hypothesis, hypothesis, dtype)),
            _compare(hypothesis, multiply(over_premise, premise, dtype)),
        )


def _transpose(x):
    return ops.transpose(x, (0, 2, 1))


def _compare(words, aligned):
    words = ops.cast(words, "float32")
    return ops.concatenate(
        [words, aligned, words - aligned, words * aligned], axis=-1
    )


@keras.saving.register_keras_serializable(package="tfcopy")
class Coattention(Unmasked):
    """Attention between each word of a context and each word of a question.

        L = C Q^T
        A_C = softmax of L over the question,  A_Q = over the context
        [C ; A_C Q ; A_C S]  with  S = A_Q^T C

    `S` summarises the context for each word of the question. The layer has no
    weights; apply the paper's `tanh(Q W + b)` before it. The softmax is in
    float32.

    ```python
    attend = layers.Coattention()
    both, _, _ = attend(embedded, embedded, mask, mask)  # (2, 4, 18)
    ```

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
        distributions over the context. Padding gets no weight in these
        distributions. A text that is all padding gets uniform weights.

    Reference:
        [Xiong et al., 2017](https://arxiv.org/abs/1611.01604), section 2.2,
        without sentinels and without the recurrent fusion, as in
        [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286), section
        4.1.
    """

    def call(self, context, question, context_mask, question_mask):
        question_mask = ops.expand_dims(question_mask, 1)  # (B, 1, M)
        context_mask = ops.expand_dims(context_mask, 2)  # (B, N, 1)
        dtype = self.compute_dtype
        scores = multiply(context, _transpose(question), dtype)
        context_attention = masked_softmax(scores, question_mask, axis=2)
        question_attention = masked_softmax(scores, context_mask, axis=1)
        weights = _transpose(question_attention)  # (B, M, N)
        seen = multiply(weights, context, dtype)  # (B, M, D)
        both = ops.concatenate(
            [ops.cast(question, "float32"), seen], axis=-1
        )  # (B, M, 2D)
        attended = multiply(context_attention, both, dtype)  # (B, N, 2D)
        annotations = ops.concatenate(
            [ops.cast(context, "float32"), attended], axis=-1
        )
        return annotations, context_attention, question_attention


@keras.saving.register_keras_serializable(package="tfcopy")
class MaskedPooling(Unmasked):
    """Layer that pools steps without padding: average and maximum.

    ```python
    pooled = layers.MaskedPooling()(annotations, mask)  # (2, 16)
    ```

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        inputs: `(B, S, D)`.
        mask: Boolean, `(B, S)`.

    Returns:
        `[average ; maximum]`, `(B, 2 * D)`, float32; zeros for a sentence
        that is all padding.

    Reference:
        [Chen et al., 2017](https://arxiv.org/abs/1609.06038), eq. 18-20.
    """

    def call(self, inputs, mask=None):
        mask = or_all(mask, inputs)
        inputs = ops.cast(inputs, "float32")
        mask = ops.expand_dims(mask, -1)  # (B, S, 1)
        length = ops.sum(ops.cast(mask, "float32"), axis=1)  # (B, 1)
        total = ops.sum(ops.where(mask, inputs, 0.0), axis=1)
        maximum = ops.max(ops.where(mask, inputs, MASKED), axis=1)
        return ops.concatenate(
            [
                total / ops.maximum(length, 1.0),
                ops.where(length > 0, maximum, 0.0),
            ],
            axis=-1,
        )
