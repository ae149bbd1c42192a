"""Two sentences, each word beside its counterpart in the other.

Shapes: B batch, N words of the premise, M words of the hypothesis, D size.
"""

import keras
from keras import ops

from tfcopy.layers.masked_softmax import masked_softmax


@keras.saving.register_keras_serializable(package="tfcopy")
class SoftAlignment(keras.layers.Layer):
    """Compares each word of a sentence with its counterpart in the other.

        E = a b^T
        a~ = softmax of E over b, times b;  b~ = softmax over a, times a
        [a ; a~ ; a - a~ ; a * a~],  [b ; b~ ; b - b~ ; b * b~]

    Args:
        **kwargs: Arguments of `keras.layers.Layer`.

    Call arguments:
        premise: `(B, N, D)`, a.
        hypothesis: `(B, M, D)`, b.
        premise_mask: Boolean, `(B, N)`.
        hypothesis_mask: Boolean, `(B, M)`.

    Returns:
        `(premise, hypothesis)`: `(B, N, 4 * D)` and `(B, M, 4 * D)`, float32.
        Padding gets no weight; a sentence that is all padding, uniform
        weights.

    Reference:
        [Chen et al., 2017](https://arxiv.org/abs/1609.06038), eq. 11-15.
    """

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def call(self, premise, hypothesis, premise_mask, hypothesis_mask):
        scores = self._multiply(premise, _transpose(hypothesis))  # (B, N, M)
        over_hypothesis = masked_softmax(
            scores, ops.expand_dims(hypothesis_mask, 1), axis=2
        )
        over_premise = masked_softmax(
            scores, ops.expand_dims(premise_mask, 2), axis=1
        )
        return (
            _compare(premise, self._multiply(over_hypothesis, hypothesis)),
            _compare(
                hypothesis, self._multiply(_transpose(over_premise), premise)
            ),
        )

    def _multiply(self, x, y):
        x, y = (ops.cast(z, self.compute_dtype) for z in (x, y))
        return ops.cast(ops.matmul(x, y), "float32")

    def compute_output_spec(
        self, premise, hypothesis, premise_mask, hypothesis_mask
    ):
        return tuple(
            keras.KerasTensor((*x.shape[:-1], 4 * x.shape[-1]), "float32")
            for x in (premise, hypothesis)
        )

    def compute_mask(self, inputs, previous_mask):
        """The outputs carry no Keras mask: it is passed as an argument."""
        return None


def _transpose(x):
    return ops.transpose(x, (0, 2, 1))


def _compare(words, aligned):
    words = ops.cast(words, "float32")
    return ops.concatenate(
        [words, aligned, words - aligned, words * aligned], axis=-1
    )
