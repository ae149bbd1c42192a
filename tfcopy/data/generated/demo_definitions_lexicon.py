"""Words of the definition demos, plain and invented, and their meanings.

All of their English is in `tables/demo_definitions_*.txt`. An indefinite
article is written `{a}`, and put in when the next word is known. Of a thing's
three facets, its kind, its colour and its origin, exactly two are known, and
all values are equally frequent. Thus neither the word nor the question alone
determines the answer, but both together do. The vectors of words are as if
learnt from a large text: words with similar meanings are near each other. They
are drawn, not learnt.
"""

import dataclasses
import functools
import itertools
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np

from tfcopy.data.generated import text_tables

# No word begins with a vowel: its article is `a`.
_ONSETS = (
    "b bl br d dr f fl fr g gl gr h j k kl kr l m n p pl pr r sk sl sm sn sp "
    "t tr v w y z zw"
)
_VOWELS = "a e i o u"
_MIDDLES = (
    "b d g k l m n p r t v z bl br dr gl gr kl kr lb ld lg lk lv mb mbl mp mz "
    "nd nk nt nz pl pt rb rd rg rk rl rv rz zd zl zm"
)
_ENDS = "b g k m p x z ck lk lm lp mp nk rb rk rm rp rt"
# Two syllables: English has many words of one.
_PARTS = (_ONSETS, _VOWELS, _MIDDLES, _VOWELS, _ENDS)
# Endings that the rules for lemmas would cut off.
_SUFFIX = re.compile(r"(?:s|ed|ing|er|est|men)$")


def invent(number: int, rng: random.Random) -> list[str]:
    """Draws distinct words.

    No word looks like an inflected form, and none begins a plain word, so that
    look-up never mistakes one for another's lemma.

    Args:
        number: Number of words.
        rng: The random number generator.
    """
    begun = {word[:i].lower() for word in plain_words() for i in range(20)}
    words = {}
    while len(words) < number:
        word = "".join(rng.choice(part.split()) for part in _PARTS)
        if word not in begun and not _SUFFIX.search(word):
            words[word] = None
    return list(words)


