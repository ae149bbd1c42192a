"""Positions in a sentence, as vectors that are added or as rotations.

Shapes: N positions, U units, d size of a head.
"""

import math

from keras import ops

_LONGEST = 10_000.0


def sinusoids(positions, units):
    """The sinusoids of positions.

    Args:
        positions: Integers, `(..., N)`.
        units: U.

    Returns:
        `(..., N, U)`, float32: sines, then cosines.

    Reference:
        [Vaswani et al., 2017](https://arxiv.org/abs/1706.03762), section 3.5.
    """
    angles = _angles(positions, (units + 1) // 2)
    both = ops.concatenate([ops.sin(angles), ops.cos(angles)], axis=-1)
    return both[..., :units]


def rotation(positions, size):
    """The rotations of positions, for `rotate`.

    Args:
        positions: Integers, `(..., N)`.
        size: d, even.

    Returns:
        `(cosines, sines)`, each `(..., N, d / 2)`, float32.
    """
    angles = _angles(positions, size // 2)
    return ops.cos(angles), ops.sin(angles)


def rotate(x, rotation):
    """Rotates each pair of elements, so that products tell distances.

    Args:
        x: `(..., N, d)`; element i is paired with element i + d / 2.
        rotation: From `rotation`.

    Reference:
        [Su et al., 2021](https://arxiv.org/abs/2104.09864), eq. 34.
    """
    cosines, sines = (ops.cast(part, x.dtype) for part in rotation)
    first, second = ops.split(x, 2, axis=-1)
    return ops.concatenate(
        [first * cosines - second * sines, second * cosines + first * sines],
        axis=-1,
    )


def _angles(positions, count):
    """`position / 10000^(i / count)` for each i below `count`."""
    powers = ops.arange(count, dtype="float32") * (-math.log(_LONGEST) / count)
    positions = ops.cast(ops.expand_dims(positions, -1), "float32")
    return positions * ops.exp(powers)
