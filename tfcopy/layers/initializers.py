"""Initial values of the dl4mt tutorial, the base of several papers' systems."""

import keras
from keras import ops


@keras.saving.register_keras_serializable(package="tfcopy")
class Blockwise(keras.initializers.Initializer):
    """Fills a kernel block by block along its last axis.

    The kernels of a cell's gates are side by side in one matrix; each is drawn
    as a matrix by itself.

    Args:
        initializer: Initializer of a block.
        blocks: Number of blocks.
    """

    def __init__(self, initializer, blocks):
        self.initializer = keras.initializers.get(initializer)
        self.blocks = blocks

    def __call__(self, shape, dtype=None):
        shape = (*shape[:-1], shape[-1] // self.blocks)
        # Keras initializers repeat themselves: each block gets a copy that
        # has its own seed.
        parts = []
        for i in range(self.blocks):
            config = self.initializer.get_config()
            if isinstance(config.get("seed"), int):
                config["seed"] = config["seed"] + i
            else:
                config["seed"] = None
            block = type(self.initializer).from_config(config)
            parts.append(block(shape, dtype=dtype))
        return ops.concatenate(parts, axis=-1)

    def get_config(self):
        return {
            "initializer": keras.initializers.serialize(self.initializer),
            "blocks": self.blocks,
        }


@keras.saving.register_keras_serializable(package="tfcopy")
class SquareOrthogonal(keras.initializers.Initializer):
    """Orthogonal if square, else normal with standard deviation `stddev`.

    Args:
        stddev: Standard deviation of the matrices that are not square.
        seed: Optional integer.

    Reference:
        The dl4mt tutorial, session 2 (`norm_weight` and `ortho_weight`).
    """

    def __init__(self, stddev=0.01, seed=None):
        self.stddev = stddev
        self.seed = seed

    def __call__(self, shape, dtype=None):
        if shape[0] == shape[1]:
            orthogonal = keras.initializers.Orthogonal(seed=self.seed)
            return orthogonal(shape, dtype=dtype)
        normal = keras.initializers.RandomNormal(
            stddev=self.stddev, seed=self.seed
        )
        return normal(shape, dtype=dtype)

    def get_config(self):
        return {"stddev": self.stddev, "seed": self.seed}
