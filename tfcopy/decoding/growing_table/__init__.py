"""A table that a loop adds rows to.

On TensorFlow a loop copies a tensor that it changes, but not a `TensorArray`;
XLA, and so JAX, copies neither and knows static shapes alone: each backend has
its own file.
"""

import keras

if keras.backend.backend() == "tensorflow":
    from tfcopy.decoding.growing_table.tensorflow_table import (
        content,
        extend,
        make,
    )
else:
    from tfcopy.decoding.growing_table.keras_table import content, extend, make

__all__ = ["content", "extend", "make"]
