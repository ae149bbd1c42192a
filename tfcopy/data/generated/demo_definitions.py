"""The definition demos: texts of invented words, and their dictionary.

A text can only be understood if its invented words are known: who has "a tool"
if Omar found a blicket, whether "A woman buys a zorp ." entails "A woman buys
something red .", the verb after "the wug". The dictionary explains these words
in plain ones. Without it, a model that does not know them cannot distinguish
them, and can only guess.

All texts are tokens between blanks. One example in four has only plain words.
In validation and test, half of the others have invented words of the training
set, and half have words that never occur in training (`get_unseen_words`); no
example mixes the two.

The idea comes from [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286).
"""

import functools
import itertools
import random
from collections.abc import Callable, Iterator, Set

import numpy as np

from tfcopy.data.corpora import nli, squad
from tfcopy.data.corpora.corpus import (
    SPLITS,
    Corpus,
    Split,
    check_range,
    fingerprint,
)
from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.generated import demo_definitions_lexicon as lexicon
from tfcopy.data.generated import generated_corpus, text_tables

_NUM_WORDS = 432  # makes all values equally frequent in each split
_SEED = 0
_NUM_THINGS = 3  # of which a context tells


def questions(**sizes: int) -> Corpus:
    """Generates questions about one of three things, as `squad.Example`s.

    A context says who has which things and where. A question asks who has one
    of them, or where it is, and names it by the definition alone. The answer is
    a span that occurs once in the context. A model that does not know the
    things can only guess.

    The id of a question ends in `plain`, `seen` or `unseen`, like its things.

    Args:
        **sizes: `num_train`, `num_validation` and `num_test`, the number of
            examples of each split; by default 20,000, 500 and 1,000.

    Raises:
        CorpusError: an argument is out of its range.
    """
    return _corpus("demo questions", Writer.questions, **sizes)


def entailments(**sizes: int) -> Corpus:
    """Generates sentence pairs and their relation, as `nli.Example`s.

    The hypothesis states a fact about the thing in the premise: a known one
    (entailment), a false one (contradiction) or an unknown one (neutral). All
    three are equally frequent, whatever the premise or the hypothesis.

    Args:
        **sizes: As in `questions`.

    Raises:
        CorpusError: an argument is out of its range.
    """
    return _corpus("demo entailments", Writer.entailments, **sizes)


def sentences(**sizes: int) -> Corpus:
    """Generates sentences, `str`, for language models.

    Each invented word is followed by a verb, one of two that fit its
    definition, of 16 in all.

    Args:
        **sizes: As in `questions`.

    Raises:
        CorpusError: an argument is out of its range.
    """
    return _corpus("demo sentences", Writer.sentences, **sizes)


def dictionary() -> Definitions:
    """Returns definitions of all invented words, and of some plain ones.

    Half of the words have a second definition, of the same meaning.
    """
    rng = random.Random(f"definitions/dictionary/{_SEED}")
    things = [x for of_split in _things().values() for x in of_split]
    for name, kind in lexicon.KINDS.items():
        things += [lexicon.Thing(noun, name) for noun in kind.nouns]
    entries = {
        thing.name: _wordings(thing, rng)
        for thing in sorted(things, key=lambda x: x.name)
    }
    entries.update({word: (text,) for word, text in lexicon.ORDINARY.items()})
    return Definitions(
        tuple(entries),
        tuple(
            tuple(tuple(text.split()) for text in texts)
            for texts in entries.values()
        ),
    )


def get_unseen_words() -> frozenset[str]:
    """Returns the words that are invented for the test set alone."""
    return frozenset(x.name for x in _things()["test"])


def nouns_by_kind() -> dict[str, tuple[str, ...]]:
    """Returns plain nouns, and invented ones that training never shows."""
    things = _things()["test"]
    return {
        name: (
            *kind.nouns,
            *(thing.name for thing in things if thing.kind == name),
        )
        for name, kind in lexicon.KINDS.items()
    }


def vectors(*, dim: int = 64) -> tuple[tuple[str, ...], np.ndarray]:
    """Draws vectors of all words, plain and invented, by their meanings.

    Args:
        dim: Size of the vectors, 8 or more.

    Returns:
        `(words, matrix)`: the words, and float32, `(len(words), dim)`.

    Raises:
        CorpusError: `dim` is out of its range.
    """
    check_range("dim", dim, 8)
    things = _things()
    rng = random.Random(f"definitions/vectors/{_SEED}")
    return lexicon.draw(
        (x for name in SPLITS for x in things[name]),
        dim,
        np.random.default_rng(rng.getrandbits(64)),
    )


