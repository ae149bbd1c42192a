"""Reads the definition demos back: what is told, and what is asked of it."""

import functools
import itertools
import re

from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated.demo_definitions_lexicon import insert_articles


def facts(text):
    """`{facet: value}` of a definition, or of a phrase of plain words."""
    found = []
    text = f" {text} "
    for name, kind in lexicon.KINDS.items():
        if any(f" {noun} " in text for noun in kind.names):
            found.append(("kind", name))
    for colour, like in lexicon.COLOURS.items():
        if f" {colour} " in text or f" of the colour of {like} " in text:
            found.append(("colour", colour))
    for origin in lexicon.ORIGINS:
        if re.search(f" (from|found in) {origin} ", text):
            found.append(("origin", origin))
    assert len(dict(found)) == len(found), text
    return dict(found)


def explained(phrase, dictionary):
    """Returns the facts of a phrase and of the definitions of its words.

    Args:
        phrase: Words of a text.
        dictionary: `{headword: [definition]}`.
    """
    found = facts(phrase)
    for word in phrase.split():
        for definition in dictionary.get(word, ()):
            for facet, value in facts(definition).items():
                assert found.setdefault(facet, value) == value, phrase
    return found


def asked_of(text):
    """`(facet, value)` that a question or a hypothesis asks or says."""
    (found,) = {
        asked for phrase, asked in _ASKED if f" {phrase} " in f" {text} "
    }
    return found


def parse(block, text):
    """The slots of a text that is an alternative of a block, or of several.

    Returns:
        A list of `{slot: words}`, one for each alternative in `text`.
    """
    found, place = [], 0
    while place < len(text):
        matches = [m for p in _patterns(block) if (m := p.match(text, place))]
        # Where a phrase may end earlier or later, the text goes on right.
        match = min(matches, key=lambda x: x.end())
        found.append(match.groupdict())
        place = match.end()
    return found


_SLOTS = {
    "who": lexicon.PERSONS,
    "where": lexicon.PLACES,
    "subject": lexicon.SUBJECTS,
    "verb": lexicon.VERBS,
}


@functools.cache
def _patterns(patterns):
    return [re.compile(_regex(pattern)) for pattern in patterns]


def _regex(pattern):
    regex = re.escape(pattern).replace("\\{", "{").replace("\\}", "}")
    regex = regex.replace("\\ ", " ")
    for slot, words in _SLOTS.items():
        regex = regex.replace(f"{{{slot}}}", f"(?P<{slot}>{'|'.join(words)})")
    regex = regex.replace("{A}", "An?").replace("{thing}", "an? (?P<thing>.+?)")
    return regex + "(?: |$)"


def _asked():
    values = {
        "kind": lexicon.KINDS,
        "colour": lexicon.COLOURS,
        "origin": lexicon.ORIGINS,
    }
    for facet, block in lexicon.ASKED.items():
        for pattern, value in itertools.product(block, values[facet]):
            phrase = insert_articles(pattern.replace("{value}", value))
            yield phrase, (facet, value)


_ASKED = list(_asked())
