"""What invented words mean, and how their definitions and texts say it.

Of three facets of a thing, its kind, its colour and its origin, exactly two
are known, each value as often as the others. Thus neither a word nor what is
asked of it tells the answer: only both together do.
"""

import dataclasses
import random
from collections.abc import Callable, Iterator, Sequence

from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated.demo_definitions_lexicon import (
    choices,
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
    """A word or phrase, and what is known of it; `None` is not known.

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
    """What a question or a hypothesis says of a thing.

    Attributes:
        facet: One of `FACETS`.
        value: Its value.
    """

    facet: str
    value: str

    def holds(self, thing: Thing) -> bool:
        return getattr(thing, self.facet) == self.value

    def phrase(self, rng: random.Random) -> str:
        """A noun phrase that says it."""
        pattern = rng.choice(choices(lexicon.ASKED[self.facet]))
        return with_articles(pattern.replace("{value}", self.value))


def ask(facet: str, thing: Thing, holds: bool, rng: random.Random) -> Asked:
    """Something of a facet that holds of a thing, or that does not."""
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
        name: deal(choices(kind.nouns), rng)
        for name, kind in lexicon.KINDS.items()
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
        for noun in choices(kind.nouns)
    ]
    return deal(nouns, rng)


def definition(thing: Thing, rng: random.Random) -> str:
    """One of the wordings of what is known of a thing."""
    pattern = lexicon.DEFINITIONS[" ".join(thing.known)]
    text = f"{rng.choice(choices(lexicon.OPENINGS))} "
    text += rng.choice(choices(pattern))
    slots = {
        "{size}": rng.choice(choices(lexicon.SIZES)),
        "{colour}": thing.colour,
        "{like}": lexicon.COLOURS.get(thing.colour),
        "{origin}": thing.origin,
    }
    if thing.kind:
        names = lexicon.KINDS[thing.kind].names
        slots["{kind}"] = rng.choice(choices(names))
    return with_articles(fill(text, slots))


def fill(text: str, slots: dict[str, str | None]) -> str:
    """Puts words into slots."""
    for slot, words in slots.items():
        if words is not None:
            text = text.replace(slot, words)
    return text


def deal(values: Sequence, rng: random.Random) -> Iterator:
    """Endless draws, each value as often as the others."""
    while True:
        yield from rng.sample(values, len(values))


class Draw:
    """Draws of an endless iterator that may refuse some of its values.

    What is refused comes first next time, so that none is drawn more rarely.

    Args:
        values: The iterator.
    """

    def __init__(self, values: Iterator):
        self._values = values
        self._refused = []

    def __call__(self, accept: Callable = lambda value: True):
        """The next value that `accept` takes."""
        for i, value in enumerate(self._refused):
            if accept(value):
                return self._refused.pop(i)
        while not accept(value := next(self._values)):
            self._refused.append(value)
        return value


def _meanings(number, rng):
    """As many values of each facet, and as many pairs of facets, as can be."""
    values = {name: deal(_VALUES[name], rng) for name in FACETS}
    missing = deal(FACETS, rng)
    return [
        {name: next(values[name]) for name in FACETS if name != unknown}
        for unknown, _ in zip(missing, range(number))
    ]
