"""Single-turn dialogues, made from patterns whose slots are filled.

Modelled on the corpus of [Gu et al., 2016](https://arxiv.org/abs/1603.06393),
section 5.3, which was not published: 173 pairs of our own patterns, in English,
for 121 inputs, 52 of which have two responses. In DS-I training and test share
their fillers; in DS-II no filler of the test set, nor any of its words except
function words, occurs in a training sentence, so that only a model that copies
can respond.

The patterns are written in `tables/dialogue_patterns.txt`, which explains how.
Fillers are combined from the entries of `tables/dialogue_words.txt`. One entry
in five makes the fillers of the test half, the others make the fillers of the
training half. The halves share only function words: an entry can be in the test
half only if its words occur nowhere else in the tables or in the patterns, not
even inside another word. Figures belong to the test half if their last digit is
a 4 or a 9, and so do months, hours, and numbers in words.
"""

import collections
import dataclasses
import functools
import itertools
import math
import random
import re
from collections.abc import Iterable, Mapping

from tfcopy.data.corpora.corpus import (
    SPLITS,
    CheckedPairs,
    CorpusError,
    TranslationCorpus,
    translation_corpus,
)
from tfcopy.data.generated import text_tables

# The least number of uses of each pattern, if there are enough pairs.
_MIN_USES = {"train": 20, "validation": 0, "test": 4}
_MAX_DRAWS = 1000  # tries to find a new pair
_NUM_FILLERS = {"train": 320, "test": 80}  # of a type
_TEST_SHARE = 5  # one entry in so many

_WORDS_TABLE = text_tables.groups("dialogue_words")
_MONTHS, _HOURS, _TEENS, _TENS = (
    text_tables.words(_WORDS_TABLE[name][""])
    for name in ("months", "hours", "teens", "tens")
)
# Both halves use these.
FUNCTION_WORDS = text_tables.words(_WORDS_TABLE["function-words"][""])
_YEARS = range(2020, 2035)
_NUMBERS = range(12, 401)
_NUMBERS_IN_WORDS = range(11, 100)

Row = tuple[str, str, int]  # input, response, number of the pattern


@dataclasses.dataclass(frozen=True)
class DialogueCorpus:
    """Dialogues, and the best possible accuracy on them.

    Args:
        corpus: Inputs as sources, responses as targets.
        ceiling_top1: The best possible accuracy on this test set, in percent:
            the share of pairs whose response has the test set's most frequent
            pattern for their input pattern. Top-1 accuracy stays below 100, as
            no model can know which of two responses is expected. With equally
            many pairs of each pattern it would be 121/173, 69.9.
        test_patterns: Index in `PATTERNS` of each test pair.
    """

    corpus: TranslationCorpus
    ceiling_top1: float
    test_patterns: tuple[int, ...]


def load(
    dataset: str,
    *,
    num_train: int = 6500,
    num_validation: int = 325,
    num_test: int = 1500,
    seed: int = 0,
) -> DialogueCorpus:
    """Generates the dialogues in half a second.

    Patterns are drawn uniformly, but each at least 20 times for training and 4
    times for testing; then their fillers. No pair occurs twice. The validation
    pairs share the fillers of the training pairs.

    Args:
        dataset: `"DS-I"` or `"DS-II"`.
        num_train: Number of training pairs. With fewer than 20 for each
            pattern, each still gets at least an equal share.
        num_validation: Number of validation pairs.
        num_test: Number of test pairs; the same holds with fewer than 4 for
            each.
        seed: Seed of the pairs; they are the same on every machine.

    Returns:
        The dialogues, with the best accuracy that is possible on them.

    Raises:
        CorpusError: if a pattern has no more new dialogues.
    """
    sizes = num_train, num_validation, num_test
    rows, checked = generate(dataset, dict(zip(SPLITS, sizes)), seed), []
    for name, some in rows.items():
        read = functools.partial(iter, [row[:2] for row in some])
        checked.append(CheckedPairs.check(name, read, ""))
    corpus = translation_corpus(
        checked,
        f"dialogues {dataset}",
        source_language="en",
        target_language="en",
    )
    corpus = dataclasses.replace(corpus, generated=True)
    test_patterns = tuple(number - 1 for *_, number in rows["test"])
    return DialogueCorpus(corpus, _ceiling_top1(test_patterns), test_patterns)


