import collections
import itertools
import random

import pytest

from tests.data.generated.definition_reading import asked_of, facts
from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated.demo_definitions_meanings import (
    FACETS,
    Asked,
    Draw,
    Thing,
    ask,
    deal,
    definition,
    invent_things,
    plain_nouns,
    plain_things,
)


@pytest.fixture
def rng():
    return random.Random(0)


def test_all_wordings_say_what_is_known(rng):
    for values in itertools.product(
        lexicon.KINDS, lexicon.COLOURS, lexicon.ORIGINS
    ):
        thing = Thing("wug", *values)
        for unknown in FACETS:
            known = {x: getattr(thing, x) for x in FACETS if x != unknown}
            text = definition(Thing("wug", **known), rng)
            assert facts(text) == known, text


def test_what_is_asked_holds_or_does_not(rng):
    for thing in (
        Thing("wug", "animal", "red"),
        Thing("wug", None, "red", "the north"),
    ):
        for facet in FACETS:
            for _ in range(60):
                asked = ask(facet, thing, False, rng)
                assert not asked.holds(thing)
                if facet in thing.known:
                    asked = ask(facet, thing, True, rng)
                    assert asked.holds(thing)
                assert asked_of(asked.phrase(rng)) == (facet, asked.value)


def test_a_thing_is_of_its_kind():
    animal, tool = Asked("kind", "animal"), Asked("kind", "tool")
    thing = Thing("wug", "animal", "red")
    assert animal.holds(thing) and not tool.holds(thing)
    assert not animal.holds(Thing("dax", None, "red", "the north"))
    assert thing.known == ["kind", "colour"]


def test_plain_things_say_what_they_are(rng):
    nouns = {
        noun: name
        for name, kind in lexicon.KINDS.items()
        for noun in kind.nouns
    }
    for thing in itertools.islice(plain_things(rng), 500):
        told = {x: getattr(thing, x) for x in thing.known if x != "kind"}
        assert facts(thing.name) == told
        words = set(thing.name.split()) & set(nouns)
        assert {nouns[word] for word in words} == {thing.kind} - {None}
        assert len(thing.known) == 2
    for thing in itertools.islice(plain_nouns(rng), 64):
        assert nouns[thing.name] == thing.kind


@pytest.mark.parametrize("number", [120, 432, 501])
def test_all_values_are_as_even_as_can_be(number, rng):
    things = invent_things(number, rng)
    assert sum(map(len, things.values())) == number
    for of_split in things.values():
        counts = collections.defaultdict(collections.Counter)
        for thing in of_split:
            counts["known"][tuple(thing.known)] += 1
            for facet in thing.known:
                counts[facet][getattr(thing, facet)] += 1
        for counter in counts.values():
            assert max(counter.values()) - min(counter.values()) <= 1


def test_what_is_refused_comes_next(rng):
    draw = Draw(iter(range(10)))
    assert draw(lambda x: x == 2) == 2
    assert draw(lambda x: x % 2) == 1
    assert [draw() for _ in range(4)] == [0, 3, 4, 5]


def test_deals_are_even(rng):
    dealt = list(itertools.islice(deal("abc", rng), 9))
    assert [sorted(dealt[i : i + 3]) for i in (0, 3, 6)] == [list("abc")] * 3
