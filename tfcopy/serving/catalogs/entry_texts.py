"""Segments of an entry for a model, and translations from its answers."""

import functools
import itertools
import re
from collections.abc import Mapping, Sequence

from tfcopy.data.corpora.catalog_lines import Entry, Header, forms_of_singular
from tfcopy.data.text import rst_markup, span_patterns
from tfcopy.data.text.accelerators import Marked, remove_mark
from tfcopy.data.text.answer_check import Findings, check
from tfcopy.data.text.segments import has_words, lines_of, mask
from tfcopy.data.text.span_formats import SUFFIX, find_arguments, find_format
from tfcopy.runtime.translation_records import Translation
from tfcopy.serving.catalogs.entries import Skipped, Suggestion
from tfcopy.terminal import printable
from tfcopy.tokens import PLACES, SYNTAX

TOO_LONG = "too long for the model"
NO_ANSWER = "the model has no answer"
WRONG_FORMS = "wrong number of plural forms for the header"
SWAPPED = "its placeholders would be in another order"
_PLACE = rf"[\x{{{PLACES[0]:X}}}-\x{{{PLACES[-1]:X}}}]"
_IS_PLACE = re.compile(f"[{chr(PLACES[0])}-{chr(PLACES[-1])}]")
_PRIVATE = re.compile(f"[{chr(PLACES[0])}-{chr(SYNTAX[-1])}]")
_NUMBER = "#"  # represents the number in a branch of an ICU message
_IS_SYNTAX = re.compile(f"([{chr(SYNTAX[0])}-{chr(SYNTAX[-1])}])")


class EntryTexts:
    """An open entry as segments for a model.

    Lines and columns of a text are translated one by one, and their separators
    are kept. A segment without letters outside spans, such as a number, stays
    as it is.

    Args:
        entry: An `Entry`.
        header: The catalogue's `Header`.
        protect: Formats of spans, as in `span_patterns.pattern_of`, besides
            the flags of the entry.
        known: Formats that the model copies as a whole; empty if unknown.
    """

    def __init__(
        self,
        entry: Entry,
        header: Header,
        protect: Sequence[str],
        known: Sequence[str] = (),
    ):
        self.entry = entry
        self.names = names_of(entry.flags, protect)
        self.fits = entry.plural is None or (
            len(entry.translations) == header.num_forms
        )
        self.marked = Marked(entry.singular)
        if entry.plural is None:
            self.marked = remove_mark(entry.singular)
        self._formula = header.plural_forms
        self._known = known

    @functools.cached_property
    def sources(self) -> dict[int, str]:
        """Returns the source of each open plural form, by number."""
        translations = self.entry.translations
        missing = [n for n, x in translations.items() if not x]
        singular, plural = self.marked.text, self.entry.plural
        if plural is None:
            return dict.fromkeys(missing, singular)
        of_one = forms_of_singular(
            self._formula, len(translations), singular, plural, self.names
        )
        return {n: singular if of_one[n] else plural for n in missing}

    @functools.cached_property
    def _forms(self):
        return {
            number: _Form(source, self.names, self._known)
            for number, source in self.sources.items()
        }

    @functools.cached_property
    def questions(self) -> list[str]:
        """Returns the distinct segments to translate."""
        forms = self._forms.values() if self.fits else ()
        asked = (y.all for x in forms for _, y in x.parts if y)
        return list(dict.fromkeys(itertools.chain(*asked)))

    def num_words(self, question: str) -> int:
        """Returns a lower bound on the number of words; a span is one."""
        names = [*self.names, *self._known]
        return len(span_patterns.replace_spans(question, names, "x").split())

    def suggest(self, forms: Mapping[int, str], origin: str) -> Suggestion:
        """Returns an existing translation as a `Suggestion`.

        Args:
            forms: Dict from the numbers of all forms to their translations.
            origin: Its source, in words.
        """
        # Both contain the accelerator.
        sources = {
            n: self.entry.singular if source == self.marked.text else source
            for n, source in self.sources.items()
        }
        lost, remarks = self._check_translations(sources, forms)
        missing = {n: forms[n] for n in sources}
        return Suggestion(missing, None, lost, remarks, origin)

    def _check_translations(self, sources, translations):
        """Returns lost spans, and other problems, of translations."""
        findings = Findings.merge(
            check(source, translations[n], self.names)
            for n, source in sources.items()
        )
        return findings.lost, tuple(findings._replace(lost=()).remarks)

    def outcome(
        self, answers: Mapping[str, Translation | None]
    ) -> Suggestion | Skipped:
        """Returns the `Suggestion` for the entry, or why it is left open.

        Accelerators are not restored yet.

        Args:
            answers: Dict from all `questions` to a `Translation`; `None` for
                texts that are too long.
        """
        if not self.fits:
            return Skipped(WRONG_FORMS)
        asked = [answers[question] for question in self.questions]
        if None in asked:
            return Skipped(TOO_LONG)
        texts = {
            question: printable(answer.text).strip()
            for question, answer in zip(self.questions, asked)
        }
        if not all(texts.values()):
            return Skipped(NO_ANSWER)
        made = {n: x.translation(texts) for n, x in self._forms.items()}
        if None in made.values():
            return Skipped(SWAPPED)
        texts = {n: x.text for n, x in self._forms.items()}
        forms = {n: x.whole(made[n]) for n, x in self._forms.items()}
        score = min((x.score for x in asked), default=0.0)
        return Suggestion(forms, score, *self._check_translations(texts, made))


