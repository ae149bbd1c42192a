"""CopyNet's head: one softmax over generate mode and copy mode.

Shapes: B batch, T target steps, S source steps, V target vocabulary, C value
size, D decoder units.
"""

import keras
from keras import ops

from tfcopy.layers import copying
from tfcopy.layers.heads.softmax_head import SoftmaxHead


def copy_keys(annotations, kernel):
    """Computes `tanh(h_j W_c)`, the keys of the copy scores.

    The score of position j is the product of its key with a state; it is
    unbounded. The keys are the same at all steps.

    Args:
        annotations: `(B, S, C)`.
        kernel: `W_c`, `(C, D)`, with the dtype of the annotations.

    Returns:
        `(B, S, D)`.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 8.
    """
    return ops.tanh(ops.matmul(annotations, kernel))


@keras.saving.register_keras_serializable(package="tfcopy")
class CopyNetHead(SoftmaxHead):
    """Head with one softmax over the vocabulary and the source positions.

        psi_g(v) = features . w_v + b_v          a score for each word
        psi_c(j) = tanh(h_j W_c) . hidden        a score for each position
        log Z = logsumexp([psi_g ; psi_c])

    There is no switch: the two modes compete for the same mass. The probability
    of a word sums over both modes; see `copying.marginal_log_likelihood`.

    `SelectiveReadGRUCell` computes the scores `psi_c` itself, and outputs them
    as `copy_scores`. With any other cell the head has its own `W_c`.

    ```python
    head = layers.CopyNetHead(9)
    distribution = head(features, decoded, annotations, mask)
    ```

    Args:
        vocabulary_size: Positive integer.
        kernel_initializer: Initializer of the output matrix and of `W_c`.

    Call arguments: As `SoftmaxHead`.

    Returns:
        `CopyDistribution`.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 4-8.
    """

    def build(self, features_shape, decoded_shape, annotations_shape=None):
        super().build(features_shape, decoded_shape)
        self.copy_kernel = None
        if "copy_scores" not in decoded_shape:
            sizes = annotations_shape[-1], decoded_shape["hidden"][-1]
            self.copy_kernel = self._add_kernel("copy", *sizes)

    def copy_scores(self, decoded, annotations, source_mask):
        """Computes `psi_c`, `(B, T, S)`, float32; about `MASKED` on padding."""
        if self.copy_kernel is None:
            scores = decoded["copy_scores"]
        else:
            keys = copy_keys(*map(self._cast, (annotations, self.copy_kernel)))
            hidden = self._cast(decoded["hidden"])
            scores = ops.matmul(hidden, ops.transpose(keys, (0, 2, 1)))
        scores = ops.cast(scores, "float32")
        return ops.where(
            ops.expand_dims(source_mask, 1), scores, copying.MASKED
        )

    def mix(self, logits, decoded, annotations, source_mask, training=False):
        scores = self.copy_scores(decoded, annotations, source_mask)
        generate = copying.log_normalizer(logits)
        total = copying.log_add(generate, ops.logsumexp(scores, axis=-1))
        copies = ops.where(
            ops.expand_dims(source_mask, 1),
            scores - ops.expand_dims(total, -1),
            copying.MASKED,
        )
        return generate - total, copies

    def log_likelihood(self, batch, distribution):
        """Computes `log p` of tokens, generated or copied from any position.

        Args:
            batch: Dict of `target_ids` `(B, T)` and `source_copy_ids`
                `(B, S)`, extended ids.
            distribution: The head's `CopyDistribution`.

        Returns:
            `(B, T)`.
        """
        return copying.marginal_log_likelihood(
            distribution, batch["target_ids"], batch["source_copy_ids"]
        )