def generate(
    dataset: str, sizes: dict[str, int], seed: int = 0
) -> dict[str, list[Row]]:
    """Draws the rows of each split without storing them anywhere.

    Args:
        dataset: `"DS-I"` or `"DS-II"`.
        sizes: The number of pairs of each split.
        seed: Any integer.
    """
    seen = set()
    rows = {}
    for name in SPLITS:
        rng = random.Random(f"{dataset}/{seed}/{name}")
        pools = _pools(dataset, "test" if name == "test" else "train")
        rows[name] = [
            (*_new_pair(PATTERNS[index], pools, seen, rng), index + 1)
            for index in _draw_patterns(sizes[name], _MIN_USES[name], rng)
        ]
    return rows


# === Drawing ===


def _pools(dataset, half) -> dict[str, tuple[str, ...]]:
    """Returns the fillers of each type, of one half in DS-II."""
    if dataset == "DS-II":
        return pools(half)
    train, test = pools("train"), pools("test")
    return {type: train[type] + test[type] for type in train}


def _draw_patterns(size, min_uses, rng) -> list[int]:
    """Indices of patterns: each `min_uses` times, the others at random."""
    everyone = range(len(PATTERNS))
    drawn = [*everyone] * min(min_uses, size // len(PATTERNS))
    drawn += rng.choices(everyone, k=size - len(drawn))
    rng.shuffle(drawn)
    return drawn


def _new_pair(pattern, pools, seen, rng) -> tuple[str, str]:
    for _ in range(_MAX_DRAWS):
        fillers = {
            slot: rng.choice(pools[type])
            for slot, type in pattern.slots.items()
        }
        pair = pattern.fill(fillers)
        if pair not in seen and not _share_a_word(fillers.values()):
            seen.add(pair)
            return pair
    raise CorpusError(
        f"There are no more new dialogues of the pattern {pattern.input!r}. "
        "Generate fewer pairs."
    )


def _share_a_word(fillers) -> bool:
    words = [set(content_words(text)) for text in fillers]
    return sum(map(len, words)) > len(set().union(*words))


def _ceiling_top1(indices: Iterable[int]) -> float:
    """Returns the percentage of pairs with the most frequent response."""
    uses = collections.Counter(indices)
    most = collections.Counter()
    for index, count in uses.items():
        input = PATTERNS[index].input
        most[input] = max(most[input], count)
    return 100 * most.total() / uses.total()


# === Patterns and fillers ===


def content_words(text: str) -> list[str]:
    """Returns the words of a text except function words, in lower case."""
    words = re.findall(r"\w+(?:[-:/]\w+|'\w\w+)*", text.lower())
    return [word for word in words if word not in FUNCTION_WORDS]


@functools.cache
def pools(half: str) -> dict[str, tuple[str, ...]]:
    """Returns the fillers of each type that belong to a half.

    Args:
        half: `"train"` or `"test"`.
    """
    is_test = half == "test"
    entries = {part: sides[is_test] for part, sides in _sides().items()}
    result = {"number": _numbers(is_test)}
    for type, draw in (("date", _date), ("time", _time)):
        result[type] = _draw(type, half, functools.partial(draw, is_test))
    for type, forms in {
        type: sections["forms"]
        for type, sections in _WORDS_TABLE.items()
        if "forms" in sections
    }.items():
        fill = functools.partial(_fill, forms, entries)
        result[type] = _draw(type, half, fill, _num_possible(forms, entries))
    return result


def _draw(type, half, draw, num_possible=math.inf) -> tuple[str, ...]:
    """Draws the wanted number of fillers, or as many as are possible."""
    rng = random.Random(f"{type}/{half}")
    fillers = {}
    while len(fillers) < min(_NUM_FILLERS[half], num_possible):
        fillers[draw(rng)] = None
    return tuple(fillers)


# === Words ===


@functools.cache
def _sides() -> dict[str, tuple[list, list]]:
    """Divides the entries of each table between training and test."""
    entries = _entries()
    texts = [*itertools.chain(*entries.values())]
    texts += [*_MONTHS, *_HOURS, *_TEENS, *_TENS]
    texts += get_fixed_texts()
    text = "\n".join(texts).lower()
    result = {}
    for part, items in entries.items():
        lone = [
            item
            for item in items
            if all(text.count(word) == 1 for word in content_words(item))
        ]
        test = random.Random(part).sample(lone, len(items) // _TEST_SHARE)
        result[part] = [x for x in items if x not in test], test
    return result


def _entries() -> dict[str, list[str]]:
    """Returns all words and phrases, and names of beginnings and ends."""
    entries = {}
    for part, sections in _WORDS_TABLE.items():
        entries[part] = [
            *text_tables.words(sections.get("words", ())),
            *text_tables.phrases(sections.get("phrases", ())),
        ]
        if "beginnings" in sections:
            halves = (sections["beginnings"], sections["ends"])
            names = itertools.product(*map(text_tables.words, halves))
            entries[part] += random.Random(part).sample(
                list(map("".join, names)), int(sections["number"][0])
            )
    return entries


def _num_possible(forms, entries) -> int:
    return sum(
        math.prod(len(entries[slot.type]) for slot in text_tables.slots(form))
        for form in forms
    )


def _fill(forms, entries, rng) -> str:
    return text_tables.fill(
        rng.choice(forms), lambda slot: rng.choice(entries[slot.type])
    )


# === Figures ===


def _is_test(number: int) -> bool:
    return number % _TEST_SHARE == _TEST_SHARE - 1


def _select_half(numbers, is_test) -> list[int]:
    return [number for number in numbers if _is_test(number) == is_test]


def _date(is_test, rng) -> str:
    """Draws a date that may follow "on"; every month has 28 days."""
    day, month, year = (
        rng.choice(_select_half(numbers, is_test))
        for numbers in (range(1, 29), range(1, 13), _YEARS)
    )
    name = _MONTHS[month - 1]
    endings = {1: "st", 2: "nd", 3: "rd"}
    ending = "th" if 11 <= day <= 13 else endings.get(day % 10, "th")
    return rng.choice(
        (
            f"{day} {name}",
            f"{name} {day}",
            f"{name} {day}{ending}",
            f"the {day}{ending} of {name}",
            f"{day} {name} {year}",
            f"{day}/{month}/{year}",
            f"{year}-{month:02d}-{day:02d}",
        )
    )


def _time(is_test, rng) -> str:
    """Draws a time that may follow "at"."""
    hour, hour_of_day, minute = (
        rng.choice(_select_half(numbers, is_test))
        for numbers in (range(1, 13), range(24), range(60))
    )
    word = _HOURS[hour - 1]
    half_day = rng.choice(("am", "pm"))
    return rng.choice(
        (
            f"{hour_of_day}:{minute:02d}",
            f"{hour_of_day}:{minute:02d}",
            f"{hour}:{minute:02d} {half_day}",
            f"{hour} {half_day}",
            f"{hour} o'clock",
            f"half past {word}",
            f"quarter past {word}",
            f"quarter to {word}",
        )
    )


def _numbers(is_test) -> tuple[str, ...]:
    figures = map(str, _select_half(_NUMBERS, is_test))
    words = map(_spell_number, _select_half(_NUMBERS_IN_WORDS, is_test))
    return (*figures, *words)


def _spell_number(number: int) -> str:
    """Spells a number from 1 to 99."""
    small = ["", *_HOURS, *_TEENS]
    if number < 20:
        return small[number]
    tens = _TENS[number // 10 - 2]
    return f"{tens}-{small[number % 10]}" if number % 10 else tens


_PATTERNS_TABLE = text_tables.read("dialogue_patterns")
# Each input and its responses.
DIALOGUES = tuple(
    tuple(dialogue)
    for dialogue in text_tables.group_replies(
        itertools.chain.from_iterable(_PATTERNS_TABLE.values())
    )
)


@dataclasses.dataclass(frozen=True)
class Pattern:
    """An input and one response to it, both with slots.

    Args:
        input: The input, such as `"hello, i am {person}."`.
        response: The response, such as `"nice to meet you, {person}!"`.
    """

    input: str
    response: str

    @functools.cached_property
    def slots(self) -> dict[str, str]:
        """The type of each slot of the input: `{"person2": "person"}`."""
        return {x.name: x.type for x in text_tables.slots(self.input)}

    def fill(self, fillers: Mapping[str, str]) -> tuple[str, str]:
        """Fills the slots of input and response."""
        return (
            text_tables.fill_from(self.input, fillers),
            text_tables.fill_from(self.response, fillers),
        )


PATTERNS = tuple(
    Pattern(input, response)
    for input, *responses in DIALOGUES
    for response in responses
)


def get_fixed_texts() -> list[str]:
    """Returns the texts between the slots, in lower case."""
    texts = itertools.chain.from_iterable(DIALOGUES)
    return [text_tables.fill(text, lambda slot: "|").lower() for text in texts]
