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
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import re2

from tfcopy.data.text.span_patterns import pattern_of, with_texts

# The name of a span: private characters of Unicode around one that is its
# number. With digits it would be a span of some formats.
_OPEN, _CLOSE, _FIRST = "\ue003", "\ue004", 0xF0000
_NAME = re.compile(f"{_OPEN}([\U000f0000-\U0010ffff]){_CLOSE}")
# Those that a text has itself are spans, as are the marks of glossaries.
_MARKS = "[\ue000-\ue004]+"
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]")


class Source:
    """A text as it is read, and its places in the request.

    Args:
        pieces: Its parts: what is read, what the request has, and whether an
            answer must have that; or a text that is read as it is.

    Attributes:
        text: The text as it is read.
    """

    def __init__(self, pieces: Iterable[tuple[str, str, bool]] | str):
        if isinstance(pieces, str):
            pieces = [(pieces, pieces, False)]
        parts, begin = [("", "")], 0
        # For each character that is read where its own begin in the request.
        self._places, self._spans = [], []
        for read, written, is_span in pieces:
            end, place = begin + len(written), len(self._places)
            same = range(begin, end)
            self._places += same if read == written else [begin] * len(read)
            if is_span:
                self._spans.append((place, len(self._places)))
            parts.append((read, written))
            begin = end
        self._places.append(begin)
        self.text, self._written = map("".join, zip(*parts))

    def written(self, begin: int, end: int) -> str:
        """Returns what the request has for a part of `text`."""
        return self._written[self._places[begin] : self._places[end]]

    def spans(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Returns the places of the spans of a part of `text`."""
        first, last = (
            bisect.bisect_left(self._spans, (x,)) for x in (begin, end)
        )
        return self._spans[first:last]


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
        kept = [*self.spans, *(y for _, y in self.phrases)]
        if not (kept or _PRIVATE.search(answer)):
            return [escape(answer)]
        parts, asked = [answer], [self.text]
        if kept:
            parts, asked = map(_NAME.split, (answer, self.text))
        own = {*_PRIVATE.findall("".join(asked[::2]))}
        for i in range(1, len(parts), 2):
            number = _number(parts[i])
            parts[i] = kept[number] if number < len(kept) else ""
            if number < len(self.spans):
                before, _, after = asked[2 * number : 2 * number + 3]
                if before[-1:].isalnum():
                    parts[i - 1] = parts[i - 1].removesuffix(" ")
                if after[:1].isalnum():
                    parts[i + 1] = parts[i + 1].removeprefix(" ")
        parts[::2] = [
            escape(_PRIVATE.sub(lambda x: x[0] if x[0] in own else "", part))
            for part in parts[::2]
        ]
        return parts

    def restored(self, answer: str) -> str:
        """Returns an answer with its spans."""
        return "".join(self.parts(answer))


def name_of(number: int) -> str:
    """Returns what replaces a span in a question."""
    # No model reads so many.
    return f"{_OPEN}{chr(min(_FIRST + number, sys.maxunicode))}{_CLOSE}"


def _number(name):
    return ord(name) - _FIRST


def question_of(
    text: str | Source,
    protect: Sequence[str],
    phrases: Sequence[tuple[str, str]] = (),
    begin: int = 0,
    end: int | None = None,
) -> Question:
    """Returns a question with names for the spans of a text; those that touch
    are one.

    Args:
        text: The text.
        protect: Names of formats, or regular expressions, as in `pattern_of`.
        phrases: Pairs of a phrase and its translation; those that the text
            has not are left out.
        begin: Where the part of the text begins that is asked.
        end: Where it ends.
    """
    source = Source(text) if isinstance(text, str) else text
    end = len(source.text) if end is None else end
    part = source.text[begin:end]
    found = (x.span() for x in _compiled(tuple(protect)).finditer(part))
    own = ((x - begin, y - begin) for x, y in source.spans(begin, end))
    places = []
    for first, last in sorted([*found, *own]):
        if places and first <= places[-1][1]:
            places[-1][1] = max(last, places[-1][1])
        else:
            places.append([first, last])
    named = with_texts(part, places, map(name_of, itertools.count()))
    spans = (source.written(begin + x, begin + y) for x, y in places)
    words = " ".join(named.split())
    return Question(
        named, tuple(spans), tuple(x for x in phrases if x[0] in words)
    )


@functools.lru_cache
def _compiled(protect):
    return re2.compile(pattern_of([_MARKS, *protect]))
