"""A model's word embedding."""

import keras


def make_embedding(size, embedding_dim, initializer, name, tied=False):
    """An embedding layer, whose table stays in float32.

    Mixed precision would cast the whole table at each use.

    Args:
        size: Number of words.
        embedding_dim: Size of a word's vector.
        initializer: Of the table.
        name: The layer's name.
        tied: Whether the table is the output matrix as well. It is then normal,
            and logits of features of about 1 begin at about 1.
    """
    if tied:
        deviation = embedding_dim**-0.5
        initializer = keras.initializers.RandomNormal(stddev=deviation)
    return keras.layers.Embedding(
        size,
        embedding_dim,
        embeddings_initializer=initializer,
        dtype="float32",
        name=name,
    )
