"""`log_softmax_at` and `mean_log_softmax` for any backend."""

from keras import ops


def log_softmax_at(logits, ids):
    """`log_softmax(logits)[..., ids]`; see `tensorflow_log_softmax`."""
    logits = ops.cast(logits, "float32")
    return -ops.sparse_categorical_crossentropy(ids, logits, from_logits=True)


def mean_log_softmax(logits, ids):
    """That of all words, and some of it; see `tensorflow_log_softmax`."""
    log_probs = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
    some = ops.take_along_axis(log_probs, ids, axis=-1)
    return ops.mean(log_probs, axis=-1), some
