"""The definition demos: texts of invented words, and their dictionary.

A text can only be understood if its invented words are known: who has "a tool"
if it says that Omar found a blicket, whether "A woman buys a zorp ." entails "A
woman buys something red .", what follows "the wug". The dictionary explains
these words in plain ones. Without it, a model that does not know them cannot
tell them apart, and can only guess.

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

    A context tells who has which things and where. A question asks who has one
    of them, or where it is, and describes it by its definition only. The answer
    is a span that occurs once in the context. A model that does not know the
    things can only guess one of `num_things`.

    The id of a question ends in `plain`, `seen` or `unseen`, like its things.

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
        num_train,
        num_validation,
        num_test,
        num_words,
        seed,
        num_things,
    )


def entailments(**sizes: int) -> Corpus:
    """Sentence pairs and how they relate, as `nli.Example`s.

    The hypothesis states something about the thing in the premise: what is
    known about it (entailment), what it cannot be (contradiction) or what is
    unknown (neutral). All three are equally frequent, whatever the premise or
    the hypothesis.

    Args:
        **sizes: Arguments of `questions`, but `num_things`.

    Raises:
        CorpusError: an argument is out of its range.
    """
    return _corpus("demo entailments", Writer.entailments, **sizes)


def sentences(**sizes: int) -> Corpus:
    """Sentences, `str`, for language models.

    Each invented word is followed by a verb, one of two that fit its
    definition, of 16 in all.

    Args:
        **sizes: Arguments of `questions`, but `num_things`.

    Raises:
        CorpusError: an argument is out of its range.
    """
    return _corpus("demo sentences", Writer.sentences, **sizes)


def dictionary(*, num_words: int = _NUM_WORDS, seed: int = 0) -> Definitions:
    """Definitions of all invented words, and of some plain ones.

    Half of the words have a second definition, which says the same in other
    words.

    Args:
        num_words: Number of invented words of the corpus.
        seed: The corpus's seed.

    Raises:
        CorpusError: an argument is out of its range.
    """
    rng = random.Random(f"definitions/dictionary/{seed}")
    things = [
        x for of_split in _things(num_words, seed).values() for x in of_split
    ]
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


def unseen_words(
    split: str = "test", *, num_words: int = _NUM_WORDS, seed: int = 0
) -> frozenset[str]:
    """Invented words of a split that no training example can have.

    Args:
        split: `"train"`, which has none, `"validation"` or `"test"`.
        num_words: Number of invented words of the corpus.
        seed: The corpus's seed.

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
        num_words: Number of invented words of the corpus.
        seed: The corpus's seed.

    Raises:
        CorpusError: an argument is out of its range.
    """
    things = _things(num_words, seed)["test"]
    return {
        name: (
            *kind.nouns,
            *(thing.name for thing in things if thing.kind == name),
        )
        for name, kind in KINDS.items()
    }


def vectors(
    *, dim: int = 64, num_words: int = _NUM_WORDS, seed: int = 0
) -> tuple[tuple[str, ...], np.ndarray]:
    """Vectors of all words, plain and invented, which reflect their meanings.

    Args:
        dim: Their size, 8 or more.
        num_words: Number of invented words of the corpus.
        seed: The corpus's seed.

    Returns:
        `(words, matrix)`: the words, and float32, `(len(words), dim)`.

    Raises:
        CorpusError: an argument is out of its range.
    """
    _check("dim", dim, 8)
    things = _things(num_words, seed)
    rng = random.Random(f"definitions/vectors/{seed}")
    return demo_definitions_lexicon.draw(
        (x for name in SPLITS for x in things[name]),
        dim,
        np.random.default_rng(rng.getrandbits(64)),
    )


def _corpus(
    name,
    write: Callable,
    num_train: int = 20_000,
    num_validation: int = 500,
    num_test: int = 1_000,
    num_words: int = _NUM_WORDS,
    seed: int = 0,
    *others: int,
) -> Corpus:
    """Makes a corpus; `write` yields a number of examples from a `Writer`."""
    numbers = num_train, num_validation, num_test
    settings = num_words, seed, *others
    for split, number in zip(SPLITS, numbers):
        _check(f"num_{split}", number, 1)
    _things(*settings[:2])
    return Corpus(
        name=name,
        splits={
            split: Split(
                functools.partial(_read, name, write, earlier, settings),
                fingerprint(
                    _grammar_fingerprint(), name, *earlier.items(), *settings
                ),
                earlier[split],
            )
            for split, earlier in _up_to_each(numbers)
        },
        tokenized=True,
        generated=True,
    )


def _up_to_each(numbers) -> Iterator[tuple[str, dict[str, int]]]:
    """Each split, and the sizes of it and of those before it."""
    for last, split in enumerate(SPLITS, 1):
        yield split, dict(zip(SPLITS[:last], numbers))


def _read(name, write, sizes, settings) -> Iterator:
    """The last split's examples; none of them stands in the others."""
    num_words, seed = settings[:2]
    seen = set()
    for split, number in sizes.items():
        writer = Writer(_things(num_words, seed), split, f"{name}/{seed}", seen)
        examples = write(writer, number)
        if split != [*sizes][-1]:
            seen = seen.union(map(text_of, examples))
    return examples


def _questions(num_things, writer, number):
    return writer.questions(number, num_things)


@functools.lru_cache(maxsize=4)
def _things(num_words, seed) -> dict[str, list[Thing]]:
    _check("num_words", num_words, *_WORDS_RANGE)
    rng = random.Random(f"definitions/words/{seed}")
    return demo_definitions_lexicon.invent_things(num_words, rng)


def _wordings(thing, rng):
    """One or two definitions."""
    wordings = {definition(thing, rng): None}
    if rng.random() < 0.5:
        while len(wordings) < 2:
            wordings[definition(thing, rng)] = None
    return tuple(wordings)


def _check(name, value, least, most=None):
    if value < least or (most is not None and value > most):
        bounds = f"from {least:,} to {most:,}" if most else f"{least} or more"
        raise CorpusError(f"`{name}` must be {bounds}. Received: {value}.")


@functools.cache
def _grammar_fingerprint() -> str:
    """Changes with the grammar, so that stale ids are never read."""
    writer = Writer(_things(_NUM_WORDS, 0), "test", "fingerprint")
    sample = [
        *writer.questions(50, 3),
        *writer.entailments(50),
        *writer.sentences(50),
        dictionary().fingerprint,
    ]
    return generated_corpus.grammar_fingerprint(
        demo_definitions_lexicon.TABLES, sample
    )
