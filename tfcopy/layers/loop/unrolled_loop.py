"""`scan` for any other backend: a Python loop."""

import keras
from keras import ops


def scan(step, inputs, state, memory, training=False):
    """Runs `step` over the leading axis; see `tensorflow_loop.scan`."""
    length = keras.tree.flatten(inputs)[0].shape[0]
    steps = []
    for t in range(length):
        inputs_t = keras.tree.map_structure(lambda x: x[t], inputs)
        outputs, state = step(inputs_t, state, memory)
        steps.append(outputs)
    stack = lambda *xs: ops.stack(xs)  # noqa: E731
    return keras.tree.map_structure(stack, *steps), state
