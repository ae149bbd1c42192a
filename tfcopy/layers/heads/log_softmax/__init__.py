"""The log-softmax of one word, and of all in the mean, with their gradients.

The largest tensors of a training step are the logits and their gradient.
Each backend has its own file, to access them as little as possible.
"""

import keras

if keras.backend.backend() == "tensorflow":
    from tfcopy.layers.heads.log_softmax.tensorflow_log_softmax import (
        log_softmax_at,
        mean_log_softmax,
    )
else:
    from tfcopy.layers.heads.log_softmax.keras_log_softmax import (
        log_softmax_at,
        mean_log_softmax,
    )

__all__ = ["log_softmax_at", "mean_log_softmax"]
