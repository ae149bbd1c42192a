"""The loop over time steps, differentiable, on every Keras backend.

Neither `keras.layers.RNN` nor `keras.ops.scan` lets a step return several
outputs of different shapes, so `scan` is our own.
"""

import keras
from keras import ops

from tfcopy.layers.product import Product

__all__ = ["Product", "scan", "unrolled_scan"]


def unrolled_scan(step, inputs, state, memory, training=False):
    """`scan` as a Python loop, for backends without one of their own."""
    length = keras.tree.flatten(inputs)[0].shape[0]
    steps = []
    for t in range(length):
        inputs_t = keras.tree.map_structure(lambda x: x[t], inputs)
        outputs, state = step(inputs_t, state, memory)
        steps.append(outputs)
    stack = lambda *xs: ops.stack(xs)  # noqa: E731
    return keras.tree.map_structure(stack, *steps), state


if keras.backend.backend() == "tensorflow":
    from tfcopy.layers.tensorflow_loop import scan
elif keras.backend.backend() == "jax":
    import jax

    def scan(step, inputs, state, memory, training=False):
        """Runs `step` over the leading axis; see `tensorflow_loop.scan`.

        It is `jax.lax.scan`, which differentiates itself.
        """

        def body(carry, inputs_t):
            outputs, carry = step(inputs_t, carry, memory)
            return carry, outputs

        state, outputs = jax.lax.scan(body, state, inputs)
        return outputs, state
else:
    scan = unrolled_scan