def names_of(flags, protect: Sequence[str]) -> list[str]:
    """Returns the formats of spans of an entry, its own ones first.

    Args:
        flags: Flags of the entry, such as `c-format` or `no-c-format`.
        protect: Further names of formats.
    """
    formats = sorted(x for x in flags if find_format(x))
    # Signs that look like placeholders belong to the format, or are declared to
    # be none.
    is_told = any(x.startswith("no-") and x.endswith(SUFFIX) for x in flags)
    if is_told or any("%" in find_format(x).span for x in formats):
        others = {"placeholders": span_patterns.WITHOUT_PERCENT}
        protect = [others.get(x, x) for x in protect if x != "printf"]
    return [*formats, *protect]


class _Form:
    """The text of a plural form, split into segments and kept parts.

    Attributes:
        text: The text, with private characters in place of ICU syntax.
    """

    def __init__(self, text, names, known):
        self.names = names
        pieces = _icu_parts(text)
        is_other = _PRIVATE.search(text) or any(map(find_format, names))
        if len(pieces) > len(SYNTAX) or is_other:
            pieces = [(text, False)]
        self.syntax = [x for x, is_number in pieces if is_number is None]
        numbers = map(chr, SYNTAX)
        self.text = "".join(
            next(numbers) if is_number is None else x for x, is_number in pieces
        )
        places = span_patterns.places_of(self.text, names)
        # Placeholders that only their order identifies, and their numbered
        # forms.
        spans = [self.text[slice(*x)] for x in places]
        rows = find_arguments(spans, names)
        self.ordered = [(x, y[1]) for x, y in zip(spans, rows) if y]
        if _PRIVATE.search(text) or not 1 < len(self.ordered) < len(PLACES):
            self.ordered = []
        self.is_marked = bool(self.ordered and known)
        text = self.text
        if self.is_marked:
            ordered = (x for x, y in zip(places, rows) if y)
            text = span_patterns.insert_texts(text, ordered, map(chr, PLACES))
        # Placeholders without a numbered form must keep their order.
        in_turn = ""
        if any(numbered is None for _, numbered in self.ordered):
            in_turn = _IS_PLACE.pattern
        self.parts = []
        own_parts = _IS_SYNTAX.split(text) if self.syntax else [text]
        for place, part in enumerate(own_parts):
            if place % 2:
                self.parts.append((part, None))
                continue
            has_number = [_NUMBER] if pieces[place][1] else []
            own = [_PLACE, *names, *has_number]
            self.parts += _parts(part, own, known, in_turn)

    def whole(self, text):
        """Puts the ICU syntax back into a text."""
        if not self.syntax:
            return text
        return _IS_SYNTAX.sub(
            lambda x: self.syntax[ord(x[0]) - SYNTAX[0]], text
        )

    def translation(self, texts):
        """Returns the translation, from those of the segments.

        `None` if placeholders without numbered forms change their order.
        """
        translated = [
            self._double(question.translation(texts)) if question else part
            for part, question in self.parts
        ]
        text = "".join(translated)
        if "rst" in self.names:
            # A part of a placeholder may look like markup.
            spans = {*span_patterns.spans_of(self.text, self.names)}
            spans &= {*span_patterns.spans_of(self.text, ["rst"])}
            text = rst_markup.separate_markup(text, spans)
        return self._restore_placeholders(text) if self.ordered else text

    @functools.cached_property
    def _doubled_signs(self):
        """Returns the signs to double, and the pattern of what keeps them."""
        rows = [
            row for row in map(find_format, self.names) if row and row.doubled
        ]
        rest = (
            span_patterns.replace_spans(self.text, self.names, " ")
            if rows
            else ""
        )
        spans = {*span_patterns.spans_of(self.text, self.names)} if rows else ()
        signs = {x for row in rows for x in row.doubled if x not in rest}
        # Java's apostrophe is literal in a text without placeholders.
        spans = [*map(re.escape, sorted(spans, key=len, reverse=True))]
        return signs if spans else (), "|".join([*spans, _IS_PLACE.pattern])

    def _double(self, text):
        """Doubles signs that would otherwise begin a placeholder."""
        signs, spans = self._doubled_signs
        if not any(sign in text for sign in signs):
            return text
        parts = re.split(f"({spans})", text)
        for sign in signs:
            parts[::2] = [x.replace(sign, 2 * sign) for x in parts[::2]]
        return "".join(parts)

    def _restore_placeholders(self, text):
        """Restores placeholders, with numbers if their order changed."""
        if not self.is_marked:
            text = self._mark_placeholders(text)
        places = [ord(x) - PLACES[0] for x in _IS_PLACE.findall(text)]
        spans = [span for span, _ in self.ordered]
        if sorted(places) == [*range(len(spans))] != places:
            spans = [numbered for _, numbered in self.ordered]
            if None in spans:
                return None
        return _IS_PLACE.sub(lambda x: spans[ord(x[0]) - PLACES[0]], text)

    def _mark_placeholders(self, text):
        """Marks the placeholders of an answer by their source positions."""
        free = [span for span, _ in self.ordered]
        places = {}
        for place in span_patterns.places_of(text, self.names):
            span = text[slice(*place)]
            if span in free:
                number = free.index(span)
                free[number] = None
                places[place] = chr(PLACES[number])
        return span_patterns.insert_texts(text, places, places.values())


