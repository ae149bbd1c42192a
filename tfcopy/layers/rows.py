"""Matrix products of tensors of any rank, as one product of all their rows."""

import keras
from keras import ops


def of_rows(function, x):
    """Calls a function of rows on a tensor with more leading axes.

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
    """The product of two tensors or weights, computed in `dtype`; float32."""
    x, y = (ops.cast(z, dtype) for z in (x, y))
    return ops.cast(ops.matmul(x, y), "float32")


@keras.saving.register_keras_serializable(package="tfcopy")
class Dense(keras.layers.Dense):
    """Keras's `Dense` with fewer operations.

    For inputs of more than two axes, Keras's own product adds about a dozen
    operations on TensorFlow, at each step of a search.
    """

    def call(self, inputs, training=None):
        def product(rows):
            return super(Dense, self).call(rows, training=training)

        return of_rows(product, inputs)


def dense(layer, units, name, kernel_initializer, **options):
    """A `Dense` that is a part of another layer, with its dtype policy."""
    return Dense(
        units,
        kernel_initializer=kernel_initializer,
        dtype=layer.dtype_policy,
        name=name,
        **options,
    )
