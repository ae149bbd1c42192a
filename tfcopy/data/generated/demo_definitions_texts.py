"""Writes the questions, sentence pairs and sentences of the definition demos.

One example in four has only plain words, the others have invented ones. In
validation and test, half of these have words of the training examples, and half
have words of their own split; never both.
"""

import itertools
import random
from collections.abc import Iterator, Set

from tfcopy.data.corpora import nli, squad
from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated import text_tables
from tfcopy.data.generated.demo_definitions_lexicon import (
    FACETS,
    Draw,
    Thing,
    ask,
    deal,
    plain_nouns,
    plain_things,
    with_articles,
)

# The origin of the examples' words, in turn.
_SOURCES = {
    "train": ("plain", "seen", "seen", "seen"),
    "validation": ("plain", "seen", "unseen", "seen", "plain")
    + ("unseen", "seen", "unseen"),
}
_SOURCES["test"] = _SOURCES["validation"]


def text_of(example) -> str:
    """Returns the text that a model reads of an example."""
    if isinstance(example, squad.Example):
        return f"{example.context} {example.question}"
    if isinstance(example, nli.Example):
        return f"{example.premise} {example.hypothesis}"
    return example


class Writer:
    """Writer of the examples of one split.

    Args:
        things: Invented words of all splits, see `invent_things`.
        split: `"train"`, `"validation"` or `"test"`.
        seed: Any string; the examples depend on it.
        seen: The `text_of` of examples that are not written.
    """

    def __init__(
        self,
        things: dict[str, list[Thing]],
        split: str,
        seed: str,
        seen: Set[str] = frozenset(),
    ):
        self.seen = seen
        self.rng = random.Random(f"{seed}/{split}")
        self.split = split
        self.things = {"seen": things["train"], "unseen": things[split]}

    def questions(self, number: int, num_things: int) -> Iterator:
        """Yields `squad.Example`s; their ids name the origin of their words."""
        draws = self._draws(plain_things(self.rng), self.things)
        for i, source in zip(range(number), self._sources()):
            yield self._new(
                lambda: squad.Example(
                    f"{self.split}-{i}-{source}",
                    *self._question(draws[source], num_things),
                )
            )

    def entailments(self, number: int) -> Iterator:
        """Yields `nli.Example`s."""
        draws = self._draws(plain_things(self.rng), self.things)
        labels = {x: deal(range(len(nli.LABELS)), self.rng) for x in draws}
        for _, source in zip(range(number), self._sources()):
            label = next(labels[source])
            yield self._new(lambda: self._entailment(draws[source](), label))

    def sentences(self, number: int) -> Iterator[str]:
        """Yields sentences; each thing is followed by a verb of its kind."""
        things = {
            source: [x for x in of_source if x.kind]
            for source, of_source in self.things.items()
        }
        draws = self._draws(plain_nouns(self.rng), things)
        for _, source in zip(range(number), self._sources()):
            yield self._new(lambda: self._sentence(draws[source]))

    def _new(self, write):
        """Calls a function until its text is not `seen`."""
        while text_of(example := write()) in self.seen:
            pass
        return example

    def _sources(self):
        return itertools.cycle(_SOURCES[self.split])

    def _draws(self, plain, things):
        draws = {"plain": Draw(plain)}
        for source, of_source in things.items():
            draws[source] = Draw(deal(of_source, self.rng))
        return draws

    def _question(self, draw, num_things):
        rng = self.rng
        thing = draw()
        asked = ask(rng.choice(thing.known), thing, True, rng)
        things = [thing]
        while len(things) < num_things:
            names = {x.name for x in things}
            things.append(
                draw(lambda x: x.name not in names and not asked.holds(x))
            )
        rng.shuffle(things)
        persons = rng.sample(lexicon.PERSONS, num_things)
        places = rng.sample(lexicon.PLACES, num_things)
        statements = [
            self._choose(
                lexicon.STATEMENTS,
                thing=f"{{a}} {x.name}",
                who=who,
                where=place,
            )
            for x, who, place in zip(things, persons, places)
        ]
        context = " ".join(statements)
        wanted = rng.choice(sorted(lexicon.QUESTIONS))
        question = self._choose(
            lexicon.QUESTIONS[wanted], asked=asked.phrase(rng)
        )
        i = things.index(thing)
        answer = {
            "who": persons[i],
            "where": places[i].split(" ", 1)[1],  # without preposition
        }[wanted]
        start = f" {context} ".index(f" {answer} ")
        return context, question, (squad.Answer(answer, start),)

    def _entailment(self, thing, label):
        rng = self.rng
        is_known = nli.LABELS[label] != "neutral"
        facets = [x for x in FACETS if (x in thing.known) == is_known]
        holds = nli.LABELS[label] == "entailment"
        asked = ask(rng.choice(facets), thing, holds, rng)
        shared = {
            "subject": rng.choice(lexicon.SUBJECTS),
            "verb": rng.choice(lexicon.VERBS),
        }
        premise = self._choose(
            lexicon.PREMISES,
            thing=f"{{a}} {thing.name}",
            where=rng.choice(lexicon.PLACES),
            **shared,
        )
        hypothesis = self._choose(
            lexicon.HYPOTHESES, asked=asked.phrase(rng), **shared
        )
        return nli.Example(premise, hypothesis, label)

    def _sentence(self, draw):
        rng = self.rng
        pattern = rng.choice(lexicon.SENTENCES)
        slots = {
            "adjective": rng.choice(lexicon.ADJECTIVES),
            "when": rng.choice(lexicon.TIMES),
            "who": rng.choice(lexicon.PERSONS),
        }
        for slot in ("thing", "other"):
            if f"{{{slot}}}" in pattern:
                thing = draw()
                action = rng.choice(lexicon.KINDS[thing.kind].actions)
                slots[slot] = f"{thing.name} {action}"
        return self._choose((pattern,), **slots)

    def _choose(self, patterns, **words):
        """Draws one of the patterns, and fills its slots."""
        pattern = self.rng.choice(patterns)
        return with_articles(text_tables.fill_from(pattern, words))
