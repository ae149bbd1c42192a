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


def tied_initializer(embedding_dim):
    """The initializer of a table that is the output matrix as well.

    The logits of features of about 1 then begin at about 1.
    """
    return keras.initializers.RandomNormal(stddev=embedding_dim**-0.5)
