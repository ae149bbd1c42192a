"""Words that have vectors or definitions, and those of definitions."""

import collections
import functools

import numpy as np

from tfcopy import tokens
from tfcopy.data.definitions import word_vectors
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments.definitions.definition_data import DefinitionData
from tfcopy.experiments.definitions.definition_flags import DefinitionsConfig

NUM_SPECIALS = len(tokens.SPECIAL_TOKENS)


def vectors_of(
    words: Vocabulary, config: DefinitionsConfig, data: DefinitionData
) -> np.ndarray:
    """The vectors of the words of a vocabulary; zeros where there is none."""
    return _load_vectors(data.vectors, words, config.vectors_dim)


@functools.lru_cache(maxsize=1)  # Such files are large.
def _load_vectors(path, words, dim):
    try:
        loaded = word_vectors.load(path, words, dim, scale=0.0)
    except (OSError, ValueError) as error:
        raise type(error)(f"--vectors: {error}") from error
    print(f"{loaded.coverage:.1f} % of the words have a vector")
    return loaded.matrix


def words_of_all_sources(
    config: DefinitionsConfig, data: DefinitionData
) -> Vocabulary:
    """The words that have both a definition and a vector.

    Systems whose sources cover only these words can be compared; the paper
    marks them (R).

    Raises:
        ValueError: naming `--restricted`, if there is no dictionary or there
            are no vectors.
    """
    for kind, source in (
        ("definitions", data.definitions),
        ("vectors", data.vectors),
    ):
        if source is None:
            raise ValueError(
                "--restricted needs --systems that read definitions and ones "
                f"that read vectors. Received: none that reads {kind}."
            )
    words = Vocabulary.build(dict.fromkeys(filter(None, data.words), 1))
    has_vector = vectors_of(words, config, data).any(axis=1)
    has_entry = data.lookup.entries_of_all(words.words)[:, 0] > 0
    both = np.flatnonzero(has_vector & has_entry)
    return Vocabulary.build(
        {words.word(i): 1 for i in both if i >= NUM_SPECIALS}
    )


def definition_vocabulary(data: DefinitionData, max_size: int) -> Vocabulary:
    """The words that are most frequent in the definitions of a text.

    Each definition counts as often as training has words that it defines, as
    in the authors' code.

    Args:
        data: The corpus and the definitions.
        max_size: Largest size, the special words included.
    """
    words = list(data.counts)
    uses = collections.Counter()  # of each entry
    for word, entries in zip(words, data.lookup.entries_of_all(words)):
        for entry in entries[entries > 0]:
            uses[int(entry) - 1] += data.counts[word]
    counts = collections.Counter()
    for entry, number in uses.items():
        for definition in data.definitions.definitions[entry]:
            for word in definition:
                counts[word] += number
    return Vocabulary.build(counts, max_size)
