"""Layer normalisation inside a loop's step, whose weights are in memory."""

from keras import ops


def normalize(x, weights):
    """Normalises the last axis.

    Args:
        x: `(..., size)`, float32.
        weights: `(gain, bias)`, each `(size,)`.

    Reference:
        [Ba et al., 2016](https://arxiv.org/abs/1607.06450), eq. 3 and 4.
    """
    gain, bias = weights
    mean = ops.mean(x, axis=-1, keepdims=True)
    variance = ops.mean(ops.square(x - mean), axis=-1, keepdims=True)
    return (x - mean) * ops.rsqrt(variance + 1e-5) * gain + bias


def add_norms(layer, sizes):
    """Adds the weights of normalisations to a layer.

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


def cast_norms(norms):
    """The weights of `add_norms` in float32, by the same names."""
    return {
        name: tuple(ops.cast(weight, "float32") for weight in weights)
        for name, weights in norms.items()
    }
