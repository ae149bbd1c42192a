"""Bilingual words of the demo catalogue, read from their table."""

import dataclasses
import functools

from tfcopy.data.generated import text_tables
from tfcopy.data.generated.demo_catalogs_spelling import (
    adjective_forms,
    english_verb,
    plural,
    spanish_verb,
)
from tfcopy.data.generated.demo_parliament_spelling import number_forms

_WORDS = text_tables.read("demo_catalogs_words")


@dataclasses.dataclass(frozen=True)
class Phrase:
    """What fills a slot: its forms in both languages, gender and number."""

    en: dict[str, str]
    es: dict[str, str]
    feminine: bool = False
    plural: bool = False

    @classmethod
    def plain(cls, en: str, es: str, feminine=False, plural=False) -> "Phrase":
        return cls({"": en}, {"": es}, feminine, plural)


@dataclasses.dataclass(frozen=True)
class Noun:
    """A noun, the kinds of names it has, and of those they may belong to."""

    en: list[str]
    es: list[str]
    feminine: bool
    kinds: list[str]
    owners: list[str]


@functools.cache
def nouns(section: str) -> list[Noun]:
    """The nouns of a section."""
    return [_noun(*line.sides()) for line in _WORDS[section]]


def _noun(en, es):
    es, kinds, owners = (es.split("; ") + ["", ""])[:3]
    es, gender = es.rsplit(" ", 1)
    es = es.split("/") if "/" in es else [es, plural(es)]
    return Noun(
        number_forms(en), es, gender == "f", kinds.split(), owners.split()
    )


@functools.cache
def owner_nouns() -> dict[str, Noun]:
    """Nouns of what names belong to, by the kind of name."""
    result = {}
    for line in _WORDS["owner nouns"]:
        kind, noun = line.split(": ")
        result[kind] = _noun(*noun.split(" = "))
    return result


@functools.cache
def verbs(section: str) -> list[Phrase]:
    """The verbs of a section, with all their forms."""
    sides = [line.sides() for line in _WORDS[section]]
    return [Phrase(english_verb(en), spanish_verb(es)) for en, es in sides]


@functools.cache
def adjectives(section: str) -> list[tuple[str, list[str]]]:
    """English adjectives, and the four forms of the Spanish ones."""
    sides = [line.sides() for line in _WORDS[section]]
    return [(en, adjective_forms(es)) for en, es in sides]


@functools.cache
def phrases(section: str) -> list[Phrase]:
    """The phrases of a section, which have one form."""
    return [Phrase.plain(*line.sides()) for line in _WORDS[section]]
