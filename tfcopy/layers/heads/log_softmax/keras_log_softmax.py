"""`log_softmax_at` and `mean_log_softmax` for any backend."""

from keras import ops


def log_softmax_at(logits, ids):
    """`log_softmax(logits)[..., ids]`; see `tensorflow_log_softmax`."""
    logits = ops.cast(logits, "float32")
    return -ops.sparse_categorical_crossentropy(ids, logits, from_logits=True)


def mean_log_softmax(logits):
    """The mean of `log_softmax(logits)`; see `tensorflow_log_softmax`."""
    logits = ops.cast(logits, "float32")
    return ops.mean(logits, axis=-1) - ops.logsumexp(logits, axis=-1)
