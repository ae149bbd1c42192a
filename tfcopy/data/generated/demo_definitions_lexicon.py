"""The plain words of the definition demos.

All of their English is in `tables/demo_definitions_*.txt`. An indefinite
article is written `{a}`, and put in when the next word is known.
"""

import dataclasses
import functools
import itertools
import re

from tfcopy.data.generated import text_tables

TABLES = tuple(
    f"demo_definitions_{part}" for part in ("kinds", "words", "patterns")
)


@dataclasses.dataclass(frozen=True)
class Kind:
    """A kind of thing.

    Attributes:
        names: The nouns that definitions use.
        nouns: Plain words for such things.
        actions: Verbs for what only such things do; no two kinds share a verb.
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
COLOURS = dict(line.sides() for line in _WORDS["colours"])
# Words that need no definition, and their definitions.
ORDINARY = dict(line.sides() for line in _WORDS["ordinary"])
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
ASKED = _PATTERNS["asked"]  # how a text names something, by facet
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


def with_articles(text: str) -> str:
    """Puts `a` or `an` for `{a}`, and the same for `{A}`."""
    tokens = text.split()
    for i, token in enumerate(tokens):
        if token.lower() == "{a}":
            is_vowel = tokens[i + 1][0].lower() in "aeiou"
            tokens[i] = token[1] + "n" * is_vowel
    return " ".join(tokens)


@functools.cache
def plain_words() -> tuple[str, ...]:
    """All words of texts, questions and definitions that are not invented."""
    tables = [text_tables.read(name).values() for name in TABLES]
    lines = itertools.chain.from_iterable(itertools.chain(*tables))
    text = " ".join(["a an A An", *SIZES, *lines])
    tokens = re.sub(r"\{\w+\}", " ", text).split()
    return tuple(sorted({*tokens} - {"|", "="}))
