"""The log-softmax of one word, and of all in the mean, with their gradients.

The largest tensors of a training step are the logits and their gradient. On
TensorFlow a file of its own accesses them as little as possible.
"""

import keras
from keras import ops

if keras.backend.backend() == "tensorflow":
    from tfcopy.layers.heads.tensorflow_log_softmax import (
        log_softmax_at,
        mean_log_softmax,
    )
else:

    def log_softmax_at(logits, ids):
        """`log_softmax(logits)[..., ids]`; see `tensorflow_log_softmax`."""
        logits = ops.cast(logits, "float32")
        return -ops.sparse_categorical_crossentropy(
            ids, logits, from_logits=True
        )

    def mean_log_softmax(logits, ids):
        """That of all words, and some of it; see `tensorflow_log_softmax`."""
        log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
        some = ops.take_along_axis(log_probs, ids, axis=-1)
        return ops.mean(log_probs, axis=-1), some


__all__ = ["log_softmax_at", "mean_log_softmax"]
