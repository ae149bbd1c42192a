"""Writes the stories of the demo news and their summaries.

A story tells three to five events of the same kind, so that only the rare
names in them tell one from another. The summary gives one short sentence to
each, in an order that has nothing to do with that of the story: whoever
writes it has to remember which events it has told already.
"""

import dataclasses
import functools
import random
import re

from tfcopy.data.generated import demo_news_patterns as patterns
from tfcopy.data.generated.demo_names import Names

_SLOT = re.compile(r"\{([A-Za-z]+)(\.last)?\}")
_TOKEN = re.compile(r"[^\s.,\"]+|[.,\"]")
_COUNTS = {3: "three", 4: "four", 5: "five"}
_PRONOUNS = (
    {"he": "he", "his": "his", "him": "him"},
    {"he": "she", "his": "her", "him": "her"},
)
_MAX_USES = 3  # of a name; else some would be in the vocabulary
_MAX_TRIES = 20


@dataclasses.dataclass(frozen=True)
class Event:
    """The words that belong to one event: its names and pronouns."""

    a: str
    b: str
    pronouns: dict[str, str]


class NewsGrammar:
    """Draws stories whose names belong to one split.

    Args:
        seed: Any integer or string; the same seed gives the same stories.
        split: `"train"`, `"validation"` or `"test"`.
    """

    def __init__(self, seed, split: str):
        self.rng = random.Random(f"news/{seed}/{split}")
        self.names = Names(self.rng, split)
        self.uses = {}

    def story(self) -> tuple[str, str]:
        """Draws an article and its summary."""
        rng = self.rng
        kind = rng.choice(patterns.KINDS)
        events = self._events(kind, rng.choice((3, 4, 4, 5)))
        article = self._article(kind, events)
        summary = self._summary(kind, rng.sample(events, len(events)))
        return article, summary

    def _events(self, kind, count):
        """Events without a word in common: each name is of one event."""
        events, used = [], set()
        while len(events) < count:
            a, b = (getattr(self, f"_{name}")() for name in kind.names)
            words = f"{a} {b}".split(" ")
            if len(set(words)) == len(words) and used.isdisjoint(words):
                used.update(words)
                events.append(Event(a, b, self.rng.choice(_PRONOUNS)))
        return events

    def _article(self, kind, events) -> str:
        """An opening, a report and details of each event, and some echoes."""
        wanted = self.rng.randrange(50, 80)  # tokens
        opening = self._fill(self._line(kind.openings), events[0], len(events))
        reports = self._tell(kind.reports, events)
        echoes = self._tell(kind.echoes, events)
        self.rng.shuffle(echoes)
        length = _count_tokens([opening, *reports, echoes[-1]])
        paragraphs = [[report] for report in reports]
        told = [echoes.pop()]
        details = list(zip(paragraphs, self._tell(kind.details, events)))
        self.rng.shuffle(details)
        while length < wanted and (details or echoes):
            if details and (not echoes or self.rng.random() < 0.6):
                paragraph, sentence = details.pop()
                paragraph.append(sentence)
            else:
                sentence = echoes.pop()
                told.append(sentence)
            length += _count_tokens([sentence])
        return " ".join([opening, *sum(paragraphs, []), *told])

    def _tell(self, block, events):
        """One sentence an event, in other words each while there are any."""
        lines = []
        while len(lines) < len(events):
            lines += self.rng.sample(_lines(block), len(_lines(block)))
        return [self._fill(*pair) for pair in zip(lines, events)]

    def _summary(self, kind, events) -> str:
        """One sentence an event."""
        lines = [self._line(kind.summaries) for _ in events]
        return " ".join(map(self._fill, lines, events))

    def _fill(self, line, event, count=0) -> str:
        def slot(match):
            name = match[1].lower()
            if name in ("a", "b"):
                text = getattr(event, name)
                return text.split(" ")[-1] if match[2] else text
            if name == "count":
                text = _COUNTS[count]
            elif name in event.pronouns:
                text = event.pronouns[name]
            else:
                text = self.rng.choice(patterns.TABLES[name].split("|"))
            return text.capitalize() if match[1] != name else text

        return _SLOT.sub(slot, line)

    def _line(self, block):
        return self.rng.choice(_lines(block))

    # === Names ===

    def _person(self) -> str:
        return self._in_form(patterns.PERSON_FORMS, self._surname())

    def _place(self) -> str:
        return self._rare(self.names.place)

    def _company(self) -> str:
        name = self._rare(self.names.company)
        return self._in_form(patterns.COMPANY_FORMS, name)

    def _club(self) -> str:
        return self._in_form(patterns.CLUB_FORMS, self._place())

    def _act(self) -> str:
        """Who gives a concert; some call themselves by an emoji."""
        is_emoji = self.rng.random() < 0.03
        name = self.names.emoji() if is_emoji else self._surname()
        return self._in_form(patterns.ACT_FORMS, name)

    def _surname(self) -> str:
        return self._rare(lambda: self.names.full_name().split(" ")[-1])

    def _in_form(self, forms, name) -> str:
        return self.rng.choice(forms.split("|")).replace("*", name)

    def _rare(self, draw) -> str:
        """Draws a name whose words are all rare, if there are any left."""
        for _ in range(_MAX_TRIES):
            words = (name := self._capitalised(draw)).split(" ")
            if all(self.uses.get(word, 0) < _MAX_USES for word in words):
                break
        for word in words:
            self.uses[word] = self.uses.get(word, 0) + 1
        return name

    def _capitalised(self, draw) -> str:
        """Small letters after a full stop would hide the end of a sentence."""
        while True:
            name = draw()
            if not any(word[0].islower() for word in name.split(" ")):
                return name


@functools.cache
def _lines(block: str) -> list[str]:
    return block.strip().split("\n")


def _count_tokens(sentences: list[str]) -> int:
    return sum(len(_TOKEN.findall(sentence)) for sentence in sentences)
