"""What makes the inputs of a system's model: words, entries, spellings."""

import dataclasses
from collections.abc import Callable

import numpy as np

from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
    Definitions,
    PhraseLookup,
    count_characters,
)
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments.definitions.definition_data import DefinitionData
from tfcopy.experiments.definitions.definition_flags import DefinitionsConfig
from tfcopy.experiments.definitions.definition_vocabularies import (
    NUM_SPECIALS,
    definition_vocabulary,
    vectors_of,
)
from tfcopy.experiments.definitions.word_sources import WordSources


def make_features(
    config: DefinitionsConfig,
    sources: WordSources,
    data: DefinitionData,
    exclude_top_k: int | None = None,
    **options,
) -> DefinitionFeatures:
    """What makes the inputs of a system's model.

    Args:
        config: The config of the system.
        sources: Where it gets the vectors of words from.
        data: The corpus and what its words mean.
        exclude_top_k: Number of the most frequent words, which get no
            definitions and are not spelt.
        **options: More arguments of `DefinitionFeatures`.
    """
    characters = lookup = packer = phrases = None
    if sources.fixed:
        text = Vocabulary.build(dict.fromkeys(data.words, 1))
    else:
        text = Vocabulary.build(data.counts, config.vocabulary_size)
    if sources.spelling or sources.reads == "spellings":
        size = config.num_characters + NUM_SPECIALS
        characters = Vocabulary.build(count_characters(data.counts), size)
    if sources.reads is not None:
        definitions, words = _what_is_read(
            config, sources.reads, data, text, characters
        )
        lookup = data.lookup
        if sources.reads == "vector":
            lookup = DefinitionLookup(definitions, lemmas=False)
        is_text = sources.reads == "definitions"
        packer = DefinitionPacker(
            definitions,
            words,
            layout="padded" if sources.reader == "lstm" else "flat",
            max_definitions=config.max_definitions,
            max_length=config.max_definition_length,
            exclude_top_k=exclude_top_k,
            depth=config.depth if is_text else 0,
            lookup=lookup,
        )
        if config.phrases and is_text:
            most_frequent = text.words[NUM_SPECIALS : NUM_SPECIALS + 200]
            phrases = PhraseLookup(
                definitions, frequent=most_frequent, tokenizer=data.tokenizer
            )
    return DefinitionFeatures(
        text,
        lookup=lookup,
        packer=packer,
        phrases=phrases,
        characters=characters if sources.spelling else None,
        exclude_top_k=exclude_top_k,
        **options,
    )


def _what_is_read(config, reads, data, text, characters):
    """`Definitions`, and the `Vocabulary` of their words."""
    if reads == "vector":
        return _vectors_as_definitions(config, data, text)
    if reads == "headwords":
        return _rewritten(data.definitions, str.split), text
    if reads == "spellings":
        return _rewritten(data.definitions, _letters), characters
    if config.definition_vocabulary_size is None:
        return data.definitions, text
    words = definition_vocabulary(data, config.definition_vocabulary_size)
    return data.definitions, words


def _vectors_as_definitions(config, data, text):
    """Unknown words that have vectors, each with itself as its definition."""
    others = [x for x in data.words if x and x not in text]
    words = Vocabulary.build(dict.fromkeys(others, 1))
    rows = np.flatnonzero(vectors_of(words, config, data).any(axis=1))
    headwords = tuple(words.word(i) for i in rows if i >= NUM_SPECIALS)
    return Definitions(headwords, tuple(((x,),) for x in headwords)), words


def _rewritten(definitions: Definitions, read: Callable) -> Definitions:
    """Definitions of the same headwords, rewritten by a function.

    Args:
        definitions: The dictionary.
        read: Function of a headword that gives the words of its definition.
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
