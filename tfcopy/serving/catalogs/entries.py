"""What a model is asked for an entry, and the new lines that its answers make.

All other lines stay, byte for byte.
"""

import functools
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tfcopy.data.text.span_patterns import lost_spans, replaced_spans
from tfcopy.serving.catalogs.catalog_lines import Entry, entries_of, lines_of
from tfcopy.terminal import printable

# Begins what an entry is told about itself.
_REMARK = "# tfcopy: "
_EOL = re.compile(r"\r?\n?$")


class Suggestion(NamedTuple):
    """A translation of an entry.

    Attributes:
        forms: Dict from the numbers of all its forms to their texts.
        score: The log-probability of the worst of the model's answers in it.
        lost: The spans of the source that it does not have.
    """

    forms: dict[int, str]
    score: float
    lost: tuple[str, ...] = ()

    @property
    def remarks(self) -> list[str]:
        """What translators are told about it, a line each."""
        lines = [f"score {self.score:.2f}"]
        if self.lost:
            lines.append(f"lost {', '.join(self.lost)}")
        return lines


class Left(NamedTuple):
    """Why an entry is left as it is."""

    reason: str

    @property
    def remarks(self) -> list[str]:
        """What translators are told about it, a line each."""
        return [f"left as it is: {self.reason}"]


def filled(path, text: str, outcomes: Mapping) -> str:
    """A catalogue whose open entries have what was found for them.

    Forms that have a translation keep it. Filled entries are fuzzy, as
    suggestions are, and remarks are among their translators' comments.

    Args:
        path: The catalogue's, for messages.
        text: The catalogue.
        outcomes: Dict from keys of entries to a `Suggestion` or `Left`.

    Raises:
        AskError: If it is no catalogue.
    """
    lines = text.split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    done = []
    # From the last, so that the numbers of lines before it stay true. What
    # stands after an entry is put aside, so that it need not be moved.
    for entry in reversed(entries_of(path, lines)):
        outcome = outcomes.get(entry.key)
        if outcome is not None and entry.is_open:
            end = max(place.stop for place in entry.places.values())
            done.append(lines[end:])
            del lines[end:]
            _fill(lines, entry, outcome)
    return "".join(itertools.chain(lines, *reversed(done)))


def _fill(lines, entry: Entry, outcome):
    forms = getattr(outcome, "forms", {})
    for number in sorted(entry.places, reverse=True):
        if not entry.translations[number] and number in forms:
            place = entry.places[number]
            new = lines_of(entry.keyword(number), forms[number])
            _replace(lines, place, new)
    if forms and entry.flags_line is None:
        _replace(lines, _place_of_flags(lines, entry), ["#, fuzzy"])
    elif forms:
        line = lines[entry.flags_line]
        line = re.sub(r"#,[ \t]*", "#, fuzzy, ", line, count=1)
        lines[entry.flags_line] = re.sub(r", (?=\s*$)", "", line)
    remarks = [_REMARK + printable(x) for x in outcome.remarks]
    old = [
        number
        for number in entry.comments
        if lines[number].lstrip().startswith(_REMARK)
    ]
    if [lines[number].strip() for number in old] != remarks:
        place = _place_of_remarks(lines, entry)
        _replace(lines, range(place, place), remarks)
        for number in reversed(old):
            del lines[number]


def _replace(lines, place, new):
    """Replaces lines by others, whose ends are the same."""
    # At the end of the file there may be none.
    ends = [_EOL.search(lines[x])[0] for x in place]
    usual = _EOL.search(lines[max(0, place.start - 1)])[0]
    last = ends[-1] if ends else usual
    lines[place.start : place.stop] = [
        *(line + usual for line in new[:-1]),
        new[-1] + last,
    ]


def _place_of_flags(lines, entry):
    """They come after all comments but the previous `msgid`."""
    place = entry.start
    while place - 1 in entry.comments and _kind(lines[place - 1]) == "#|":
        place -= 1
    return range(place, place)


def _place_of_remarks(lines, entry):
    """They come after the translators' comments, before all others."""
    place = entry.start
    for number in reversed(entry.comments):
        if _kind(lines[number]) == "# ":
            return number + 1
        place = number
    return place


def _kind(line):
    """How a comment begins; "# " if it is a translator's."""
    kind = line.strip()[:2]
    return kind if kind in ("#|", "#,", "#.", "#:") else "# "


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
        texts = map(_BETWEEN.split, self.sources.values())
        # Those between what is kept.
        parts = dict.fromkeys(x for text in texts for x in text[::2] if x)
        return [x for x in parts if self._has_words(x)]

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


def _plain(text):
    """An answer in one line, without control characters."""
    return printable(text).translate(_LINE_ENDS).strip()
