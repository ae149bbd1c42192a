"""`log_softmax_at` for any backend."""

from keras import ops


def log_softmax_at(logits, ids):
    """`log_softmax(logits)[..., ids]`; see `tensorflow_log_softmax`."""
    logits = ops.cast(logits, "float32")
    return -ops.sparse_categorical_crossentropy(ids, logits, from_logits=True)
