"""Plain text as questions: line by line, a line as one or as sentences.

What stands between the questions, line ends, columns and blanks at the edges,
comes back as it was.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

from tfcopy.serving.client_library.answer_lines import may_be_cut
from tfcopy.serving.http_server.kept_spans import Question, Source, question_of

_BLANKS = re.compile(r"(\s+)")
_BREAK = re.compile(r"[\t\n\r\f\v\x1c-\x1e\x85\u2028\u2029]")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]»”’]*$|[。！？]$")


def has_words(text: str) -> bool:
    """Returns whether there is anything to translate: a letter."""
    return any(char.isalpha() for char in text)


class PlainText:
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
        self._protect = protect
        self._phrases = phrases
        self._parts = []  # what is kept, or a question; where it begins, ends
        end = 0
        for line in _lines(self._source.text):
            begin, end = end, end + len(line)
            part, *_ = whole = self._asked(begin, end)
            if isinstance(part, str) or not may_be_cut(part.text, max_words):
                self._parts.append(whole)
                continue
            for sentence in _sentences(line):
                begin, start = begin + len(sentence), begin
                self._parts.append(self._asked(start, begin))
        questions = (x for x, *_ in self._parts if isinstance(x, Question))
        self.questions = list(dict.fromkeys(questions))

    def _asked(self, *place):
        """A `Question`, or what is kept where there is none, and the place."""
        text = self._source.text[slice(*place)]
        question = Question(text)
        if self._protect is not None and has_words(text):
            question = question_of(
                self._source, self._protect, self._phrases, *place
            )
        if has_words(question.text):
            return question, *place
        return self._source.written(*place), *place

    def open_questions(self, answers: Mapping) -> list[Question]:
        """Returns what is still to be asked.

        Args:
            answers: Dict from a `Question` to the model's answers to it, the
                best first.
        """
        return [x for x in self.questions if x not in answers]

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
        for part, *place in self._parts:
            if isinstance(part, str):
                yield part
            else:
                answer = _ranked(answers[part], rank)
                yield from self._restored(part, answer, *place)

    def _restored(self, question, answer, begin, end):
        """The parts of the answer to a question, which has its place."""
        return question.parts(answer)

    def lost(self, answers: Mapping) -> list[str]:
        """Returns the spans that the translation does not have."""
        return [s for x in self.questions for s in x.lost(answers[x][0])]


def _ranked(found, rank):
    return found[rank] if rank < len(found) else found[0]


def _lines(text):
    """Lines of a text and what is between them, by turns."""

    def is_end(line, blanks, word):
        return _BREAK.search(blanks) or not line or not word

    return _grouped(text, is_end)


def _sentences(line):
    """Sentences of a line and the blanks between them, by turns."""
    return _grouped(line, lambda words, *_: _SENTENCE_END.search(words[-9:]))


def _grouped(text, is_end):
    """Groups of words of a text and the blanks between them, by turns.

    Args:
        text: The text.
        is_end: Function of the last word so far, the blanks behind it and the
            next word.
    """
    parts = _BLANKS.split(text)
    groups, group = [], [parts[0]]
    for blanks, word in zip(parts[1::2], parts[2::2]):
        if is_end(group[-1], blanks, word):
            groups += ["".join(group), blanks]
            group = [word]
        else:
            group += [blanks, word]
    return [*groups, "".join(group)]
