"""Flattening a step's memory: a dict of tensors and products."""

from tfcopy.layers.loop.product import Product


def flatten(memory):
    """Splits `memory` into its plain tensors and its products, by name."""
    tensors = {k: v for k, v in memory.items() if not isinstance(v, Product)}
    products = {k: v for k, v in memory.items() if isinstance(v, Product)}
    return tensors, products


def map_rows(memory, function):
    """Applies `function` to all that belongs to the sentences of a batch.

    That is every tensor, and the kernel of each product that has one kernel
    a sentence. Weights, which all sentences share, stay as they are: a 2-D
    kernel, and a tensor whose name begins with `weight_`.
    """
    mapped = {}
    for name, value in memory.items():
        if name.startswith("weight_"):
            mapped[name] = value
        elif not isinstance(value, Product):
            mapped[name] = function(value)
        elif len(value.kernel.shape) == 3:
            mapped[name] = Product(function(value.kernel), value.bias)
        else:
            mapped[name] = value
    return mapped
