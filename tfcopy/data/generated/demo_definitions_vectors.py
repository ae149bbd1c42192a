"""Word vectors of the definition demos, including invented words.

They are what a large text would teach: words with similar meanings are near
each other. They are not learnt from text, but drawn.
"""

from collections.abc import Iterable

import numpy as np

from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated.demo_definitions_lexicon import plain_words
from tfcopy.data.generated.demo_definitions_meanings import FACETS, Thing

_NOISE = 0.5  # standard deviation of each word's own part


def draw(
    things: Iterable[Thing], dim: int, rng: np.random.Generator
) -> tuple[tuple[str, ...], np.ndarray]:
    """Vectors of all plain words, and of things.

    Each value of a facet has a vector. A word's vector is the sum of those of
    its values, with noise; a word without a facet has its own vector. Every
    component has a mean of 0 and a variance of 1.

    Args:
        things: Things of one invented word each.
        dim: Positive integer.
        rng: The random number generator.

    Returns:
        `(words, matrix)`: the words, and float32, `(len(words), dim)`.
    """
    values = {
        (facet, value): rng.standard_normal(dim)
        for facet, value in _plain_meanings().values()
    }
    meanings = {word: [x] for word, x in _plain_meanings().items()}
    for thing in things:
        pairs = [(facet, getattr(thing, facet)) for facet in FACETS]
        meanings[thing.name] = [x for x in pairs if x in values]
    words = tuple(dict.fromkeys((*plain_words(), *meanings)))
    matrix = rng.standard_normal((len(words), dim))
    for i, word in enumerate(words):
        if word in meanings:
            meaning = sum(values[x] for x in meanings[word])
            meaning /= len(meanings[word]) ** 0.5
            matrix[i] *= _NOISE
            matrix[i] += (1 - _NOISE**2) ** 0.5 * meaning
    return words, matrix.astype(np.float32)


def _plain_meanings() -> dict[str, tuple[str, str]]:
    """Facet and value of the plain words that express one."""
    meanings = {}
    for name, kind in lexicon.KINDS.items():
        for noun in (*kind.names, *kind.nouns):
            meanings[noun] = "kind", name
    for colour, like in lexicon.COLOURS.items():
        meanings[colour] = meanings[like] = "colour", colour
    for origin in lexicon.ORIGINS:
        meanings[origin.split()[-1]] = "origin", origin
    return {word: x for word, x in meanings.items() if " " not in word}
