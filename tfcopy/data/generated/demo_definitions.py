"""The definition demos: texts of invented words, and their dictionary.

A text can only be understood if its invented words are known: who has "a tool"
if Omar found a blicket, whether "A woman buys a zorp ." entails "A woman buys
something red .", the verb after "the wug". The dictionary explains these words
in plain ones. Without it, a model that does not know them cannot distinguish
them, and can only guess.

All texts are tokens between blanks. One example in four has only plain words.
In validation and test, half of the others have invented words of the training
set, and half have words that never occur in training (`unseen_words`); no
example mixes the two.

The idea comes from [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286).
"""

import functools
import random
from collections.abc import Callable, Iterator

import numpy as np

from tfcopy.data.corpora.corpus import (
    SPLITS,
    Corpus,
    CorpusError,
    Split,
    check_range,
    check_sizes,
    fingerprint,
)
from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.generated import demo_definitions_lexicon, generated_corpus
from tfcopy.data.generated.demo_definitions_lexicon import (
    KINDS,
    ORDINARY,
    Thing,
    definition,
    plain_words,
)
from tfcopy.data.generated.demo_definitions_texts import Writer, text_of

__all__ = [
    "dictionary",
    "entailments",
    "nouns_by_kind",
    "plain_words",
    "questions",
    "sentences",
    "unseen_words",
    "vectors",
]

_NUM_WORDS = 432  # makes all values equally frequent in each split
_SEED = 0
_THINGS_RANGE = (2, 8)


def questions(*, num_things: int = 3, **sizes: int) -> Corpus:
    """Generates questions about one of several things, as `squad.Example`s.

    A context says who has which things and where. A question asks who has one
    of them, or where it is, and names it by the definition alone. The answer is
    a span that occurs once in the context. A model that does not know the
    things can only guess one of `num_things`.

    The id of a question ends in `plain`, `seen` or `unseen`, like its things.

    Args:
        num_things: Number of things in a context, from 2 to 8.
        **sizes: `num_train`, `num_validation` and `num_test`, the number of
            examples of each split; by default 20,000, 500 and 1,000.

    Raises:
        CorpusError: an argument is out of its range.
    """
    check_range("num_things", num_things, *_THINGS_RANGE)

    def write(writer, number):
        return writer.questions(number, num_things)

    return _corpus("demo questions", write, num_things, **sizes)


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
    for name, kind in KINDS.items():
        things += [Thing(noun, name) for noun in kind.nouns]
    entries = {
        thing.name: _wordings(thing, rng)
        for thing in sorted(things, key=lambda x: x.name)
    }
    entries.update({word: (text,) for word, text in ORDINARY.items()})
    return Definitions(
        tuple(entries),
        tuple(
            tuple(tuple(text.split()) for text in texts)
            for texts in entries.values()
        ),
    )


def unseen_words(split: str = "test") -> frozenset[str]:
    """Returns the invented words of a split that training never shows.

    Args:
        split: `"train"`, which has none, `"validation"` or `"test"`.

    Raises:
        CorpusError: there is no such split.
    """
    if split not in SPLITS:
        raise CorpusError(
            f"`split` must be one of {', '.join(SPLITS)}. Received: {split!r}."
        )
    names = (x.name for x in _things()[split] if split != "train")
    return frozenset(names)


def nouns_by_kind() -> dict[str, tuple[str, ...]]:
    """Returns plain nouns, and invented ones that training never shows."""
    things = _things()["test"]
    return {
        name: (
            *kind.nouns,
            *(thing.name for thing in things if thing.kind == name),
        )
        for name, kind in KINDS.items()
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
    return demo_definitions_lexicon.draw(
        (x for name in SPLITS for x in things[name]),
        dim,
        np.random.default_rng(rng.getrandbits(64)),
    )


def _corpus(
    name,
    write: Callable,
    *settings: int,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 1_000,
) -> Corpus:
    """Makes a corpus; `write` yields a number of examples from a `Writer`."""
    numbers = num_train, num_validation, num_test
    check_sizes(numbers)
    splits = {}
    for last, (split, number) in enumerate(zip(SPLITS, numbers), 1):
        earlier = dict(zip(SPLITS[:last], numbers))
        key = (*earlier.items(), _NUM_WORDS, _SEED, *settings)
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
def _things() -> dict[str, list[Thing]]:
    rng = random.Random(f"definitions/words/{_SEED}")
    return demo_definitions_lexicon.invent_things(_NUM_WORDS, rng)


def _wordings(thing, rng):
    """Draws one or two definitions."""
    wordings = {definition(thing, rng): None}
    if rng.random() < 0.5:
        while len(wordings) < 2:
            wordings[definition(thing, rng)] = None
    return tuple(wordings)


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that stale ids are never read."""
    writer = Writer(_things(), "test", "fingerprint")
    sample = [
        *writer.questions(50, 3),
        *writer.entailments(50),
        *writer.sentences(50),
        dictionary().fingerprint,
    ]
    return generated_corpus.grammar_fingerprint(
        demo_definitions_lexicon.TABLES, sample
    )
