"""The demo corpus of summaries: short news stories and their summaries.

Each story has three to five events of one kind. It is full of names of people,
places, companies and clubs, which are too rare for any vocabulary. The names of
validation and test never occur in training. Only a model that copies can
summarise the stories, and only a model with coverage can do so without
repeating itself: to the decoder all unknown names are alike. The summary has
one short sentence for each event, in an order independent of the story.
"""

import dataclasses
import random
import re
from collections.abc import Iterator

from tfcopy.data.corpora.corpus import TranslationCorpus
from tfcopy.data.generated import generated_corpus, text_tables
from tfcopy.data.generated.demo_names import Names

KINDS = text_tables.groups("demo_news_patterns")
# Words by slot, and the words around names, "* Bank", by "company forms".
_WORDS = text_tables.read_as(text_tables.phrases, "demo_news_words")
_TOKEN = re.compile(r"[^\s.,\"]+|[.,\"]")
_COUNTS = {3: "three", 4: "four", 5: "five"}
_PRONOUNS = (
    {"he": "he", "his": "his", "him": "him"},
    {"he": "she", "his": "her", "him": "her"},
)
_MAX_USES = 3  # of a name; otherwise some would be in the vocabulary
_MAX_TRIES = 20


@dataclasses.dataclass(frozen=True)
class Event:
    """The words of one event: its names and pronouns."""

    a: str
    b: str
    pronouns: dict[str, str]


class NewsGrammar:
    """Grammar of stories whose names belong to one split.

    Args:
        seed: Any integer or string.
        split: `"train"`, `"validation"` or `"test"`.
    """

    def __init__(self, seed, split: str):
        self.rng = random.Random(f"news/{seed}/{split}")
        self.names = Names(self.rng, split)
        self.uses = {}

    def story(self) -> tuple[str, str]:
        """Draws an article and its summary."""
        rng = self.rng
        kind = rng.choice(list(KINDS.values()))
        events = self._events(kind, rng.choice((3, 4, 4, 5)))
        article = self._article(kind, events)
        return article, self._summary(kind, rng.sample(events, len(events)))

    def _events(self, kind, count):
        """Events without a word in common: each name belongs to one event."""
        events, used = [], set()
        types = text_tables.words(kind["names"])
        while len(events) < count:
            a, b = (getattr(self, f"_{type}")() for type in types)
            words = f"{a} {b}".split(" ")
            if len(set(words)) == len(words) and used.isdisjoint(words):
                used.update(words)
                events.append(Event(a, b, self.rng.choice(_PRONOUNS)))
        return events

    def _article(self, kind, events) -> str:
        """Writes an opening, reports and details of all events, and echoes."""
        wanted = self.rng.randrange(50, 80)  # tokens
        opening = self._fill(
            self.rng.choice(kind["openings"]), events[0], len(events)
        )
        reports = self._tell(kind["reports"], events)
        echoes = self._tell(kind["echoes"], events)
        self.rng.shuffle(echoes)
        length = _count_tokens([opening, *reports, echoes[-1]])
        paragraphs = [[report] for report in reports]
        echoed = [echoes.pop()]
        details = list(zip(paragraphs, self._tell(kind["details"], events)))
        self.rng.shuffle(details)
        while length < wanted and (details or echoes):
            if details and (not echoes or self.rng.random() < 0.6):
                paragraph, sentence = details.pop()
                paragraph.append(sentence)
            else:
                sentence = echoes.pop()
                echoed.append(sentence)
            length += _count_tokens([sentence])
        return " ".join([opening, *sum(paragraphs, []), *echoed])

    def _tell(self, patterns, events):
        """Writes one sentence per event, in different wordings if possible."""
        lines = []
        while len(lines) < len(events):
            lines += self.rng.sample(patterns, len(patterns))
        return [self._fill(*pair) for pair in zip(lines, events)]

    def _summary(self, kind, events) -> str:
        """Writes one sentence per event."""
        lines = [self.rng.choice(kind["summaries"]) for _ in events]
        return " ".join(map(self._fill, lines, events))

    def _fill(self, line, event, count=0) -> str:
        def text_of(slot):
            if slot.type in ("a", "b"):
                name = getattr(event, slot.type)
                return name.split(" ")[-1] if slot.form == "last" else name
            if slot.type == "count":
                return _COUNTS[count]
            if slot.type in event.pronouns:
                return event.pronouns[slot.type]
            return self.rng.choice(_WORDS[slot.type])

        return text_tables.fill(line, text_of)

    # === Names ===

    def _person(self) -> str:
        return self._fill_form("person forms", self._surname())

    def _place(self) -> str:
        return self._rare(self.names.place)

    def _company(self) -> str:
        return self._fill_form("company forms", self._rare(self.names.company))

    def _club(self) -> str:
        return self._fill_form("club forms", self._place())

    def _act(self) -> str:
        """Draws a performer; some are named by an emoji."""
        is_emoji = self.rng.random() < 0.03
        name = self.names.emoji() if is_emoji else self._surname()
        return self._fill_form("act forms", name)

    def _surname(self) -> str:
        return self._rare(lambda: self.names.full_name().split(" ")[-1])

    def _fill_form(self, section, name) -> str:
        return self.rng.choice(_WORDS[section]).replace("*", name)

    def _rare(self, draw) -> str:
        """Draws a name whose words are all rare, if there are any left."""
        for _ in range(_MAX_TRIES):
            words = (name := self._draw_capitalised(draw)).split(" ")
            if all(self.uses.get(word, 0) < _MAX_USES for word in words):
                break
        for word in words:
            self.uses[word] = self.uses.get(word, 0) + 1
        return name

    def _draw_capitalised(self, draw) -> str:
        """Draws a name of which every word begins with a capital."""
        while True:
            name = draw()
            if not any(word[0].islower() for word in name.split(" ")):
                return name


def _count_tokens(sentences: list[str]) -> int:
    return sum(len(_TOKEN.findall(sentence)) for sentence in sentences)


def load(
    *,
    num_train: int = 12_000,
    num_validation: int = 300,
    num_test: int = 500,
    seed: int = 0,
) -> TranslationCorpus:
    """Makes the demo news, which are generated when they are first read.

    Args:
        num_train: Number of training stories.
        num_validation: Number of validation stories.
        num_test: Number of test stories.
        seed: Seed of the stories; they are the same on every machine.
    """
    return generated_corpus.load(
        "demo_news",
        generate,
        (num_train, num_validation, num_test),
        seed,
        tables=("demo_names", "demo_news_patterns", "demo_news_words"),
        languages=("en", "en"),
        num_sample=100,
    )


def examples() -> list[tuple[str, str]]:
    """Stories with names of all shapes and scripts, and their summaries.

    None of these names can occur in the training stories.
    """
    return text_tables.pairs("news")


def generate(split: str, num_stories: int, seed: int = 0) -> Iterator:
    """Yields articles and summaries without storing them anywhere."""
    grammar = NewsGrammar(seed, split)
    for _ in range(num_stories):
        yield grammar.story()
