"""The loop of a search over steps, for a whole batch.

A search is cheapest if sentences that are done leave the batch. XLA, and so
JAX, knows static shapes alone: each backend has its own file.
"""

import keras

if keras.backend.backend() == "tensorflow":
    from tfcopy.decoding.batch_loop.shrinking_batch import run
else:
    from tfcopy.decoding.batch_loop.static_batch import run

__all__ = ["run"]
