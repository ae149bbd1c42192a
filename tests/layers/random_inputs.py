"""Random inputs and weights that the tests of layers and models share."""

import numpy as np

# Two sequences of four steps, the second of them with padding.
MASK = np.array([[True] * 4, [True, True, False, False]])


def normal(*shape, seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype("float32")


def sequences():
    """Inputs of encoders."""
    return {"inputs": normal(2, 4, 3), "mask": MASK}


def decoder_inputs(state_size=5):
    """Inputs of decoders: three target steps, over sources of `MASK`."""
    return {
        "embeddings": normal(2, 3, 3),
        "initial_state": normal(2, state_size, seed=1),
        "annotations": normal(2, 4, 6, seed=2),
        "source_mask": MASK,
        "matches": np.zeros((2, 3, 4), "float32"),
    }


def randomized(layer, scale=1.0, seed=0):
    """Sets all weights to random values, so that all that is read shows."""
    rng = np.random.default_rng(seed)
    for weight in layer.trainable_weights:
        weight.assign(scale * rng.normal(size=weight.shape))
    return layer