TABLES = tuple(
    f"demo_definitions_{part}" for part in ("kinds", "words", "patterns")
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of thing.

    Attributes:
        names: The nouns that definitions use.
        nouns: Plain words for such things.
        actions: Verbs that only such things take; no two kinds share a verb.
    """

    names: tuple[str, ...]
    nouns: tuple[str, ...]
    actions: tuple[str, ...]


KINDS = {
    name: Kind(**{key: text_tables.phrases(x) for key, x in sections.items()})
    for name, sections in text_tables.groups("demo_definitions_kinds").items()
}

_WORDS = text_tables.read("demo_definitions_words")
# Each colour, and other things that have it.
COLOURS = dict(map(text_tables.sides, _WORDS["colours"]))
# Words that need no definition, and their definitions.
ORDINARY = dict(map(text_tables.sides, _WORDS["ordinary"]))
ORIGINS, PERSONS, PLACES, SUBJECTS, VERBS, ADJECTIVES, TIMES = (
    text_tables.phrases(_WORDS[section])
    for section in (
        "origins",
        "persons",
        "places",
        "subjects",
        "verbs",
        "adjectives",
        "times",
    )
)

_PATTERNS = text_tables.groups("demo_definitions_patterns")
DEFINITIONS = _PATTERNS["definitions"]  # by the facets that are known of a word
QUESTIONS = _PATTERNS["questions"]
ASKED = _PATTERNS["asked"]  # names of something in a text, by facet
OPENINGS, STATEMENTS, PREMISES, HYPOTHESES, SENTENCES = (
    _PATTERNS[section][""]
    for section in (
        "openings",
        "statements",
        "premises",
        "hypotheses",
        "sentences",
    )
)
SIZES = ("", "", "", "small ", "large ")


def insert_articles(text: str) -> str:
    """Puts `a` or `an` for `{a}`, and the same for `{A}`."""
    tokens = text.split()
    for i, token in enumerate(tokens):
        if token.lower() == "{a}":
            is_vowel = tokens[i + 1][0].lower() in "aeiou"
            tokens[i] = token[1] + "n" * is_vowel
    return " ".join(tokens)


@functools.cache
def plain_words() -> tuple[str, ...]:
    """Returns all words of the tables, none of which is invented."""
    tables = [text_tables.read(name).values() for name in TABLES]
    lines = itertools.chain.from_iterable(itertools.chain(*tables))
    text = " ".join(["a an A An", *SIZES, *lines])
    return tuple(sorted({*re.sub(r"\{\w+\}", " ", text).split()} - {"|", "="}))


FACETS = ("kind", "colour", "origin")
_VALUES = {"kind": tuple(KINDS), "colour": tuple(COLOURS), "origin": ORIGINS}


@dataclasses.dataclass(frozen=True)
class Thing:
    """A word or phrase, and its known facets; `None` is unknown.

    Attributes:
        name: The word, without an article.
        kind: A key of `KINDS`.
        colour: A key of `COLOURS`.
        origin: One of `ORIGINS`.
    """

    name: str
    kind: str | None = None
    colour: str | None = None
    origin: str | None = None

    @property
    def known_facets(self) -> list[str]:
        """Names of the two facets that are known."""
        return [name for name in FACETS if getattr(self, name)]


@dataclasses.dataclass(frozen=True)
class Asked:
    """The property of a thing that a question or a hypothesis mentions.

    Attributes:
        facet: One of `FACETS`.
        value: Its value.
    """

    facet: str
    value: str

    def holds(self, thing: Thing) -> bool:
        """Returns whether a thing has the property."""
        return getattr(thing, self.facet) == self.value

    def phrase(self, rng: random.Random) -> str:
        """Draws a noun phrase for this property."""
        pattern = rng.choice(ASKED[self.facet])
        return insert_articles(
            text_tables.fill_from(pattern, {"value": self.value})
        )


def ask(facet: str, thing: Thing, holds: bool, rng: random.Random) -> Asked:
    """Draws a property that a thing has, or one that it does not have."""
    value = getattr(thing, facet)
    others = [x for x in _VALUES[facet] if x != value]
    return Asked(facet, value if holds else rng.choice(others))


def invent_things(number: int, rng: random.Random) -> dict[str, list[Thing]]:
    """Invents the words of the splits: two thirds, a sixth and a sixth."""
    words = iter(invent(number, rng))
    held_out = number // 6
    sizes = {"train": number - 2 * held_out}
    sizes.update(validation=held_out, test=held_out)
    return {
        split: [
            Thing(name, **meaning)
            for meaning, name in zip(_meanings(size, rng), words)
        ]
        for split, size in sizes.items()
    }


def plain_things(rng: random.Random) -> Iterator[Thing]:
    """Yields phrases of plain words with two facets of a thing, endlessly."""
    nouns = {name: deal(kind.nouns, rng) for name, kind in KINDS.items()}
    while True:
        for meaning in _meanings(144, rng):
            thing = Thing("", **meaning)
            name = next(nouns[thing.kind]) if thing.kind else "thing"
            if thing.colour:
                name = f"{thing.colour} {name}"
            if thing.origin:
                name = f"{name} from {thing.origin}"
            yield dataclasses.replace(thing, name=name)


def plain_nouns(rng: random.Random) -> Iterator[Thing]:
    """Endless single plain words of known kind."""
    nouns = [
        Thing(noun, name) for name, kind in KINDS.items() for noun in kind.nouns
    ]
    return deal(nouns, rng)


def definition(thing: Thing, rng: random.Random) -> str:
    """Draws a definition of a thing, in one of several wordings."""
    patterns = DEFINITIONS[" ".join(thing.known_facets)]
    text = f"{rng.choice(OPENINGS)} {rng.choice(patterns)}"
    words = {"size": rng.choice(SIZES)}
    if thing.colour:
        words["colour"] = thing.colour
        words["like"] = COLOURS[thing.colour]
    if thing.origin:
        words["origin"] = thing.origin
    if thing.kind:
        words["kind"] = rng.choice(KINDS[thing.kind].names)
    return insert_articles(text_tables.fill_from(text, words))


def deal(values: Sequence, rng: random.Random) -> Iterator:
    """Yields values without end, all equally often."""
    while True:
        yield from rng.sample(values, len(values))


class Draw:
    """Source of values of an endless iterator, some of which may be refused.

    Refused values come first next time, so that none becomes rarer.

    Args:
        values: The iterator.
    """

    def __init__(self, values: Iterator):
        self._values = values
        self._refused = []

    def __call__(self, accept: Callable = lambda value: True):
        """Returns the next value that `accept` accepts."""
        for i, value in enumerate(self._refused):
            if accept(value):
                return self._refused.pop(i)
        while not accept(value := next(self._values)):
            self._refused.append(value)
        return value


def _meanings(number, rng):
    """Meanings with facets and values as evenly distributed as possible."""
    values = {name: deal(_VALUES[name], rng) for name in FACETS}
    return [
        {name: next(values[name]) for name in FACETS if name != unknown}
        for unknown, _ in zip(deal(FACETS, rng), range(number))
    ]


_NOISE = 0.5  # standard deviation of each word's own part


def draw(
    things: Iterable[Thing], dim: int, rng: np.random.Generator
) -> tuple[tuple[str, ...], np.ndarray]:
    """Vectors of all plain words, and of things.

    Each value of a facet has a vector. A word's vector is the sum of the
    vectors of its values, with noise. A word without a facet has its own
    vector. Every component has a mean of 0 and a variance of 1.

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
    """Returns facet and value of the plain words that express one."""
    meanings = {}
    for name, kind in KINDS.items():
        for noun in (*kind.names, *kind.nouns):
            meanings[noun] = "kind", name
    for colour, like in COLOURS.items():
        meanings[colour] = meanings[like] = "colour", colour
    for origin in ORIGINS:
        meanings[origin.split()[-1]] = "origin", origin
    return {word: x for word, x in meanings.items() if " " not in word}
