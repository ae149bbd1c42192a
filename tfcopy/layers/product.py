"""A matrix product that a loop may treat separately."""

from keras import ops

from tfcopy.layers.rows import of_rows


class Product:
    """`x @ kernel + bias`, the only way a decoder step multiplies matrices.

    Naming the products lets `scan` keep their results for the backward pass
    and add up the gradient of each kernel in one large product after the
    loop, rather than in a small one at every step.

    The product runs in the kernel's dtype (bfloat16 under mixed precision);
    its result has the dtype of `x`, so that a step's state stays in float32.

    Args:
        kernel: Tensor of shape `(I, O)`, or `(G, I, O)` for `G` products at
            once.
        bias: Optional tensor, `(O,)` or `(G, 1, O)`.

    Call arguments:
        x: Tensor of shape `(..., I)`, or `(G, M, I)`.

    Returns:
        Tensor of shape `(..., O)`, or `(G, M, O)`.
    """

    def __init__(self, kernel, bias=None):
        self.kernel = kernel
        self.bias = bias

    def __call__(self, x):
        if len(self.kernel.shape) == 2:
            return of_rows(self._multiply, x)
        return self._multiply(x)

    def _multiply(self, x):
        y = ops.matmul(ops.cast(x, self.kernel.dtype), self.kernel)
        y = ops.cast(y, x.dtype)
        if self.bias is None:
            return y
        # Not `+`: TensorFlow adds this bias in the product itself.
        return ops.add(y, ops.cast(self.bias, y.dtype))

    def tensors(self):
        """The kernel, and the bias if there is one."""
        return [self.kernel] + ([] if self.bias is None else [self.bias])

    def replace(self, tensors):
        """A copy with other tensors, in the order of `tensors()`."""
        return Product(*tensors)