def _parts(text, *names):
    """Yields pairs of a part of a text and its `MaskedText`, or `None`.

    Args:
        text: A text.
        *names: As in `mask`.
    """
    for part in lines_of(text):
        yield part, mask(part, *names) if has_words(part, names[0]) else None


# ICU messages, such as `{count, plural, one {# file} other {# files}}`, nest,
# so that regular expressions cannot find them. Keywords are kept, and the text
# of each branch is translated separately. Reference: ICU's documentation,
# "Formatting Messages".
_ICU_HEAD = re.compile(
    r"\{\s*[\w.-]+\s*,\s*(plural|selectordinal|select)\s*,"
    r"\s*(?:offset:\s*\d+\s*)?"
)
_ICU_KEY = re.compile(r"\s*(?:=\d+|[\w-]+)\s*\{")
_ICU_DEPTH = 20


def _icu_parts(text: str) -> list[tuple[str, bool | None]]:
    """Splits a text at its ICU messages into kept parts and parts to translate.

    Returns:
        The parts in order, each with `None` if it is kept, or a boolean:
        whether it is a branch for a number, which `#` represents.
    """
    if not _ICU_HEAD.search(text):
        return [(text, False)]
    ends, is_open = {}, []
    for match in re.finditer(r"[{}]", text):
        if match[0] == "{":
            is_open.append(match.start())
        elif is_open:
            ends[is_open.pop()] = match.start()
    return list(_icu_cut(text, 0, len(text), ends, False, 0))


def _icu_cut(text, begin, stop, ends, has_number, depth):
    done = begin
    for head in _ICU_HEAD.finditer(text, begin, stop):
        if head.start() < done or depth == _ICU_DEPTH:
            continue
        branches = _icu_branches(text, head, ends)
        if not branches:
            continue
        yield text[done : head.start()], has_number
        done = head.start()
        for first, last in branches:
            yield text[done:first], None
            is_number = head[1] != "select" or has_number
            yield from _icu_cut(text, first, last, ends, is_number, depth + 1)
            done = last
        end = ends[head.start()] + 1
        yield text[done:end], None
        done = end
    yield text[done:stop], has_number


def _icu_branches(text, head, ends):
    """Returns the places of the texts of branches; [] if there are none."""
    found, end = [], ends.get(head.start(), -1)
    place = head.end()
    while key := _ICU_KEY.match(text, place, max(end, place)):
        last = ends.get(key.end() - 1, end)
        found.append((key.end(), last))
        place = last + 1
    return found if text[place:end].strip() == "" and place <= end else []
