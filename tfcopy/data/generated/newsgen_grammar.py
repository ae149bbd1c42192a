"""Writes the events of the generated news, with names made of syllables.

Each name is one word and belongs to one split only, given by a checksum of its
letters: whatever the seed, no name of parts II and III is in part I.
"""

import bisect
import functools
import itertools
import random
import re

from tfcopy.data.generated import slot_filling, text_tables
from tfcopy.data.generated.demo_names import split_of

MAX_LENGTH = 600  # characters of a text

EVENTS = text_tables.groups("newsgen_patterns")
# Fillers of slots: words by type, forms of names by "person forms" and so on.
WORDS = {
    section: text_tables.phrases(lines)
    for section, lines in text_tables.read("newsgen_words").items()
} | {
    "year": tuple(map(str, range(2027, 2035))),
    "number": tuple(map(str, range(11, 100))),
    "percent": tuple(map(str, range(2, 36))),
    "share": tuple(map(str, range(51, 75))),
    "sum": tuple(f"{millions} million" for millions in range(2, 61)),
}
# Onsets, vowels and codas.
SYLLABLE = tuple(
    text_tables.words(text_tables.read("newsgen_words")[section])
    for section in ("onsets", "vowels", "codas")
)
_FIRST_IDEOGRAPH = 0x4E00


class Story:
    """One event: the values of its slots, and the text about it.

    Args:
        rng: A `random.Random`.
        split: The split to which the names belong.
        script: As in `newsgen.write`.
    """

    def __init__(self, rng: random.Random, split: str, script: str = "latin"):
        self.rng = rng
        self.split = split
        self.script = script
        self.names = set()  # no two things share one

    def tell(self) -> tuple[str, str]:
        """Draws a text of three to five sentences, and its summary."""
        while True:
            text, summary = self._draw()
            if len(text) <= MAX_LENGTH:
                return text, summary

    def _draw(self):
        rng, values = self.rng, {}
        event = rng.choice(list(EVENTS))
        lead, *summaries = rng.choice(leads(event))
        sentences = [lead]
        num_distractors = rng.choice((1, 2))
        num_supports = rng.randint(1, 4 - num_distractors)
        sentences += rng.sample(EVENTS[event]["supports"], num_supports)
        sentences = [self.fill(sentence, values) for sentence in sentences]
        summary = self.fill(rng.choice(summaries), values)
        distractors = EVENTS[event]["distractors"]
        for line in rng.sample(distractors, num_distractors):
            place = rng.randint(0, len(sentences))
            sentences.insert(place, self.fill(line, {}))
        return " ".join(sentences), summary

    def fill(self, line: str, values: dict[str, str]) -> str:
        """Fills the slots of a line; `values` gains those that it lacks."""

        def text_of(slot):
            while slot.name not in values:
                value = self._value(slot.type)
                others = (values.get(f"{slot.type}{x}") for x in ("", 2, 3))
                if value not in others:
                    values[slot.name] = value
            value = values[slot.name]
            if slot.form:
                return value.split(" ")[-1 if slot.form == "last" else 0]
            return value

        return slot_filling.fill(line, text_of)

    def _value(self, type):
        if type in WORDS:
            return self.rng.choice(WORDS[type])
        form = self.rng.choice(WORDS[f"{type} forms"])
        return re.sub(r"\*", lambda _: self._name(), form)

    def _name(self):
        spellings, weights = _syllables()
        while True:
            count = self.rng.choice((2, 2, 3))
            drawn = [
                bisect.bisect(weights, self.rng.random() * weights[-1])
                for _ in range(count)
            ]
            name = "".join(spellings[i] for i in drawn).capitalize()
            if split_of(name) == self.split and name not in self.names:
                self.names.add(name)
                break
        if self.script == "cjk":
            return "".join(chr(_FIRST_IDEOGRAPH + i) for i in drawn)
        return name


@functools.cache
def leads(event: str) -> list[list[str]]:
    """The key sentences of an event, each with its summaries after it."""
    return text_tables.with_replies(EVENTS[event]["leads"])


@functools.cache
def _syllables():
    """All 6,000 syllables, and their cumulative weights."""
    spellings, weights = [], []
    for ranked in itertools.product(*map(enumerate, SYLLABLE)):
        spellings.append("".join(part for _, part in ranked))
        (onset, _), (vowel, _), (coda, _) = ranked
        weights.append(1 / ((onset + 8) * (vowel + 2) * (coda + 1)))
    return spellings, list(itertools.accumulate(weights))
