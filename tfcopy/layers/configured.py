"""Base classes and helpers of layers: argument checks, configs, initializers.

The initializers follow the dl4mt tutorial, on which the systems of several
papers are based.
"""

import keras
from keras import ops

# Argument of layers: an initializer, or its name.
Initializer = str | keras.initializers.Initializer


def check_choice(argument, value, choices):
    """Raises a ValueError if an argument is not one of its choices."""
    if value not in choices:
        raise ValueError(
            f"`{argument}` must be one of {choices}. "
            f"Received: {argument}={value!r}."
        )


def check_positive(argument, value):
    """Raises a ValueError if an argument is not a positive integer."""
    if value <= 0:
        raise ValueError(
            f"`{argument}` must be a positive integer. "
            f"Received: {argument}={value}."
        )


def check_heads(units, num_layers, num_heads):
    """Raises a ValueError if a Transformer cannot have these sizes."""
    if num_layers < 1 or num_heads < 1 or units % num_heads:
        raise ValueError(
            "`num_layers` and `num_heads` must be positive, and `units` a "
            f"multiple of `num_heads`. Received: units={units}, "
            f"num_layers={num_layers}, num_heads={num_heads}."
        )


class Configured:
    """Mixin of layers whose arguments become their attributes and config.

    Among the bases of a class it comes before the Keras layer. `__init__` calls
    `super().__init__`, then `keep_arguments(locals())`, and may then change
    some of the attributes. A subclass may store an argument in another way, and
    add it to the config in its own `get_config`.
    """

    layer_arguments = ()  # names of the arguments that are layers
    _kept = ()

    def keep_arguments(self, arguments, *others):
        """Sets an attribute for each argument that no base class has set.

        Args:
            arguments: `locals()` at the beginning of an `__init__`. An argument
                called `..._initializer` may be the name of an initializer.
            *others: Names of arguments to leave out.
        """
        others = {"self", "__class__", "kwargs", *others, *self._kept}
        new = [name for name in arguments if name not in others]
        for name in new:
            value = arguments[name]
            if name.endswith("_initializer"):
                value = keras.initializers.get(value)
            setattr(self, name, value)
        self._kept = (*self._kept, *new)

    def get_config(self):
        config = super().get_config()
        for name in self._kept:
            value = getattr(self, name)
            if name.endswith("_initializer"):
                value = keras.initializers.serialize(value)
            elif name in self.layer_arguments:
                value = keras.saving.serialize_keras_object(value)
            config[name] = value
        return config

    @classmethod
    def from_config(cls, config):
        layers = {
            name: keras.saving.deserialize_keras_object(config[name])
            for name in cls.layer_arguments
        }
        return super().from_config({**config, **layers})

    def _add_kernel(self, name, *shape):
        return self.add_weight(
            shape, self.kernel_initializer, name=f"{name}_kernel"
        )

    def _add_bias(self, name, size):
        return self.add_weight((size,), "zeros", name=f"{name}_bias")

    def _cast(self, x):
        return ops.cast(x, self.compute_dtype)


class Unmasked(keras.layers.Layer):
    """Base of layers that take masks as arguments, and output no Keras mask."""

    def __init__(self, **kwargs):
        super().__init__(autocast=False, **kwargs)
        self.supports_masking = True

    def compute_mask(self, inputs, previous_mask=None):
        """Returns `None`: the outputs carry no Keras mask."""


def clone_initializer(name_or_initializer):
    """Returns a copy of an initializer, since each repeats its values."""
    return keras.initializers.get(name_or_initializer).clone()


def another(initializer, i):
    """Returns a copy of an initializer with another seed, for other values."""
    config = initializer.get_config()
    if "seed" in config:
        seed = config["seed"]
        config["seed"] = seed + i if isinstance(seed, int) else None
    return type(initializer).from_config(config)


@keras.saving.register_keras_serializable(package="tfcopy")
class Blockwise(keras.initializers.Initializer):
    """Initializer that fills a kernel block by block along its last axis.

    The kernels of a cell's gates are concatenated in one matrix; each is drawn
    as a separate matrix.

    Args:
        initializer: Initializer of a block.
        blocks: Number of blocks.
    """

    def __init__(self, initializer, blocks):
        self.initializer = keras.initializers.get(initializer)
        self.blocks = blocks

    def __call__(self, shape, dtype=None):
        shape = (*shape[:-1], shape[-1] // self.blocks)
        # A Keras initializer returns the same values at each call.
        parts = [
            another(self.initializer, i)(shape, dtype=dtype)
            for i in range(self.blocks)
        ]
        return ops.concatenate(parts, axis=-1)

    def get_config(self):
        return {
            "initializer": keras.initializers.serialize(self.initializer),
            "blocks": self.blocks,
        }


@keras.saving.register_keras_serializable(package="tfcopy")
class SquareOrthogonal(keras.initializers.Initializer):
    """Initializer: orthogonal for square matrices, normal for all others.

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
        return keras.initializers.RandomNormal(
            stddev=self.stddev, seed=self.seed
        )(shape, dtype=dtype)

    def get_config(self):
        return {"stddev": self.stddev, "seed": self.seed}
