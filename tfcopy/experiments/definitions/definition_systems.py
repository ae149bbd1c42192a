"""How the systems of recipes embed words, and their models."""

import dataclasses
import functools
from typing import Any

import keras
import numpy as np

from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
    Definitions,
    PhraseLookup,
    TextBatches,
    count_characters,
)
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments import reporting
from tfcopy.experiments.definitions.definition_data import (
    NUM_SPECIALS,
    definition_vocabulary,
    matrix,
)
from tfcopy.layers import DefinitionEmbedding


@dataclasses.dataclass(frozen=True)
class System:
    """How a system computes its embeddings.

    Attributes:
        reads: What it reads as the definitions of a word: `"definitions"`;
            `"headwords"`, those of its entries as they are; their
            `"spellings"`; its `"vector"`, one that is fixed; or `None`.
        reader: As of `DefinitionEmbedding`.
        combine: The same.
        spelling: Whether it reads the spelling of words as well.
        stop_gradient: As of `DefinitionEmbedding`.
        shares_reader: Whether the model's own LSTM reads definitions.
        fixed: Whether the words' own embeddings are fixed vectors, of all
            words of the corpus.
    """

    reads: str | None = None
    reader: str = "mean"
    combine: str = "transform"
    spelling: bool = False
    stop_gradient: bool = False
    shares_reader: bool = False
    fixed: bool = False

    @property
    def needs_definitions(self):
        return self.reads not in (None, "vector")

    @property
    def reads_more(self):
        """Whether it reads anything of a word but its own embedding."""
        return self.reads is not None or self.spelling

    @property
    def needs_vectors(self):
        return self.fixed or self.reads == "vector"


@dataclasses.dataclass(frozen=True)
class Built:
    """A system's model and what it reads.

    Attributes:
        system: `System`.
        model: Keras model, whose embedding is named `embedding`.
        features: `DefinitionFeatures`.
        batches: `TextBatches`.
    """

    system: System
    model: Any
    features: DefinitionFeatures
    batches: TextBatches


def build(config, system, data, strategy, make_model, finish=None, **options):
    """A system's model, the same at each start.

    Args:
        config: The recipe's config.
        system: `System`.
        data: `definition_data.Data`.
        strategy: Of `tf.distribute`.
        make_model: Function of config, system, data and features to a model.
        finish: As of `TextBatches`, with the features as another argument
            before the others; or `None`.
        options: Of `build_features`.

    Returns:
        `Built`.
    """
    features = build_features(config, system, data, **options)
    keras.utils.set_random_seed(config.seed)
    with strategy.scope():
        model = make_model(config, system, data, features)
    print(f"{reporting.num_parameters(model):,} parameters")
    if finish is not None:
        finish = functools.partial(finish, features)
    batches = TextBatches(features, data.words, finish)
    return Built(system, model, features, batches)


def build_features(config, system, data, exclude_top_k=None, **options):
    """What makes the inputs of a system's model.

    Args:
        config: The recipe's config.
        system: `System`.
        data: `Data`.
        exclude_top_k: Words that get no definitions, and are not spelt.
        options: More arguments of `DefinitionFeatures`.

    Returns:
        `DefinitionFeatures`.
    """
    characters = lookup = packer = None
    if system.fixed:
        text = Vocabulary.build(dict.fromkeys(data.words, 1))
    else:
        text = Vocabulary.build(data.counts, config.vocabulary_size)
    if system.spelling or system.reads == "spellings":
        size = config.num_characters + NUM_SPECIALS
        characters = Vocabulary.build(count_characters(data.counts), size)
    if system.reads is not None:
        definitions, words = _what_is_read(
            config, system, data, text, characters
        )
        lookup = data.lookup
        if system.reads == "vector":
            lookup = DefinitionLookup(definitions, lemmas=False)
        packer = DefinitionPacker(
            definitions,
            words,
            layout="padded" if system.reader == "lstm" else "flat",
            max_definitions=config.max_definitions,
            max_length=config.max_definition_length,
            exclude_top_k=exclude_top_k,
            depth=config.depth if system.reads == "definitions" else 0,
            lookup=lookup,
        )
    phrases = None
    if config.phrases and system.reads == "definitions":
        first = NUM_SPECIALS
        phrases = PhraseLookup(
            definitions,
            frequent=text.words[first : first + 200],
            tokenizer=data.tokenizer,
        )
    return DefinitionFeatures(
        text,
        lookup=lookup,
        packer=packer,
        phrases=phrases,
        characters=characters if system.spelling else None,
        exclude_top_k=exclude_top_k,
        **options,
    )


def _what_is_read(config, system, data, text, characters):
    """`Definitions`, and the `Vocabulary` of their words."""
    if system.reads == "vector":
        others = [x for x in data.words if x and x not in text]
        words = Vocabulary.build(dict.fromkeys(others, 1))
        known = np.flatnonzero(matrix(config, data, words).any(axis=1))
        named = tuple(words.word(i) for i in known if i >= NUM_SPECIALS)
        return Definitions(named, tuple(((x,),) for x in named)), words
    if system.reads == "headwords":
        return _rewritten(
            data.definitions, lambda word: tuple(word.split())
        ), text
    if system.reads == "spellings":
        read = _rewritten(
            data.definitions,
            lambda word: tuple(x for x in word if not x.isspace()),
        )
        return read, characters
    if config.definition_vocabulary_size is None:
        return data.definitions, text
    words = definition_vocabulary(data, config.definition_vocabulary_size)
    return data.definitions, words


def _rewritten(definitions, read):
    """The same headwords, each with itself as the one definition."""
    return dataclasses.replace(
        definitions,
        definitions=tuple((read(word),) for word in definitions.headwords),
        parts_of_speech=(),
    )


def build_embedding(config, system, data, features, reader=None):
    """The embedding of a system.

    Args:
        config: The recipe's config.
        system: `System`.
        data: `Data`.
        features: What `build_features` gave for it.
        reader: The layer that reads definitions, in the place of the
            system's own.
    """
    size, dim = features.vocabulary.size, config.embedding_dim
    fixed = definition_vectors = definition_size = None
    if system.fixed:
        dim = config.vectors_dim
        fixed = matrix(config, data, features.vocabulary)
    if system.reads is not None:
        words = features.packer.vocabulary
        if system.reads == "vector":
            definition_vectors = matrix(config, data, words)
        elif words is not features.vocabulary:
            definition_size = words.size
    if reader is None and system.reads is not None:
        reader = system.reader
    options = lstm_options(config)
    spelling = None
    if system.spelling:
        spelling = {"characters": features.characters.size, "units": dim}
    return DefinitionEmbedding(
        size,
        dim,
        reader=reader,
        definition_vocabulary_size=definition_size,
        spelling=spelling,
        combine=system.combine if system.reads or spelling else "sum",
        stop_gradient=system.stop_gradient,
        dropout=config.embedding_dropout,
        depth=features.packer.depth if features.packer else 0,
        phrases=features.phrases is not None,
        embeddings=fixed,
        definition_embeddings=definition_vectors,
        embeddings_initializer=initializer(config),
        kernel_initializer=options["kernel_initializer"],
        recurrent_initializer=options["recurrent_initializer"],
        seed=config.seed,
        name="embedding",
    )


def initializer(config):
    """Of embeddings: normal of deviation 1, or that of all weights."""
    if config.initializers == "keras":
        return keras.initializers.RandomNormal(stddev=1.0)
    return keras.initializers.get(config.initializers)


def lstm_options(config):
    """How LSTMs and other layers start: those of Keras, or one for all."""
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
