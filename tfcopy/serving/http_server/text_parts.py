"""Segments of a text to translate, with names for the spans to keep.

A line is a segment, and of a long line a sentence. Line ends, columns and
blanks between the segments are kept.

The graph of an export fixes the spans that it copies. Further spans, by formats
that a request names, are copied by its glossary: a name replaces each span in
the segment, and the glossary translates the name as itself. The model points at
one word, and the translation contains the span byte for byte, even if it is
markup with blanks, or a placeholder beside letters. Translations of the
request's own terms are names, too, so that the model generates nothing longer
than a name.
"""

import bisect
import functools
import itertools
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import re2

from tfcopy.data.text.blanks import normalize
from tfcopy.data.text.segments import has_words, lines_of, sentences_of
from tfcopy.data.text.span_patterns import insert_texts, pattern_of
from tfcopy.runtime.translation_records import may_exceed_limit
from tfcopy.tokens import FIRST_NAME, NAME_CLOSE, NAME_OPEN, SPAN

# The name of a span: its number, as a private character, between two others.
# Digits would be spans of some formats.
_NAME = re.compile(f"{NAME_OPEN}([{chr(FIRST_NAME)}-\U0010ffff]){NAME_CLOSE}")
# Such characters in a text are spans, as are the marks of glossaries.
_MARKS = f"[{SPAN}-{NAME_CLOSE}]+"
_PRIVATE = re.compile("[\ue000-\uf8ff\U000f0000-\U0010fffd]")
# Addresses and handles: a@b.org, @user@host, @user.
ADDRESS = r"@?[\w.+-]+@[\w-]+(?:\.[\w-]+)*|\B@\w+"


class Source:
    """A text for the model, mapped to the text of the request.

    Args:
        pieces: Parts: the text for the model, the text of the request, and
            whether that is a span; or a single text for both.

    Attributes:
        text: The text for the model.
    """

    def __init__(self, pieces: Iterable[tuple[str, str, bool]] | str):
        if isinstance(pieces, str):
            pieces = [(pieces, pieces, False)]
        parts, begin = [("", "")], 0
        # Position in the request of each character for the model.
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
        self.text, self._original = map("".join, zip(*parts))

    def get_original(self, begin: int, end: int) -> str:
        """Returns the text of the request for a part of `text`."""
        return self._original[self._places[begin] : self._places[end]]

    def spans(self, begin: int, end: int) -> list[tuple[int, int]]:
        """Returns the places of the spans of a part of `text`."""
        first, last = (
            bisect.bisect_left(self._spans, (x,)) for x in (begin, end)
        )
        return self._spans[first:last]


class Segment(NamedTuple):
    """A segment of a text for a model.

    Attributes:
        text: The text, with names in place of spans.
        spans: The spans, by number.
        phrases: Pairs of a phrase and its translation, whose names have the
            following numbers.
    """

    text: str
    spans: tuple[str, ...] = ()
    phrases: tuple[tuple[str, str], ...] = ()

    @property
    def terms(self) -> list[str]:
        """Returns the lines of a glossary that copies the names."""
        names = [*map(make_name, range(len(self.spans) + len(self.phrases)))]
        known = names[: len(self.spans)] + [x for x, _ in self.phrases]
        return [f"{x}\t{y}" for x, y in zip(known, names)]

    def places(self, answer: str) -> list[int]:
        """Returns the numbers of the spans in a translation, in its order."""
        places = map(_number, _NAME.findall(answer))
        return [x for x in places if x < len(self.spans)]

    def find_lost(self, answer: str) -> list[str]:
        """Returns the spans that a translation lacks."""
        had = set(self.places(answer))
        return [x for i, x in enumerate(self.spans) if i not in had]

    def parts(
        self, answer: str, escape: Callable[[str], str] = str
    ) -> list[str]:
        """Returns the parts of a translation, text and spans by turns.

        Models write blanks between a name and letters. A blank is removed at a
        side of a span that had letters in the segment. Private characters that
        the segment lacks are removed, too.

        Args:
            answer: The translation.
            escape: Function applied to text outside spans.
        """
        originals = [*self.spans, *(y for _, y in self.phrases)]
        if not (originals or _PRIVATE.search(answer)):
            return [escape(answer)]
        parts, asked = [answer], [self.text]
        if originals:
            parts, asked = map(_NAME.split, (answer, self.text))
        source = {*_PRIVATE.findall("".join(asked[::2]))}
        for i in range(1, len(parts), 2):
            number = _number(parts[i])
            parts[i] = originals[number] if number < len(originals) else ""
            if number < len(self.spans):
                before, _, after = asked[2 * number : 2 * number + 3]
                if before[-1:].isalnum():
                    parts[i - 1] = parts[i - 1].removesuffix(" ")
                if after[:1].isalnum():
                    parts[i + 1] = parts[i + 1].removeprefix(" ")
        parts[::2] = [
            escape(_PRIVATE.sub(lambda x: x[0] if x[0] in source else "", part))
            for part in parts[::2]
        ]
        return parts

    def restore_spans(self, answer: str) -> str:
        """Returns a translation with its spans."""
        return "".join(self.parts(answer))


