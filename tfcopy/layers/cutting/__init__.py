"""Cutting, repeating and picking parts of tensors, as few operations.

Keras's own `split`, `repeat` and `take` mean the same. On TensorFlow they add
about 27, 35 and 12 operations to a graph, since they find out there what is
known before; a decoder's step and a search are made of such.
"""

import keras

if keras.backend.backend() == "tensorflow":
    from tfcopy.layers.cutting.tensorflow_cutting import repeat, split, take
else:
    from tfcopy.layers.cutting.keras_cutting import repeat, split, take

__all__ = ["repeat", "split", "take"]
