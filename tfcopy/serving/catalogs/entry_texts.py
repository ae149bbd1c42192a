"""What a model is asked for an entry, and what its answers make of it."""

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tfcopy.data.text.span_patterns import lost_spans, replaced_spans
from tfcopy.error_lines import printable
from tfcopy.serving.catalogs.catalog_lines import Entry
from tfcopy.serving.catalogs.entry_filling import Left, Suggestion

TOO_LONG = "too long for the model"
NO_ANSWER = "the model has no answer"
WRONG_FORMS = "not the plural forms that the header tells"
# What flags of gettext say of the spans of an entry.
_OF_FLAG = {
    "c-format": "printf",
    "objc-format": "printf",
    "php-format": "printf",
    "python-format": "printf",
    "c++-format": "brace",
    "perl-brace-format": "brace",
    "python-brace-format": "brace",
    "rust-format": "brace",
}
# Lines, columns, and blanks around a text are not the model's business.
# Each run of blanks is looked at once, from its beginning.
_BETWEEN = re.compile(
    r"((?<![ \t\n\r\f\v])[ \t\n\r\f\v]*[\t\n\r\f\v][ \t\n\r\f\v]*"
    r"|\A +|(?<! ) +\Z)"
)
_LETTER = re.compile(r"[^\W\d_]")
# What ends a line for some readers of text.
_LINE_ENDS = dict.fromkeys((0x2028, 0x2029), " ")


class Answer(NamedTuple):
    """A model's answer to a text, and its log-probability."""

    text: str
    score: float


class EntryTexts:
    """An entry that waits for a translation, as texts for a model.

    Lines and columns of a text are asked one by one; what separates them is
    kept. What has no letters but in spans, such as a number, is its own
    translation.

    Args:
        entry: An `Entry`.
        num_forms: The number of plural forms of the language, or `None`.
        protect: What spans are, as in `lost_spans`; flags of the entry tell
            further ones.
    """

    def __init__(
        self, entry: Entry, num_forms: int | None, protect: Sequence[str]
    ):
        self.entry = entry
        flags = sorted(entry.flags & _OF_FLAG.keys())
        self.names = [*protect, *(_OF_FLAG[flag] for flag in flags)]
        self.fits = entry.plural is None or (
            len(entry.translations) == num_forms
        )

    @functools.cached_property
    def sources(self) -> dict[int, str]:
        """The texts to be translated, by the numbers of their forms."""
        missing = [n for n, x in self.entry.translations.items() if not x]
        singular, plural = self.entry.singular, self.entry.plural
        # The only form of a language is also that of many.
        is_single = plural is None or len(self.entry.translations) > 1
        return {
            n: singular if n == 0 and is_single else plural for n in missing
        }

    @functools.cached_property
    def questions(self) -> list[str]:
        """What the model is to be asked, each text once."""
        if not self.fits:
            return []
        parts = (x for text in self.sources.values() for x in _texts(text))
        return [x for x in dict.fromkeys(parts) if self._has_words(x)]

    def num_words(self, question: str) -> int:
        """The number of words, at least; a span is one."""
        return len(replaced_spans(question, self.names, "x").split())

    def outcome(
        self, answers: Mapping[str, Answer | None]
    ) -> Suggestion | Left:
        """What is to be done with the entry.

        Args:
            answers: Dict from all `questions` to an `Answer`, or `None` for
                those that are too long.
        """
        if not self.fits:
            return Left(WRONG_FORMS)
        asked = [answers[question] for question in self.questions]
        if None in asked:
            return Left(TOO_LONG)
        texts = {
            question: _plain(answer.text)
            for question, answer in zip(self.questions, asked)
        }
        if not all(texts.values()):
            return Left(NO_ANSWER)
        forms = {
            number: "".join(texts.get(x, x) for x in _BETWEEN.split(source))
            for number, source in self.sources.items()
        }
        lost = dict.fromkeys(
            span
            for number, source in self.sources.items()
            for span in lost_spans(source, forms[number], self.names)
        )
        score = min((x.score for x in asked), default=0.0)
        return Suggestion(forms, score, tuple(lost))

    def _has_words(self, text):
        return bool(_LETTER.search(replaced_spans(text, self.names, " ")))


def _texts(text) -> Iterable[str]:
    """The parts of a text between those that are kept."""
    return filter(None, _BETWEEN.split(text)[::2])


def _plain(text):
    """An answer in one line, without control characters."""
    return printable(text).translate(_LINE_ENDS).strip()
