"""Layer normalisation inside a loop's step, where weights come as memory."""

from keras import ops


def normalize(x, name, memory):
    """Normalises the last axis with the gain and bias of that name.

    Args:
        x: `(..., size)`, float32.
        name: Of the site; each has weights of its own.
        memory: Holds `weight_<name>_gain` and `weight_<name>_bias`.

    Reference:
        [Ba et al., 2016](https://arxiv.org/abs/1607.06450), eq. 3 and 4.
    """
    mean = ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(x - mean), axis=-1, keepdims=True)
    x = (x - mean) * ops.rsqrt(variance + 1e-5)
    return x * memory[f"weight_{name}_gain"] + memory[f"weight_{name}_bias"]


def add_norms(layer, sizes):
    """Gives a layer the weights of normalisations.

    Args:
        layer: A Keras layer that is being built.
        sizes: Dict from the name of a site to its size.

    Returns:
        Dict from a name to `(gain, bias)`.
    """
    return {
        name: tuple(
            layer.add_weight(
                name=f"{name}_norm_{part}", shape=(size,), initializer=start
            )
            for part, start in (("gain", "ones"), ("bias", "zeros"))
        )
        for name, size in sizes.items()
    }


def norms_memory(norms):
    """What `normalize` needs of `add_norms`, float32, for a step's memory."""
    return {
        f"weight_{name}_{part}": ops.cast(weight, "float32")
        for name, weights in norms.items()
        for part, weight in zip(("gain", "bias"), weights)
    }
