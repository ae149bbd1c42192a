"""A model's word embedding."""

import keras


def make_embedding(size, embedding_dim, initializer, name):
    """An embedding layer, whose table stays in float32.

    Mixed precision would cast the whole table at each use.
    """
    return keras.layers.Embedding(
        size,
        embedding_dim,
        embeddings_initializer=initializer,
        dtype="float32",
        name=name,
    )
