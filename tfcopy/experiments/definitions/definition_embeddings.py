"""The embeddings of systems that read definitions, and how layers start."""

import keras

from tfcopy.data.definitions import DefinitionFeatures
from tfcopy.experiments.definitions.definition_data import DefinitionData
from tfcopy.experiments.definitions.definition_flags import DefinitionsConfig
from tfcopy.experiments.definitions.definition_vocabularies import vectors_of
from tfcopy.experiments.definitions.word_sources import WordSources
from tfcopy.layers import DefinitionEmbedding


def make_embedding(
    config: DefinitionsConfig,
    sources: WordSources,
    data: DefinitionData,
    features: DefinitionFeatures,
    reader: keras.Layer | None = None,
) -> DefinitionEmbedding:
    """The embedding of a system, a layer named `embedding`.

    Args:
        config: The config of the system.
        sources: Where it gets the vectors of words from.
        data: The corpus and what its words mean.
        features: What `make_features` gives for the system.
        reader: The layer that reads definitions, if it is not the one that
            the `sources` name.
    """
    dim = config.embedding_dim
    fixed = definition_vectors = definition_size = None
    if sources.fixed:
        dim = config.vectors_dim
        fixed = vectors_of(features.vocabulary, config, data)
    if sources.reads is not None:
        words = features.packer.vocabulary
        if sources.reads == "vector":
            definition_vectors = vectors_of(words, config, data)
        elif words is not features.vocabulary:
            definition_size = words.size
        reader = reader or sources.reader
    spelling = None
    if sources.spelling:
        spelling = {"characters": features.characters.size, "units": dim}
    options = lstm_options(config)
    return DefinitionEmbedding(
        features.vocabulary.size,
        dim,
        reader=reader,
        definition_vocabulary_size=definition_size,
        spelling=spelling,
        combine=sources.combine if sources.reads_more else "sum",
        stop_gradient=sources.stop_gradient,
        dropout=config.embedding_dropout,
        depth=features.packer.depth if features.packer else 0,
        phrases=features.phrases is not None,
        embeddings=fixed,
        definition_embeddings=definition_vectors,
        embeddings_initializer=_embeddings_initializer(config),
        kernel_initializer=options["kernel_initializer"],
        recurrent_initializer=options["recurrent_initializer"],
        seed=config.seed,
        name="embedding",
    )


def _embeddings_initializer(config):
    if config.initializers == "keras":
        return keras.initializers.RandomNormal(stddev=1.0)
    return keras.initializers.get(config.initializers)


def lstm_options(config: DefinitionsConfig) -> dict:
    """The initializers of the layers: those of Keras, or the same for all."""
    if config.initializers == "keras":
        return {
            "kernel_initializer": "glorot_uniform",
            "recurrent_initializer": "orthogonal",
            "unit_forget_bias": True,
        }
    return {
        "kernel_initializer": config.initializers,
        "recurrent_initializer": config.initializers,
        "unit_forget_bias": False,
    }
