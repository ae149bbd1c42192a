"""How CopyNet scores copying from each source position.

Shapes: B batch, S source steps, C value size, D units.
"""

from keras import ops


def copy_keys(annotations, kernel):
    """`tanh(h_j W_c)`, whose product with a state is the score of position j.

    The keys are the same at all steps. The scores are unbounded.

    Args:
        annotations: `(B, S, C)`.
        kernel: `W_c`, `(C, D)`, of the annotations' dtype.

    Returns:
        `(B, S, D)`.

    Reference:
        [Gu et al., 2016](https://arxiv.org/abs/1603.06393), eq. 8.
    """
    return ops.tanh(ops.matmul(annotations, kernel))
