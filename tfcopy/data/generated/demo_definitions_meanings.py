"""What invented words mean, and how their definitions and texts say it.

Of a thing's three facets, its kind, its colour and its origin, exactly two are
known, and all values are equally frequent. Thus neither the word nor the
question alone gives the answer: only both together do.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence

from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated import slot_filling
from tfcopy.data.generated.demo_definitions_lexicon import (
    with_articles,
)
from tfcopy.data.generated.demo_definitions_words import invent

FACETS = ("kind", "colour", "origin")
_VALUES = {
    "kind": tuple(lexicon.KINDS),
    "colour": tuple(lexicon.COLOURS),
    "origin": lexicon.ORIGINS,
}


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
    def known(self) -> list[str]:
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
        return getattr(thing, self.facet) == self.value

    def phrase(self, rng: random.Random) -> str:
        """A noun phrase for this property."""
        pattern = rng.choice(lexicon.ASKED[self.facet])
        return with_articles(
            slot_filling.fill_from(pattern, {"value": self.value})
        )


def ask(facet: str, thing: Thing, holds: bool, rng: random.Random) -> Asked:
    """Draws a property that a thing has, or one that it does not have."""
    value = getattr(thing, facet)
    others = [x for x in _VALUES[facet] if x != value]
    return Asked(facet, value if holds else rng.choice(others))


def invent_things(number: int, rng: random.Random) -> dict[str, list[Thing]]:
    """Invented words of the three splits: two thirds, a sixth and a sixth."""
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
    """Endless phrases of plain words that tell two facets of a thing."""
    nouns = {
        name: deal(kind.nouns, rng) for name, kind in lexicon.KINDS.items()
    }
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
        Thing(noun, name)
        for name, kind in lexicon.KINDS.items()
        for noun in kind.nouns
    ]
    return deal(nouns, rng)


def definition(thing: Thing, rng: random.Random) -> str:
    """A definition of a thing, in one of several wordings."""
    patterns = lexicon.DEFINITIONS[" ".join(thing.known)]
    text = f"{rng.choice(lexicon.OPENINGS)} {rng.choice(patterns)}"
    words = {"size": rng.choice(lexicon.SIZES)}
    if thing.colour:
        words["colour"] = thing.colour
        words["like"] = lexicon.COLOURS[thing.colour]
    if thing.origin:
        words["origin"] = thing.origin
    if thing.kind:
        words["kind"] = rng.choice(lexicon.KINDS[thing.kind].names)
    return with_articles(slot_filling.fill_from(text, words))


def deal(values: Sequence, rng: random.Random) -> Iterator:
    """Yields values without end, all equally often."""
    while True:
        yield from rng.sample(values, len(values))


class Draw:
    """Draws from an endless iterator, with the option to refuse values.

    Refused values come first next time, so that none becomes rarer.

    Args:
        values: The iterator.
    """

    def __init__(self, values: Iterator):
        self._values = values
        self._refused = []

    def __call__(self, accept: Callable = lambda value: True):
        """The next value that `accept` accepts."""
        for i, value in enumerate(self._refused):
            if accept(value):
                return self._refused.pop(i)
        while not accept(value := next(self._values)):
            self._refused.append(value)
        return value


def _meanings(number, rng):
    """Meanings with facets and values as evenly distributed as possible."""
    values = {name: deal(_VALUES[name], rng) for name in FACETS}
    missing = deal(FACETS, rng)
    return [
        {name: next(values[name]) for name in FACETS if name != unknown}
        for unknown, _ in zip(missing, range(number))
    ]
