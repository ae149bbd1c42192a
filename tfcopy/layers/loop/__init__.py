"""The loop over time steps, differentiable, on every Keras backend.

Neither `keras.layers.RNN` nor `keras.ops.scan` lets a step return several
outputs of different shapes, so `scan` is our own. Each backend has its own
file.
"""

import keras

from tfcopy.layers.loop.product import Product

if keras.backend.backend() == "tensorflow":
    from tfcopy.layers.loop.tensorflow_loop import scan
elif keras.backend.backend() == "jax":
    from tfcopy.layers.loop.jax_loop import scan
else:
    from tfcopy.layers.loop.unrolled_loop import scan

__all__ = ["Product", "scan"]
