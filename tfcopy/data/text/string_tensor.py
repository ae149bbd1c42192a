"""From Python's strings to TensorFlow's."""

from collections.abc import Iterable

import tensorflow as tf


def string_tensor(texts: Iterable) -> tf.Tensor:
    """Strings or bytes to a string tensor; lone surrogates become `?`."""
    return tf.constant(
        [
            text if isinstance(text, bytes) else text.encode("utf-8", "replace")
            for text in texts
        ],
        tf.string,
    )
