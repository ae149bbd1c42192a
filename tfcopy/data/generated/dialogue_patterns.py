"""Inputs of short dialogues, each with one or two responses.

They are written in `tables/dialogue_patterns.txt`, which explains how.

Fillers are combined from the entries of `tables/dialogue_words.txt`. One entry
in five makes the fillers of the test half, the others make the fillers of the
training half. The halves share only function words: an entry can be in the test
half only if its words occur nowhere else in the tables or in the patterns, not
even inside another word. Figures belong to the test half if their last digit is
a 4 or a 9, and so do months, hours, and numbers in words.
"""

import dataclasses
import functools
import itertools
import math
import random
import re
from collections.abc import Mapping

from tfcopy.data.generated import text_tables

HALVES = ("train", "test")
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
    forms_of = {
        type: sections["forms"]
        for type, sections in _WORDS_TABLE.items()
        if "forms" in sections
    }
    for type, forms in forms_of.items():
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
    texts += fixed_texts()
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


def _of_half(numbers, is_test) -> list[int]:
    return [number for number in numbers if _is_test(number) == is_test]


def _date(is_test, rng) -> str:
    """Draws a date that may follow "on"; every month has 28 days."""
    day, month, year = (
        rng.choice(_of_half(numbers, is_test))
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
        rng.choice(_of_half(numbers, is_test))
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
    figures = map(str, _of_half(_NUMBERS, is_test))
    words = map(_in_words, _of_half(_NUMBERS_IN_WORDS, is_test))
    return (*figures, *words)


def _in_words(number: int) -> str:
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
    for dialogue in text_tables.with_replies(
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


def fixed_texts() -> list[str]:
    """Returns the texts between the slots, in lower case."""
    texts = itertools.chain.from_iterable(DIALOGUES)
    return [text_tables.fill(text, lambda slot: "|").lower() for text in texts]
