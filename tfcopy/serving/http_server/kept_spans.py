"""Splits a text into segments to translate and spans to keep.

The spans that an export keeps are fixed in its graph. Further ones, which a
request names, are kept by its glossary: a name replaces each span in the
question, and the request's own terms translate a name by itself. So the model
reads one word to point at, and the answer has the span to the byte, whatever it
is: markup with blanks in it, or a placeholder beside letters. The terms of a
request are names, too, so that a model repeats nothing longer than a name.
"""

import bisect
import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import re2

from tfcopy.data.text.span_patterns import pattern_of, with_texts

# The name of a span: its number between private characters of Unicode, in
# digits that are private, too, lest a format takes them for a number.
_OPEN, _CLOSE = "\ue003", "\ue004"
_DIGITS = {ord(str(x)): chr(0xE010 + x) for x in range(10)}
_NUMBERS = {ord(x): chr(y) for y, x in _DIGITS.items()}
_NAME = re.compile(f"{_OPEN}([{_DIGITS[48]}-{_DIGITS[57]}]{{1,6}}){_CLOSE}")
# Those that a text has itself are spans, as are the marks of glossaries.
_MARKS = "[\ue000-\ue004]+"
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]")


class Piece(NamedTuple):
    """A part of a text that may be read otherwise than it is written.

    Attributes:
        read: The text for the model.
        written: The same in the request.
        is_span: Whether an answer must have it as it is written.
    """

    read: str
    written: str
    is_span: bool = False


class Source:
    """A text as it is read, and its places in the request.

    Args:
        pieces: The `Piece`s that make it.

    Attributes:
        text: The text as it is read.
    """

    def __init__(self, pieces: Iterable[Piece]):
        pieces = [*pieces]
        self.text = "".join(x.read for x in pieces)
        self._written = "".join(x.written for x in pieces)
        self._begins = _sums(len(x.read) for x in pieces)
        self._origins = _sums(len(x.written) for x in pieces)
        self._is_same = [x.read == x.written for x in pieces] + [False]
        self._spans = [i for i, x in enumerate(pieces) if x.is_span]

    def written(self, begin: int, end: int) -> str:
        """Returns what the request has for a part of `text`."""
        return self._written[self._origin(begin) : self._origin(end)]

    def _origin(self, place):
        i = bisect.bisect_right(self._begins, place) - 1
        within = (place - self._begins[i]) * self._is_same[i]
        return self._origins[i] + within

    def spans(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Returns the places of the spans of a part of `text`."""
        first, last = (
            bisect.bisect_left(self._spans, x, key=self._begins.__getitem__)
            for x in (begin, end)
        )
        return [
            (self._begins[i], self._begins[i + 1])
            for i in self._spans[first:last]
        ]


def _sums(sizes):
    return [*itertools.accumulate(sizes, initial=0)]


class Question(NamedTuple):
    """A text for a model.

    Attributes:
        text: The text, with names in the place of spans.
        spans: The spans, by the numbers of their names.
        phrases: Pairs of a phrase and its translation, whose names have the
            numbers after these.
    """

    text: str
    spans: tuple[str, ...] = ()
    phrases: tuple[tuple[str, str], ...] = ()

    @property
    def terms(self) -> list[str]:
        """The lines of a glossary that keeps the names."""
        names = [*map(name_of, range(len(self.spans) + len(self.phrases)))]
        known = names[: len(self.spans)] + [x for x, _ in self.phrases]
        return [f"{x}\t{y}" for x, y in zip(known, names)]

    def places(self, answer: str) -> list[int]:
        """Returns the numbers of the spans of an answer, in its order."""
        places = map(_number, _NAME.findall(answer))
        return [x for x in places if x < len(self.spans)]

    def lost(self, answer: str) -> list[str]:
        """Returns the spans that an answer does not have."""
        had = set(self.places(answer))
        return [x for i, x in enumerate(self.spans) if i not in had]

    def parts(
        self, answer: str, escape: Callable[[str], str] = str
    ) -> list[str]:
        """Returns the parts of an answer: text and restored spans, by turns.

        A model puts a blank between a name and letters. It is removed on
        those sides of a span that had letters in the question. So are private
        characters that the question does not have.

        Args:
            answer: The model's answer.
            escape: Function of what is no span.
        """
        own, parts, named = self.text, [answer], []
        if not (self.spans or self.phrases or _PRIVATE.search(answer)):
            return [escape(answer)]
        if self.spans or self.phrases:
            own, parts = _NAME.sub("", own), _NAME.split(answer)
        own, letters = {*_PRIVATE.findall(own)}, self._letters()
        for i in range(1, len(parts), 2):
            number = _number(parts[i])
            before, after = letters.get(number, (False, False))
            if before:
                parts[i - 1] = parts[i - 1].removesuffix(" ")
            if after:
                parts[i + 1] = parts[i + 1].removeprefix(" ")
            named.append(number)
        parts[::2] = [
            escape(_PRIVATE.sub(lambda x: x[0] if x[0] in own else "", part))
            for part in parts[::2]
        ]
        kept = functools.cache(lambda number: self._kept(number, escape))
        parts[1::2] = map(kept, named)
        return parts

    def restored(self, answer: str) -> str:
        """Returns an answer with its spans."""
        return "".join(self.parts(answer))

    def _kept(self, number, escape):
        if number < len(self.spans):
            return self.spans[number]
        further = self.phrases[number - len(self.spans) :][:1]
        return "".join(escape(y) for _, y in further)

    def _letters(self):
        """Whether there are letters before, and behind, each span."""
        if not self.spans:
            return {}
        parts, found = _NAME.split(self.text), {}
        for i in range(1, len(parts), 2):
            sides = parts[i - 1][-1:].isalnum(), parts[i + 1][:1].isalnum()
            found[_number(parts[i])] = sides
        return found


def name_of(number: int) -> str:
    """Returns what replaces a span in a question."""
    return f"{_OPEN}{str(number).translate(_DIGITS)}{_CLOSE}"


def _number(digits):
    return int(digits.translate(_NUMBERS))


def question_of(
    text: str,
    protect: Sequence[str],
    phrases: Sequence[tuple[str, str]] = (),
    kept: Iterable[tuple[int, int]] = (),
    written: Callable[[int, int], str] | None = None,
) -> Question:
    """Returns a question with names for the spans of a text.

    Spans that touch are one.

    Args:
        text: The text.
        protect: Names of formats, or regular expressions, as in `pattern_of`.
        phrases: Pairs of a phrase and its translation; those that the text
            has not are left out.
        kept: Places of further spans.
        written: Function of the begin and the end of a span to what it is in
            an answer; the text between them by default.
    """
    found = (x.span() for x in _compiled(tuple(protect)).finditer(text))
    places = []
    for begin, end in sorted([*found, *kept]):
        if places and begin <= places[-1][1]:
            places[-1][1] = max(end, places[-1][1])
        else:
            places.append([begin, end])
    named = with_texts(text, places, map(name_of, itertools.count()))
    spans = tuple(written(*x) if written else text[slice(*x)] for x in places)
    return Question(named, spans, _phrases_in(named, phrases))


def _phrases_in(text, phrases):
    text = " ".join(text.split())
    return tuple(x for x in phrases if x[0] in text)


@functools.lru_cache
def _compiled(protect):
    return re2.compile(pattern_of([_MARKS, *protect]))