def _corpus(
    name,
    write: Callable,
    *,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 1_000,
) -> Corpus:
    """Makes a corpus; `write` yields a number of examples from a `Writer`."""
    numbers = num_train, num_validation, num_test
    splits = {}
    for last, (split, number) in enumerate(zip(SPLITS, numbers), 1):
        earlier = dict(zip(SPLITS[:last], numbers))
        key = (*earlier.items(), _NUM_WORDS, _SEED)
        splits[split] = Split(
            functools.partial(_read, name, write, earlier),
            fingerprint(_grammar_fingerprint(), name, *key),
            number,
        )
    return Corpus(name=name, splits=splits, tokenized=True, generated=True)


def _read(name, write, sizes) -> Iterator:
    """Yields the examples of the last split that are in none before it."""
    seen = set()
    for split, number in sizes.items():
        writer = Writer(_things(), split, f"{name}/{_SEED}", seen)
        examples = write(writer, number)
        if split != [*sizes][-1]:
            seen = seen.union(map(text_of, examples))
    return examples


@functools.cache
def _things() -> dict[str, list[lexicon.Thing]]:
    rng = random.Random(f"definitions/words/{_SEED}")
    return lexicon.invent_things(_NUM_WORDS, rng)


def _wordings(thing, rng):
    """Draws one or two definitions."""
    wordings = {lexicon.definition(thing, rng): None}
    if rng.random() < 0.5:
        while len(wordings) < 2:
            wordings[lexicon.definition(thing, rng)] = None
    return tuple(wordings)


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that stale ids are never read."""
    writer = Writer(_things(), "test", "fingerprint")
    sample = [
        *writer.questions(50),
        *writer.entailments(50),
        *writer.sentences(50),
        dictionary().fingerprint,
    ]
    return generated_corpus.grammar_fingerprint(lexicon.TABLES, sample)


# === Writing ===

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
        things: dict[str, list[lexicon.Thing]],
        split: str,
        seed: str,
        seen: Set[str] = frozenset(),
    ):
        self.seen = seen
        self.rng = random.Random(f"{seed}/{split}")
        self.split = split
        self.things = {"seen": things["train"], "unseen": things[split]}

    def questions(self, number: int) -> Iterator:
        """Yields `squad.Example`s; their ids name the origin of their words."""
        draws = self._draws(lexicon.plain_things(self.rng), self.things)
        for i, source in zip(range(number), self._sources()):
            yield self._new(
                lambda: squad.Example(
                    f"{self.split}-{i}-{source}", *self._question(draws[source])
                )
            )

    def entailments(self, number: int) -> Iterator:
        """Yields `nli.Example`s."""
        draws = self._draws(lexicon.plain_things(self.rng), self.things)
        labels = {
            x: lexicon.deal(range(len(nli.LABELS)), self.rng) for x in draws
        }
        for _, source in zip(range(number), self._sources()):
            label = next(labels[source])
            yield self._new(lambda: self._entailment(draws[source](), label))

    def sentences(self, number: int) -> Iterator[str]:
        """Yields sentences; each thing is followed by a verb of its kind."""
        things = {
            source: [x for x in of_source if x.kind]
            for source, of_source in self.things.items()
        }
        draws = self._draws(lexicon.plain_nouns(self.rng), things)
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
        draws = {"plain": lexicon.Draw(plain)}
        for source, of_source in things.items():
            draws[source] = lexicon.Draw(lexicon.deal(of_source, self.rng))
        return draws

    def _question(self, draw):
        rng = self.rng
        thing = draw()
        asked = lexicon.ask(rng.choice(thing.known_facets), thing, True, rng)
        things = [thing]
        while len(things) < _NUM_THINGS:
            names = {x.name for x in things}
            things.append(
                draw(lambda x: x.name not in names and not asked.holds(x))
            )
        rng.shuffle(things)
        persons = rng.sample(lexicon.PERSONS, _NUM_THINGS)
        places = rng.sample(lexicon.PLACES, _NUM_THINGS)
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
        facets = [
            x for x in lexicon.FACETS if (x in thing.known_facets) == is_known
        ]
        holds = nli.LABELS[label] == "entailment"
        asked = lexicon.ask(rng.choice(facets), thing, holds, rng)
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
        return lexicon.insert_articles(text_tables.fill_from(pattern, words))
