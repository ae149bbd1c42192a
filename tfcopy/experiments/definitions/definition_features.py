"""The inputs of models that read definitions: words, entries, spellings."""

import dataclasses
from collections.abc import Callable

import keras
import numpy as np

from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
    Definitions,
    count_characters,
)
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments.definitions.definition_data import (
    NUM_SPECIALS,
    DefinitionData,
    definition_vocabulary,
)
from tfcopy.experiments.definitions.definition_flags import (
    DefinitionsConfig,
    WordSources,
)
from tfcopy.layers import DefinitionEmbedding

_NUM_CHARACTERS = 1_000  # that the spelling reader knows


def make_embedding(
    config: DefinitionsConfig,
    sources: WordSources,
    data: DefinitionData,
    features: DefinitionFeatures,
    reader: keras.Layer | None = None,
) -> DefinitionEmbedding:
    """Builds the embedding of a system, a layer named `embedding`.

    Args:
        config: The config of the system.
        sources: Where it gets the vectors of words from.
        data: The corpus and what its words mean.
        features: The system's features, from `make_features`.
        reader: The layer that reads definitions, if it is not the one that
            the `sources` name.
    """
    dim = config.embedding_dim
    fixed = definition_vectors = definition_size = None
    if sources.fixed:
        dim = config.vectors_dim
        fixed = data.vectors_of(features.vocabulary)
    if sources.reads is not None:
        words = features.packer.vocabulary
        if sources.reads == "vector":
            definition_vectors = data.vectors_of(words)
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
    """Returns the initializers of LSTMs: Keras's, or one for all."""
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


def make_features(
    config: DefinitionsConfig,
    sources: WordSources,
    data: DefinitionData,
    exclude_top_k: int | None = None,
    **options,
) -> DefinitionFeatures:
    """Builds the features that make the inputs of a system's model.

    Args:
        config: The config of the system.
        sources: Where it gets the vectors of words from.
        data: The corpus and what its words mean.
        exclude_top_k: Number of the most frequent words, which get no
            definitions and are not spelt.
        **options: More arguments of `DefinitionFeatures`.
    """
    characters = lookup = packer = None
    if sources.fixed:
        text = Vocabulary.build(dict.fromkeys(data.words, 1))
    else:
        text = Vocabulary.build(data.counts, config.vocabulary_size)
    if sources.spelling or sources.reads == "spellings":
        size = _NUM_CHARACTERS + NUM_SPECIALS
        characters = Vocabulary.build(count_characters(data.counts), size)
    if sources.reads is not None:
        definitions, words = _what_is_read(
            config, sources.reads, data, text, characters
        )
        lookup = data.lookup
        if sources.reads == "vector":
            lookup = DefinitionLookup(definitions, lemmas=False)
        packer = DefinitionPacker(
            definitions,
            words,
            layout="padded" if sources.reader == "lstm" else "flat",
            max_definitions=config.max_definitions,
            max_length=config.max_definition_length,
            exclude_top_k=exclude_top_k,
        )
    return DefinitionFeatures(
        text,
        lookup=lookup,
        packer=packer,
        characters=characters if sources.spelling else None,
        exclude_top_k=exclude_top_k,
        **options,
    )


def _what_is_read(config, reads, data, text, characters):
    """Returns the `Definitions`, and the `Vocabulary` of their words."""
    if reads == "vector":
        return _vectors_as_definitions(data, text)
    if reads == "headwords":
        return _rewritten(data.definitions, str.split), text
    if reads == "spellings":
        return _rewritten(data.definitions, _letters), characters
    if config.definition_vocabulary_size is None:
        return data.definitions, text
    words = definition_vocabulary(data, config.definition_vocabulary_size)
    return data.definitions, words


def _vectors_as_definitions(data, text):
    """Defines each unknown word that has a vector by itself."""
    others = [x for x in data.words if x and x not in text]
    words = Vocabulary.build(dict.fromkeys(others, 1))
    rows = np.flatnonzero(data.vectors_of(words).any(axis=1))
    headwords = tuple(words.word(i) for i in rows if i >= NUM_SPECIALS)
    return Definitions(headwords, tuple(((x,),) for x in headwords)), words


def _rewritten(definitions: Definitions, read: Callable) -> Definitions:
    """Definitions of the same headwords, rewritten by a function.

    Args:
        definitions: The dictionary.
        read: Function of a headword that returns the words of its definition.
    """
    return dataclasses.replace(
        definitions,
        definitions=tuple(
            (tuple(read(word)),) for word in definitions.headwords
        ),
        parts_of_speech=(),
    )


def _letters(word):
    return [letter for letter in word if not letter.isspace()]