def make_name(number: int) -> str:
    """Returns the name that replaces a span in a segment."""
    # More than any model reads.
    code = min(FIRST_NAME + number, sys.maxunicode)
    return f"{NAME_OPEN}{chr(code)}{NAME_CLOSE}"


def _number(name):
    return ord(name) - FIRST_NAME


def make_segment(
    source: Source,
    protect: Sequence[str],
    phrases: Sequence[tuple[str, str]],
    begin: int,
    end: int,
) -> Segment:
    """Returns a segment with names for spans; adjacent spans are one.

    Args:
        source: The text.
        protect: Names of formats, or regular expressions, as in `pattern_of`.
        phrases: Pairs of a phrase and its translation; phrases that the text
            lacks are dropped.
        begin, end: Place of the segment in the text.
    """
    part = source.text[begin:end]
    matches = (x.span() for x in _compile(tuple(protect)).finditer(part))
    source_spans = ((x - begin, y - begin) for x, y in source.spans(begin, end))
    places = []
    for first, last in sorted([*matches, *source_spans]):
        if places and first <= places[-1][1]:
            places[-1][1] = max(last, places[-1][1])
        else:
            places.append([first, last])
    named = insert_texts(part, places, map(make_name, itertools.count()))
    spans = (source.get_original(begin + x, begin + y) for x, y in places)
    words = normalize(named, "")
    return Segment(
        named, tuple(spans), tuple(x for x in phrases if x[0] in words)
    )


@functools.lru_cache
def _compile(protect):
    return re2.compile(pattern_of([_MARKS, *protect]))


class Parts:
    """Parts of a text: segments to translate, and kept texts."""

    def _resolve(self, answers):
        """Returns the parts of the translation; strings are kept."""
        return self._parts

    def _pending(self, answers):
        return [x for x in self._resolve(answers) if not isinstance(x, str)]

    def open_segments(self, answers: Mapping) -> list[Segment]:
        """Returns the segments that have no translation yet.

        Args:
            answers: Dict from a `Segment` to its translations, the best first.
        """
        asked = (
            x for y in self._pending(answers) for x in y.open_segments(answers)
        )
        return list(dict.fromkeys(asked))

    def parts(self, answers: Mapping, rank: int = 0) -> Iterator[str]:
        """Yields the parts of the translation.

        Args:
            answers: As in `open_segments`, for all segments.
            rank: Rank of the translation of each segment; the best one if there
                are fewer.
        """
        for x in self._resolve(answers):
            yield from [x] if isinstance(x, str) else x.parts(answers, rank)

    def find_lost(self, answers: Mapping) -> list[str]:
        """Returns the spans that the translation lacks."""
        return [x for y in self._pending(answers) for x in y.find_lost(answers)]


class _SegmentPart(NamedTuple):
    """A segment, and a function from its translation to parts of the text."""

    segment: Segment
    write: Callable[[str], list[str]]

    def open_segments(self, answers):
        return [] if self.segment in answers else [self.segment]

    def parts(self, answers, rank):
        ranked = answers[self.segment]
        return self.write(ranked[rank] if rank < len(ranked) else ranked[0])

    def find_lost(self, answers):
        return self.segment.find_lost(answers[self.segment][0])


class PlainText(Parts):
    """A plain text of a request.

    Args:
        text: The text, or a `Source`, whose text for the model is different.
        protect: Formats of its spans; `None` for a model that keeps none.
        max_words: Maximum number of tokens that the model reads.
        phrases: Pairs of a phrase and its required translation.
    """

    def __init__(
        self,
        text: str | Source,
        protect: Sequence[str] | None,
        max_words: int,
        phrases: Sequence[tuple[str, str]] = (),
    ):
        self._source = Source(text) if isinstance(text, str) else text
        self._options = protect, phrases
        self._parts, end = [], 0
        for line in lines_of(self._source.text):
            begin, end = end, end + len(line)
            part = self._make_part(begin, end)
            if isinstance(part, str) or not may_exceed_limit(
                part.segment.text, max_words
            ):
                self._parts.append(part)
                continue
            for sentence in sentences_of(line):
                begin, start = begin + len(sentence), begin
                self._parts.append(self._make_part(start, begin))

    def _make_part(self, *place):
        """Returns a part of the text: a segment, or a kept text."""
        text = self._source.text[slice(*place)]
        protect, phrases = self._options
        segment = Segment(text)
        if protect is not None and has_words(text):
            segment = make_segment(self._source, protect, phrases, *place)
        if not has_words(segment.text, [ADDRESS, "links"]):
            return self._source.get_original(*place)
        write = functools.partial(self._write_answer, segment, place)
        return _SegmentPart(segment, write)

    def _write_answer(self, segment, place, answer):
        return segment.parts(answer)
