"""Plain text as questions: line by line, a line as one or as sentences.

What stands between the questions, line ends, columns and blanks at the edges,
comes back as it was.
"""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from tfcopy.serving.client_library.answer_lines import may_be_cut
from tfcopy.serving.http_server.kept_spans import Question, Source, question_of
from tfcopy.serving.segments import has_words, lines_of, sentences_of


class Parts:
    """Texts that are asked, among others that are kept."""

    def _said(self, answers):
        """The parts that make the answer, of which strings are kept."""
        return self._parts

    def _asked(self, answers):
        return [x for x in self._said(answers) if not isinstance(x, str)]

    def open_questions(self, answers: Mapping) -> list[Question]:
        """Returns what is still to be asked.

        Args:
            answers: Dict from a `Question` to the model's answers to it, the
                best first.
        """
        asked = (
            x for y in self._asked(answers) for x in y.open_questions(answers)
        )
        return list(dict.fromkeys(asked))

    def answer(self, answers: Mapping, rank: int = 0) -> str:
        """Returns the translation; arguments as in `parts`."""
        return "".join(self.parts(answers, rank))

    def parts(self, answers: Mapping, rank: int = 0) -> Iterator[str]:
        """Yields the parts of the translation.

        Args:
            answers: As in `open_questions`, which are all.
            rank: Which of the answers to each question; the best where there
                are no more.
        """
        for x in self._said(answers):
            yield from [x] if isinstance(x, str) else x.parts(answers, rank)

    def lost(self, answers: Mapping) -> list[str]:
        """Returns the spans that the translation does not have."""
        return [x for y in self._asked(answers) for x in y.lost(answers)]


class _Asked(NamedTuple):
    """A question, and the function of an answer to the parts of the text."""

    question: Question
    written: Callable[[str], list[str]]

    def open_questions(self, answers):
        return [] if self.question in answers else [self.question]

    def parts(self, answers, rank):
        found = answers[self.question]
        return self.written(found[rank] if rank < len(found) else found[0])

    def lost(self, answers):
        return self.question.lost(answers[self.question][0])


class PlainText(Parts):
    """A text of a request.

    Args:
        text: The text, or the `Source` of one that is read otherwise than it
            is written.
        protect: What its spans are; `None` for a model that keeps none.
        max_words: The words, or pieces, that the model reads.
        phrases: Pairs of a phrase and the translation that it must have.
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
                part.question.text, max_words
            ):
                self._parts.append(part)
                continue
            for sentence in sentences_of(line):
                begin, start = begin + len(sentence), begin
                self._parts.append(self._part(start, begin))

    def _part(self, *place):
        """What is asked of a part of the text, or what is kept."""
        text, (protect, phrases) = (
            self._source.text[slice(*place)],
            self._options,
        )
        question = Question(text)
        if protect is not None and has_words(text):
            question = question_of(self._source, protect, phrases, *place)
        if not has_words(question.text):
            return self._source.written(*place)
        return _Asked(
            question, functools.partial(self._written, question, place)
        )

    def _written(self, question, place, answer):
        return question.parts(answer)
