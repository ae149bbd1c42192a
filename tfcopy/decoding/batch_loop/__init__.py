"""The loop of a search over steps, for a whole batch.

A search is cheapest if sentences that are done leave the batch. XLA, and so
JAX, knows static shapes alone: each kind has its own file.
"""

import keras

from tfcopy.decoding.batch_loop import static_batch

if keras.backend.backend() == "tensorflow":
    from tfcopy.decoding.batch_loop import shrinking_batch
else:
    shrinking_batch = static_batch


def run(search, state, records, options):
    """As `run` of either file, by `options.static_shapes`."""
    kind = static_batch if keeps_shapes(options) else shrinking_batch
    return kind.run(search, state, records, options)


def keeps_shapes(options):
    """Whether every shape is the same at all steps."""
    return options.static_shapes or shrinking_batch is static_batch
