"""Word vectors of the definition demos, of invented words as well.

They are what much text would teach of a word: words of like meaning are near
each other. No text has these meanings, they are drawn.
"""

from collections.abc import Iterable

import numpy as np

from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated.demo_definitions_lexicon import choices, plain_words
from tfcopy.data.generated.demo_definitions_meanings import FACETS, Thing

_NOISE = 0.5  # standard deviation of what a word has for itself


def draw(
    things: Iterable[Thing], dim: int, rng: np.random.Generator
) -> tuple[tuple[str, ...], np.ndarray]:
    """Vectors of all plain words, and of things.

    Each value of a facet has a vector. A word has the sum of those of what it
    means, and noise; a word without a facet has a vector of its own. Each
    number of each of them has a mean of 0 and a variance of 1.

    Args:
        things: Of one word each, not plain.
        dim: Positive integer.
        rng: Draws.

    Returns:
        `(words, matrix)`: the words, and float32, `(len(words), dim)`.
    """
    values = {
        (facet, value): rng.standard_normal(dim)
        for facet, value in _plain_meanings().values()
    }
    known = {word: [x] for word, x in _plain_meanings().items()}
    for thing in things:
        pairs = [(facet, getattr(thing, facet)) for facet in FACETS]
        known[thing.name] = [x for x in pairs if x in values]
    words = tuple(dict.fromkeys((*plain_words(), *known)))
    matrix = rng.standard_normal((len(words), dim))
    for i, word in enumerate(words):
        if word in known:
            meaning = sum(values[x] for x in known[word])
            meaning /= len(known[word]) ** 0.5
            matrix[i] *= _NOISE
            matrix[i] += (1 - _NOISE**2) ** 0.5 * meaning
    return words, matrix.astype(np.float32)


def _plain_meanings() -> dict[str, tuple[str, str]]:
    """Facet and value of the plain words that mean one."""
    meanings = {}
    for name, kind in lexicon.KINDS.items():
        for noun in (*choices(kind.names), *choices(kind.nouns)):
            meanings[noun] = "kind", name
    for colour, like in lexicon.COLOURS.items():
        meanings[colour] = meanings[like] = "colour", colour
    for origin in lexicon.ORIGINS:
        meanings[origin.split()[-1]] = "origin", origin
    return {word: x for word, x in meanings.items() if " " not in word}
