"""Splits texts into the segments that a model translates one by one.

A line is a segment, and of a long line a sentence. Line ends, columns, and
blanks around a segment stay as they are.

A segment may have spans that a model would not copy: the flags of a catalogue's
entry may declare formats of placeholders that the model was not trained to
copy. Each placeholder is replaced by one of a format that the model knows, and
put back afterwards. The same is done for links with a text, whose two parts a
model might separate.
"""

import bisect
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from tfcopy.data.text import span_patterns
from tfcopy.data.text.blanks import BREAKS

_BLANKS = re.compile(r"(\s+)")
_BREAK = re.compile(f"[{BREAKS}]")
# Of subtitles, SubRip's or WebVTT's, with settings such as align:start.
_TIME_LINE = re.compile(r"\s*\d[\d:.,]*\s*-->\s*\d[\d:.,]*(?:\s.*)?")
_SENTENCE_END = re.compile(r"[.!?…][\"')\]»”’]*$|[。！？]$")


def has_words(text: str, names: Sequence[str] = ()) -> bool:
    """Returns whether there is anything to translate: a letter.

    A line of the times of a subtitle has nothing.

    Args:
        text: The text.
        names: Formats whose spans do not count, as in
            `span_patterns.pattern_of`.
    """
    if _TIME_LINE.fullmatch(text):
        return False
    rest = span_patterns.replace_spans(text, names, " ") if names else text
    return any(char.isalpha() for char in rest)


def lines_of(text: str) -> list[str]:
    """Splits a text into lines, which alternate with what separates them."""

    def is_end(line, blanks, word):
        return _BREAK.search(blanks) or not line or not word

    return _group(text, is_end)


def sentences_of(line: str) -> list[str]:
    """Splits a line into sentences, which alternate with blanks."""
    return _group(line, lambda words, *_: _SENTENCE_END.search(words[-9:]))


def _group(text, is_end):
    """Returns groups of words of a text, which alternate with blanks.

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


# The first known format is the one that neighbouring characters affect least.
_STAND_INS = {
    **dict.fromkeys(("placeholders", "brace"), "{{{}}}"),
    "html": "<{}>",
    "printf": "%({})s",
    "markdown": "`{}`",
    "rst": "``{}``",
}
# Formats whose order the constrained search keeps.
_IN_TURN = dict.fromkeys(("placeholders", "printf"), "%{}s")
# Links with a text, which is translated separately.
_LINKS = re.compile(
    r"((?<![\w`:\\])`)([^`<>]+?)(\s*<[^<>`\s]+>`__?)"
    r"|(\[)([^\[\]]*)(\]\([^()\s]*(?:\([^()\s]*\)[^()\s]*)*\))"
)


class MaskedText(NamedTuple):
    """A text with stand-ins for spans.

    Attributes:
        text: The text to translate.
        spans: Dict from stand-ins to spans; for a link to its beginning, its
            masked text, and its end.
        names: Formats of spans, as in `span_patterns.pattern_of`.
    """

    text: str
    spans: dict[str, str | tuple]
    names: Sequence[str] = ()

    @property
    def all(self) -> list[str]:
        """Returns the text, and the texts of its links."""
        links = [x[1].all for x in self.spans.values() if type(x) is tuple]
        return [self.text, *itertools.chain(*links)]

    def translation(self, texts: Mapping[str, str]) -> str:
        """Returns the translation, with stand-ins replaced by their spans.

        Args:
            texts: Dict from the texts of `all` to their translations.
        """
        if not self.spans:
            return texts[self.text]
        forms = {re.sub("[0-9]+", "#", re.escape(x)) for x in self.spans}
        found = "|".join(forms).replace("#", "[0-9]+")

        def restore(match):
            span = self.spans.get(match[0], match[0])
            if isinstance(span, str):
                return span
            begin, text, end = span
            return begin + text.translation(texts) + end

        def separate(match):
            """Adds a blank to a stand-in whose span would hide the next one."""
            both = [self.spans[x] for x in match.groups()]
            both = [x if isinstance(x, str) else "" for x in both]
            alone = [
                y for x in both for y in span_patterns.spans_of(x, self.names)
            ]
            is_lost = span_patterns.spans_of("".join(both), self.names) != alone
            return match[1] + " " * is_lost

        text = re.sub(f"({found})(?=({found}))", separate, texts[self.text])
        return re.sub(found, restore, text)


def mask(
    text: str, names: Sequence[str], known: Sequence[str], in_turn: str = ""
) -> MaskedText:
    """Returns a text with stand-ins for spans of unknown formats.

    Args:
        text: A text in one line.
        names: Formats of spans, as in `span_patterns.pattern_of`.
        known: Formats that the model copies as a whole.
        in_turn: Regular expression of `re` for spans whose order should be
            kept, if the model can; `""` for none.
    """
    forms = [form for name, form in _STAND_INS.items() if name in known]
    # Excludes forms that already occur in the text.
    turns = {x for name, x in _IN_TURN.items() if in_turn and name in known}
    turns -= {x for x in turns if re.search(x.format("[0-9]+"), text)}
    links = {
        match.span(): match
        for match in _LINKS.finditer(text)
        if forms and has_words(match[2] or match[5], names)
    }
    begins, ends = [x for x, _ in links], [0, *(y for _, y in links)]
    unknown = [
        place
        for place in span_patterns.places_of(text, names)
        if place[0] >= ends[bisect.bisect_right(begins, place[0])]
    ]
    places = sorted(
        {*unknown, *links} - {*span_patterns.places_of(text, known)}
    )
    if not forms or not places:
        return MaskedText(text, {})
    # No text contains all of these.
    letter = next((x for x in "xyzqjkvw" if f"{x}0" not in text), "tfcopy")
    for turn, form in itertools.product([*turns, None], forms):
        spans = {}
        for number, place in enumerate(places):
            span = text[slice(*place)]
            name = form.format(f"{letter}{number}")
            if turn and re.fullmatch(in_turn, span):
                name = turn.format(number + 1)
            spans[name] = span
            if link := links.get(place):
                first, inner, last = filter(None, link.groups())
                spans[name] = first, mask(inner, names, known, in_turn), last
        masked_text = span_patterns.insert_texts(text, places, spans)
        if spans.keys() <= {*span_patterns.spans_of(masked_text, known)}:
            break
    return MaskedText(masked_text, spans, names)
