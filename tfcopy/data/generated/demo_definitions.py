"""The definition demos: texts of invented words, and their dictionary.

What a text tells can only be understood by who knows its invented words: who
has "a tool" where it says that Omar found a blicket, whether "A woman buys a
zorp ." entails "A woman buys something red .", what follows "the wug". The
dictionary explains these words in plain ones. Without it they are all alike
to a model that does not know them, and it can but guess.

All texts are tokens between blanks. One example in four has only plain words.
The invented words of the others are in validation and test half of the time
those of training, and half of the time words that training never shows
(`unseen_words`); an example has either all of one or all of the other.

The idea is of [Bahdanau et al., 2017](https://arxiv.org/abs/1706.00286).
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
    fingerprint,
)
from tfcopy.data.definitions.dictionary_entries import Definitions
from tfcopy.data.generated import (
    demo_definitions_lexicon,
    demo_definitions_meanings,
    demo_definitions_vectors,
    demo_definitions_words,
    generated_corpus,
)
from tfcopy.data.generated.demo_definitions_lexicon import (
    KINDS,
    ORDINARY,
    choices,
    plain_words,
)
from tfcopy.data.generated.demo_definitions_meanings import Thing, definition
from tfcopy.data.generated.demo_definitions_texts import Writer

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

_NUM_WORDS = 432  # of each split so many that all values are equally frequent
_WORDS_RANGE = (120, 100_000)
_THINGS_RANGE = (2, 8)


def questions(
    *,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 1_000,
    num_words: int = _NUM_WORDS,
    num_things: int = 3,
    seed: int = 0,
) -> Corpus:
    """Questions about one of several things, as `squad.Example`s.

    A context tells of things, who has them and where. A question asks who has
    one of these, or where it is, by what only its definition tells. The answer
    is one span of the context, which stands there only once. Who does not know
    the things guesses one in `num_things`.

    The id of a question ends in `plain`, `seen` or `unseen`, as its things.

    Args:
        num_train: Number of training questions.
        num_validation: Number of validation questions.
        num_test: Number of test questions.
        num_words: Number of invented words, 120 or more. Two thirds are for
            training.
        num_things: Number of things in a context, from 2 to 8.
        seed: The same seed gives the same corpus on every machine.

    Raises:
        CorpusError: an argument is out of its range.
    """
    _check("num_things", num_things, *_THINGS_RANGE)
    return _corpus(
        "demo questions",
        functools.partial(_questions, num_things),
        (num_train, num_validation, num_test),
        (num_words, seed, num_things),
    )


def entailments(
    *,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 1_000,
    num_words: int = _NUM_WORDS,
    seed: int = 0,
) -> Corpus:
    """Sentence pairs and how they relate, as `nli.Example`s.

    The hypothesis says something of the thing that the premise names: what is
    known of this (entailment), what it cannot be (contradiction) or what is
    not known of it (neutral). Each is as frequent as the others, whatever the
    premise or the hypothesis.

    Args:
        num_train: Number of training pairs.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs.
        num_words: As for `questions`.
        seed: As for `questions`.

    Raises:
        CorpusError: an argument is out of its range.
    """
    return _corpus(
        "demo entailments",
        Writer.entailments,
        (num_train, num_validation, num_test),
        (num_words, seed),
    )


def sentences(
    *,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 1_000,
    num_words: int = _NUM_WORDS,
    seed: int = 0,
) -> Corpus:
    """Sentences, `str`, for language models.

    After each invented word comes a verb, one of two that fit its definition
    and of 16 in all.

    Args:
        num_train: Number of training sentences.
        num_validation: Number of validation sentences.
        num_test: Number of test sentences.
        num_words: As for `questions`.
        seed: As for `questions`.

    Raises:
        CorpusError: an argument is out of its range.
    """
    return _corpus(
        "demo sentences",
        Writer.sentences,
        (num_train, num_validation, num_test),
        (num_words, seed),
    )


def dictionary(*, num_words: int = _NUM_WORDS, seed: int = 0) -> Definitions:
    """Definitions of all invented words, and of some plain ones.

    Half of the words have a second definition, which says the same in other
    words.

    Args:
        num_words: As for the corpus.
        seed: As for the corpus.

    Raises:
        CorpusError: an argument is out of its range.
    """
    rng = random.Random(f"definitions/dictionary/{seed}")
    things = [
        x for of_split in _things(num_words, seed).values() for x in of_split
    ]
    for name, kind in KINDS.items():
        things += [Thing(noun, name) for noun in choices(kind.nouns)]
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


def unseen_words(
    split: str = "test", *, num_words: int = _NUM_WORDS, seed: int = 0
) -> frozenset[str]:
    """Invented words of a split that no training example can have.

    Args:
        split: `"train"`, which has none, `"validation"` or `"test"`.
        num_words: As for the corpus.
        seed: As for the corpus.

    Raises:
        CorpusError: an argument is out of its range.
    """
    if split not in SPLITS:
        raise CorpusError(
            f"`split` must be one of {', '.join(SPLITS)}. Received: {split!r}."
        )
    things = _things(num_words, seed)
    names = (x.name for x in things[split] if split != "train")
    return frozenset(names)


def nouns_by_kind(
    *, num_words: int = _NUM_WORDS, seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """Plain nouns, and invented ones that training never shows, by kind.

    Args:
        num_words: As for the corpus.
        seed: As for the corpus.

    Raises:
        CorpusError: an argument is out of its range.
    """
    things = _things(num_words, seed)["test"]
    return {
        name: (
            *choices(kind.nouns),
            *(thing.name for thing in things if thing.kind == name),
        )
        for name, kind in KINDS.items()
    }


def vectors(
    *, dim: int = 64, num_words: int = _NUM_WORDS, seed: int = 0
) -> tuple[tuple[str, ...], np.ndarray]:
    """Vectors of all words, plain and invented, as of one who knows them.

    Args:
        dim: Their size, 8 or more.
        num_words: As for the corpus.
        seed: As for the corpus.

    Returns:
        `(words, matrix)`: the words, and float32, `(len(words), dim)`.

    Raises:
        CorpusError: an argument is out of its range.
    """
    _check("dim", dim, 8)
    things = _things(num_words, seed)
    rng = random.Random(f"definitions/vectors/{seed}")
    return demo_definitions_vectors.draw(
        (x for name in SPLITS for x in things[name]),
        dim,
        np.random.default_rng(rng.getrandbits(64)),
    )


def _corpus(name, write: Callable, numbers, settings) -> Corpus:
    """`write` yields examples of a `Writer`, as many as it is told."""
    for split, number in zip(SPLITS, numbers):
        _check(f"num_{split}", number, 1)
    _things(*settings[:2])
    return Corpus(
        name=name,
        splits={
            split: Split(
                functools.partial(_read, name, write, split, number, settings),
                fingerprint(
                    _grammar_fingerprint(), name, split, number, *settings
                ),
                number,
            )
            for split, number in zip(SPLITS, numbers)
        },
        tokenized=True,
    )


def _read(name, write, split, number, settings) -> Iterator:
    num_words, seed = settings[:2]
    writer = Writer(_things(num_words, seed), split, f"{name}/{seed}")
    return write(writer, number)


def _questions(num_things, writer, number):
    return writer.questions(number, num_things)


@functools.lru_cache(maxsize=4)
def _things(num_words, seed) -> dict[str, list[Thing]]:
    _check("num_words", num_words, *_WORDS_RANGE)
    rng = random.Random(f"definitions/words/{seed}")
    return demo_definitions_meanings.invent_things(num_words, rng)


def _wordings(thing, rng):
    """One or two definitions."""
    found = {definition(thing, rng): None}
    if rng.random() < 0.5:
        while len(found) < 2:
            found[definition(thing, rng)] = None
    return tuple(found)


def _check(name, value, least, most=None):
    if value < least or (most is not None and value > most):
        bounds = f"from {least:,} to {most:,}" if most else f"{least} or more"
        raise CorpusError(f"`{name}` must be {bounds}. Received: {value}.")


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that no stale ids are ever read."""
    writer = Writer(_things(_NUM_WORDS, 0), "test", "fingerprint")
    sample = [
        *writer.questions(50, 3),
        *writer.entailments(50),
        *writer.sentences(50),
        dictionary().fingerprint,
    ]
    return generated_corpus.grammar_fingerprint(
        (demo_definitions_lexicon, demo_definitions_words), sample
    )
