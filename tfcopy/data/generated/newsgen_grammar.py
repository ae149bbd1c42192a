"""Tells the events of the generated news, with names made of syllables.

Each name, one word, belongs to one split only, which a checksum of its letters
decides: whatever the seed, no name of parts II and III is in part I.
"""

import bisect
import functools
import itertools
import random
import re
import zlib

from tfcopy.data.generated import newsgen_patterns as patterns

MAX_LENGTH = 600  # characters of a text

_SLOT = re.compile(r"\{([a-z]+)(\d?)(\.\w+)?\}")
_SPLIT_OF_REMAINDER = {0: "test", 1: "validation"}  # of eight; else training
_FIRST_IDEOGRAPH = 0x4E00


def split_of(name: str) -> str:
    """The only split in which a name, one word in Latin script, may stand."""
    remainder = zlib.crc32(name.encode()) % 8
    return _SPLIT_OF_REMAINDER.get(remainder, "train")


class Story:
    """One event: the values of its slots, and what is told about it.

    Args:
        rng: A `random.Random`.
        split: To which the names belong.
        script: As for `write`.
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
        event = rng.choice(patterns.EVENTS)
        lead, *summaries = rng.choice(leads(event))
        sentences = [lead]
        num_distractors = rng.choice((1, 2))
        num_supports = rng.randint(1, 4 - num_distractors)
        sentences += rng.sample(lines(event.supports), num_supports)
        sentences = [self.fill(sentence, values) for sentence in sentences]
        summary = self.fill(rng.choice(summaries), values)
        for line in rng.sample(lines(event.distractors), num_distractors):
            place = rng.randint(0, len(sentences))
            sentences.insert(place, self.fill(line, {}))
        return " ".join(sentences), summary

    def fill(self, line: str, values: dict[str, str]) -> str:
        """Fills the slots of a line; `values` gains those that it lacks."""

        def slot(match):
            kind, digit, part = match.groups()
            key = kind + digit
            while key not in values:
                value = self._value(kind)
                others = (values.get(f"{kind}{x}") for x in ("", 2, 3))
                if value not in others:
                    values[key] = value
            if part:
                return values[key].split(" ")[-1 if part == ".last" else 0]
            return values[key]

        return _SLOT.sub(slot, line)

    def _value(self, kind):
        if kind in patterns.TABLES:
            return self.rng.choice(patterns.TABLES[kind].split("|"))
        form = self.rng.choice(patterns.FORMS[kind].split("|"))
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
def lines(block: str) -> list[str]:
    """The lines of a block of patterns."""
    return block.strip().split("\n")


@functools.cache
def leads(event: patterns.Event) -> list[list[str]]:
    """Each key sentence, with its summaries after it."""
    blocks = f"\n{event.leads.strip()}".replace("\n> ", "\t").split("\n")[1:]
    return [block.split("\t") for block in blocks]


@functools.cache
def _syllables():
    """All 6,000 of them, and their weights, added up."""
    parts = (patterns.ONSETS, patterns.VOWELS, patterns.CODAS)
    spellings, weights = [], []
    for ranked in itertools.product(*map(enumerate, parts)):
        spellings.append("".join(part for _, part in ranked))
        (onset, _), (vowel, _), (coda, _) = ranked
        weights.append(1 / ((onset + 8) * (vowel + 2) * (coda + 1)))
    return spellings, list(itertools.accumulate(weights))
