"""The products of words' embeddings with one matrix.

Shapes: V words of a table, E embedding size, G size of a product.
"""

from keras import ops

from tfcopy.layers.cutting import take
from tfcopy.layers.rows import multiply


def word_products(table, kernel, bias, num_places, dtype):
    """A function from ids to `table[ids] @ kernel + bias`.

    The product of a word is the same at every position. If there are more
    positions than words, the table itself is multiplied once, and the product's
    rows are looked up.

    Args:
        table: `(V, E)`.
        kernel: `(E, G)`.
        bias: `(G,)`.
        num_places: The number of ids in all calls together.
        dtype: Dtype of the product; the result is float32.

    Returns:
        Function from ids, `(...)`, to `(..., G)`, float32.
    """
    kernel, bias = ops.cast(kernel, dtype), ops.cast(bias, "float32")
    num_words = table.shape[0] or ops.shape(table)[0]
    has_more_places = num_places > num_words

    def products_of(rows):
        return multiply(rows, kernel, dtype) + bias

    def choose(by_word, by_place):
        if isinstance(has_more_places, bool):  # The sizes are known.
            return by_word() if has_more_places else by_place()
        return ops.cond(has_more_places, by_word, by_place)

    products = choose(
        lambda: products_of(table), lambda: ops.zeros((0, kernel.shape[-1]))
    )
    return lambda ids: choose(
        lambda: take(products, ids),
        lambda: products_of(take(table, ids)),
    )
