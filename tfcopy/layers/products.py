"""Matrix products of any rows, of decoder steps, and of embedded tokens.

Shapes: N rows, D and O sizes, V rows of an embedding table, E embedding size, G
size of a product.
"""

import keras
from keras import ops

from tfcopy.layers.tensors import take


def apply_to_rows(function, x):
    """Applies a function of rows to a tensor with any number of leading axes.

    Args:
        function: From `(N, D)` to `(N, O)`.
        x: `(..., D)`.

    Returns:
        `(..., O)`.
    """
    if len(x.shape) == 2:
        return function(x)
    leading = list(x.shape[:-1])
    if leading.count(None) > 1:
        sizes = ops.shape(x)
        leading[1:] = [n or sizes[i] for i, n in enumerate(leading[1:], 1)]
    leading = [-1 if n is None else n for n in leading]
    rows = function(ops.reshape(x, (-1, x.shape[-1])))
    width = rows.shape[-1] or ops.shape(rows)[-1]
    return ops.reshape(rows, (*leading, width))


def multiply(x, y, dtype):
    """Multiplies two tensors or weights in `dtype`; returns float32."""
    x, y = (ops.cast(z, dtype) for z in (x, y))
    return ops.cast(ops.matmul(x, y), "float32")


@keras.saving.register_keras_serializable(package="tfcopy")
class Dense(keras.layers.Dense):
    """Keras's `Dense` layer with fewer operations.

    For inputs with more than two axes, Keras's own product adds about a dozen
    operations on TensorFlow, at each step of a search.
    """

    def call(self, inputs, training=None):
        def product(rows):
            return super(Dense, self).call(rows, training=training)

        return apply_to_rows(product, inputs)


def dense(layer, units, name, kernel_initializer, **options):
    """Makes a `Dense` inside another layer, with that layer's dtype policy."""
    return Dense(
        units,
        kernel_initializer=kernel_initializer,
        dtype=layer.dtype_policy,
        name=name,
        **options,
    )


class Product:
    """Product `x @ kernel + bias`, for all matrix products of a decoder step.

    As the products have names, `scan` can keep their results for the backward
    pass. It then adds up the gradient of each kernel in one large product after
    the loop, rather than in a small one at every step.

    The product is computed in the kernel's dtype (bfloat16 under mixed
    precision). Its result has the dtype of `x`, so that a step's state stays in
    float32.

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
            return apply_to_rows(self._multiply, x)
        return self._multiply(x)

    def _multiply(self, x):
        y = ops.matmul(ops.cast(x, self.kernel.dtype), self.kernel)
        y = ops.cast(y, x.dtype)
        if self.bias is None:
            return y
        # Not `+`, since TensorFlow fuses `ops.add` with the product.
        return ops.add(y, ops.cast(self.bias, y.dtype))

    def tensors(self):
        """Returns the kernel, and the bias if the product has one."""
        return [self.kernel] + ([] if self.bias is None else [self.bias])

    def replace(self, tensors):
        """Returns a copy with other tensors, in the order of `tensors()`."""
        return Product(*tensors)


def word_products(table, kernel, bias, num_places, dtype):
    """Returns a function that computes `table[ids] @ kernel + bias`.

    The product of a token is the same at every position. If the call has more
    positions than the table has rows, the whole table is multiplied once, and
    the rows of the product are looked up.

    Args:
        table: `(V, E)`.
        kernel: `(E, G)`.
        bias: `(G,)`.
        num_places: Total number of ids in all calls of the function.
        dtype: Dtype of the product; the result is float32.

    Returns:
        Function from ids, `(...)`, to `(..., G)`, float32.
    """
    kernel, bias = ops.cast(kernel, dtype), ops.cast(bias, "float32")
    has_more_places = num_places > (table.shape[0] or ops.shape(table)[0])

    def products_of(rows):
        return multiply(rows, kernel, dtype) + bias

    def choose(by_word, by_place):
        if isinstance(has_more_places, bool):  # All sizes are static.
            return by_word() if has_more_places else by_place()
        return ops.cond(has_more_places, by_word, by_place)

    products = choose(
        lambda: products_of(table), lambda: ops.zeros((0, kernel.shape[-1]))
    )
    return lambda ids: choose(
        lambda: take(products, ids), lambda: products_of(take(table, ids))
    )
