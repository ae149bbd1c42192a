"""Plain text as questions: line by line, a line as one or as sentences.

What stands between the questions, line ends, columns and blanks at the edges,
comes back as it was.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from tfcopy.serving.client_library.answer_lines import may_be_cut
from tfcopy.serving.http_server.kept_spans import Question, question_of

_BLANKS = re.compile(r"(\s+)")
_BREAK = re.compile(r"[\t\n\r\f\v\x1c-\x1e\x85\u2028\u2029]")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]»”’]*$|[。！？]$")


def has_words(text: str) -> bool:
    """Whether there is anything to translate: a letter."""
    return any(char.isalpha() for char in text)


class PlainText:
    """A text of a request.

    Args:
        text: The text.
        protect: What its spans are; `None` for a model that keeps none.
        max_words: The words, or pieces, that the model reads.
        spans: What names stand for that are in the text already.
        escape: Function of what an answer says besides the spans.
    """

    def __init__(
        self,
        text: str,
        protect: Sequence[str] | None,
        max_words: int,
        spans: Sequence[str] = (),
        escape: Callable[[str], str] = str,
    ):
        self._escape = escape
        self._parts = []  # what is kept, and questions
        for i, part in enumerate(_lines(text)):
            if i % 2:
                self._parts.append(part)
                continue
            cut = _sentences(part) if may_be_cut(part, max_words) else [part]
            self._parts += [_asked(x, protect, spans) for x in cut]
        questions = (x for x in self._parts if isinstance(x, Question))
        self.questions = list(dict.fromkeys(questions))

    def open_questions(self, answers: Mapping) -> list[Question]:
        """What is still to be asked.

        Args:
            answers: Dict from a `Question` to the model's answers to it, the
                best first.
        """
        return [x for x in self.questions if x not in answers]

    def answer(self, answers: Mapping, rank: int = 0) -> str:
        """The translation.

        Args:
            answers: As in `open_questions`, which are all.
            rank: Which of the answers to each question; the best where there
                are no more.
        """
        return "".join(
            x.restored(_ranked(answers[x], rank), self._escape)
            if isinstance(x, Question)
            else x
            for x in self._parts
        )

    def lost(self, answers: Mapping) -> list[str]:
        """The spans that the translation does not have."""
        return [s for x in self.questions for s in x.lost(answers[x][0])]


def _ranked(found, rank):
    return found[rank] if rank < len(found) else found[0]


def _asked(text, protect, spans):
    """A `Question`, or the text where there is nothing to be asked."""
    question = Question(text)
    if protect is not None:
        question = question_of(text, protect, spans)
    return question if has_words(question.text) else text


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
