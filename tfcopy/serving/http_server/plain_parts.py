"""Segments of plain text: lines, or sentences of long lines.

Line ends, columns and blanks between the segments are kept.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tfcopy.serving.client_library.answer_lines import may_be_cut
from tfcopy.serving.http_server.kept_spans import Segment, Source, segment_of
from tfcopy.serving.segments import has_words, lines_of, sentences_of


class Parts:
    """Parts of a text: segments to translate, and kept texts."""

    def _said(self, answers):
        """Returns the parts of the translation; strings are kept."""
        return self._parts

    def _asked(self, answers):
        return [x for x in self._said(answers) if not isinstance(x, str)]

    def open_segments(self, answers: Mapping) -> list[Segment]:
        """Returns the segments that have no translation yet.

        Args:
            answers: Dict from a `Segment` to its translations, the best first.
        """
        asked = (
            x for y in self._asked(answers) for x in y.open_segments(answers)
        )
        return list(dict.fromkeys(asked))

    def answer(self, answers: Mapping, rank: int = 0) -> str:
        """Returns the translation; arguments as in `parts`."""
        return "".join(self.parts(answers, rank))

    def parts(self, answers: Mapping, rank: int = 0) -> Iterator[str]:
        """Yields the parts of the translation.

        Args:
            answers: As in `open_segments`, for all segments.
            rank: Rank of the translation of each segment; the best one if there
                are fewer.
        """
        for x in self._said(answers):
            yield from [x] if isinstance(x, str) else x.parts(answers, rank)

    def lost(self, answers: Mapping) -> list[str]:
        """Returns the spans that the translation lacks."""
        return [x for y in self._asked(answers) for x in y.lost(answers)]


class _Asked(NamedTuple):
    """A segment, and a function from its translation to parts of the text."""

    segment: Segment
    written: Callable[[str], list[str]]

    def open_segments(self, answers):
        return [] if self.segment in answers else [self.segment]

    def parts(self, answers, rank):
        found = answers[self.segment]
        return self.written(found[rank] if rank < len(found) else found[0])

    def lost(self, answers):
        return self.segment.lost(answers[self.segment][0])


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
            part = self._part(begin, end)
            if isinstance(part, str) or not may_be_cut(
                part.segment.text, max_words
            ):
                self._parts.append(part)
                continue
            for sentence in sentences_of(line):
                begin, start = begin + len(sentence), begin
                self._parts.append(self._part(start, begin))

    def _part(self, *place):
        """Returns a part of the text: a segment, or a kept text."""
        text, (protect, phrases) = (
            self._source.text[slice(*place)],
            self._options,
        )
        segment = Segment(text)
        if protect is not None and has_words(text):
            segment = segment_of(self._source, protect, phrases, *place)
        if not has_words(segment.text):
            return self._source.written(*place)
        return _Asked(segment, functools.partial(self._written, segment, place))

    def _written(self, segment, place, answer):
        return segment.parts(answer)
