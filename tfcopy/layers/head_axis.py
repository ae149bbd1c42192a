"""The axis of an attention's heads.

Shapes: B batch, N rows of a sentence, H heads, U units.
"""

from keras import ops


def split_heads(x, num_heads):
    """`(B, N, U)` to `(B, H, N, U / H)`."""
    rows = x.shape[1] or ops.shape(x)[1]
    size = x.shape[2] // num_heads
    x = ops.reshape(x, (-1, rows, num_heads, size))
    return ops.transpose(x, (0, 2, 1, 3))


def merge_heads(x):
    """`(B, H, N, U / H)` to `(B, N, U)`."""
    rows = x.shape[2] or ops.shape(x)[2]
    units = x.shape[1] * x.shape[3]
    return ops.reshape(ops.transpose(x, (0, 2, 1, 3)), (-1, rows, units))
