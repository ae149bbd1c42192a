"""Check of a translation for markup that it lost, added or mixed up."""

import collections
import difflib
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import re2

from tfcopy.data.text import rst_markup, span_patterns
from tfcopy.data.text.span_formats import find_arguments, find_format
from tfcopy.data.text.span_patterns import replace_spans, spans_of

_TAG = re.compile(r"(?s)<(/?)([A-Za-z][\w:.-]*).*?(/?)>")
# Empty elements of XLIFF that begin or end something, by a number that may also
# overlap others, or by Angular's name of an element, such as START_LINK.
_HALF = re.compile(
    r"(?s)<(?:(?:(bx|bpt|sc|sm)|ex|ept|ec|em)\b"
    r'.*\b(?:id|startRef)="([^"]*)"'
    r'|(?:x|ph)\b.*?\bid="(?:(START)|CLOSE)_(\w+?)(?:_[0-9]+)?").*/>'
)
_PAIRS = {"(": ")", "[": "]", "{": "}", "「": "」"}
# Languages differ: closing marks of some open quotations in others.
_QUOTES = '"“”„‟«»'
# The first sign of a quotation as GNU's programs once wrote it, `file', or
# code; an apostrophe in a word is no last sign.
_GNU_QUOTE = re.compile(r"(`[^`']*`)|`(?=[^`']*'(?!\w)|[^`'\s]*\s?')")
# Number of a placeholder, which a translation may add or remove.
_NUMBER = re.compile(r"(?<=\{)[0-9]+|[0-9]+[$:]|\[[0-9]+\]")
# Pairs of a lost span and a further one that are compared.
_MOST_COMPARED = 1000
_WIDE = str.maketrans("（）［］｛｝", "()[]{}")
# Kinds of spans that are markup, not placeholders of words.
MARKUP = ("links", "rst", "markdown", "html")
# Texts that end, or begin, with a letter or digit of a language with blanks
# between words and none of its endings right after a placeholder, as in Korean
# or Tamil. In Arabic and Hebrew a single letter may come right before one.
_WORD = r"[\p{Lu}\p{Ll}\p{Nd}\p{Devanagari}\p{Bengali}\p{Gujarati}\p{Gurmukhi}]"
_SEMITIC = r"[\p{Arabic}\p{Hebrew}]"
ENDS_WITH_LETTER = rf"(?s).*(?:{_WORD}|{_SEMITIC}\pM*{_SEMITIC})\pM*"
BEGINS_WITH_LETTER = rf"(?s)(?:{_WORD}|{_SEMITIC}).*"


class Findings(NamedTuple):
    """Faults of an answer; all fields are empty if there are none.

    Attributes:
        lost: Spans of the source that the answer has less often.
        extra: Spans that the answer has more often.
        swapped: Placeholders that are identified by position alone, in the
            order of the answer, if it differs.
        others: Tags and brackets without their other half, or after it,
            letters beside placeholders, and blanks and ends of line at the
            edges, in words.
    """

    lost: Sequence[str] = ()
    extra: Sequence[str] = ()
    swapped: Sequence[str] = ()
    others: Sequence[str] = ()

    @classmethod
    def merge(cls, findings: Iterable["Findings"]) -> "Findings":
        """Merges the findings of several answers, each once."""
        columns = zip(cls(), *findings)
        return cls(
            *(tuple(dict.fromkeys(itertools.chain(*x))) for x in columns)
        )

    @property
    def remarks(self) -> list[str]:
        """Remarks for translators, a line each."""
        lines = []
        if self.lost:
            lines.append(f"lost {', '.join(self.lost)}")
        is_short = len(self.lost) * len(self.extra) <= _MOST_COMPARED
        lost = self.lost if is_short else ()
        for span in self.extra:
            near = difflib.get_close_matches(span, lost, 1)
            lines.append(f"+ {span}" + (f" for {near[0]}" if near else ""))
        if self.swapped:
            lines.append(f"in another order: {' '.join(self.swapped)}")
        return [*lines, *self.others]


def check(source: str, answer: str, names: Sequence[str]) -> Findings:
    """Compares an answer with its source.

    docutils finds the markup of reStructuredText, unless it reads the markup of
    the source differently.

    Args:
        source: A text.
        answer: Its translation.
        names: Kinds of spans, as in `span_patterns.pattern_of`.
    """
    wanted, found = spans_of_both(source, answer, names)
    missing = collections.Counter(wanted)
    more = collections.Counter(found)
    missing, more = missing - more, more - missing
    swapped = ()
    rows, own = find_arguments(wanted, names), find_arguments(found, names)
    one, other = _add_numbers(wanted, rows), _add_numbers(found, own)
    # If the answer has numbers and the source has none, all or none have them.
    is_mixed = len([*filter(None, own)]) not in (0, len([*filter(None, rows)]))
    if not is_mixed and collections.Counter(one) == collections.Counter(other):
        missing = more = collections.Counter()
    elif not missing and not more:
        swapped = [x for x, y in zip(found, own) if y]
    others = [
        *_check_tags(wanted, found),
        *_check_characters(source, answer, names),
        *_check_letters(source, answer, names),
        *_edges(source, answer),
    ]
    spans = missing.elements(), more.elements(), swapped
    return Findings(*map(tuple, (*spans, others)))


def spans_of_both(source: str, answer: str, names) -> tuple[list, list]:
    """Finds the spans of a source and of its translation, as in `check`."""
    wanted, found = spans_of(source, names), spans_of(answer, names)
    if "rst" not in names:
        return wanted, found
    # Addresses are found anywhere.
    markup = {
        x
        for x in (*spans_of(source, ["rst"]), *spans_of(answer, ["rst"]))
        if x[0] in "`:|[<"
    }
    read = [rst_markup.markup_of(x) for x in (source, answer)]
    if None in read:
        return wanted, found
    by_docutils, in_answer = ([x for x in y if x in markup] for y in read)
    by_pattern = [x for x in wanted if x in markup]
    if collections.Counter(by_docutils) == collections.Counter(by_pattern):
        found = [x for x in found if x not in markup] + in_answer
    return wanted, found


def find_touched(text: str, names) -> Iterator[tuple[str, str]]:
    """Finds the placeholders of a text that have a letter right beside them.

    Args:
        text: A string.
        names: As in `pattern_of`.

    Yields:
        Placeholders, each with the letter's side, "before" or "after".
    """
    formats = [x for x in names if x not in MARKUP]
    formats = re2.compile(span_patterns.pattern_of(formats))
    end, begin = map(re2.compile, (ENDS_WITH_LETTER, BEGINS_WITH_LETTER))
    text = text.encode(errors="replace").decode()
    places = span_patterns.places_of(text, names)
    edges = [0, *itertools.chain(*places), len(text)]
    parts = [text[slice(*x)] for x in itertools.pairwise(edges)]
    for before, span, after in zip(parts[::2], parts[1::2], parts[2::2]):
        if formats.fullmatch(span):
            if end.fullmatch(before):
                yield span, "before"
            if begin.fullmatch(after):
                yield span, "after"


def have_same_spans(one: str, other: str, names: Iterable[str]) -> bool:
    """Returns whether two texts have the same placeholders.

    Args:
        one: A text.
        other: A text.
        names: Flags of an entry; those that name no format are ignored. With
            none the usual placeholders count.
    """
    names = [x for x in names if find_format(x)] or ["printf", "brace"]
    return sorted(spans_of(one, names)) == sorted(spans_of(other, names))


def any_must_be_in_all(text: str, names: Iterable[str]) -> bool:
    """Returns whether a text has a placeholder that no plural may lack.

    Args:
        text: A text.
        names: As in `have_same_spans`.
    """
    return any(
        re.match(row.strict, span)
        for name in names
        if (row := find_format(name)) and row.strict
        for span in spans_of(text, [name])
    )


def _add_numbers(spans, rows):
    """Adds numbers to spans that are identified by position."""
    return [
        span if row is None else row[1] or (span, row[0])
        for span, row in zip(spans, rows)
    ]


class _Tag(NamedTuple):
    span: str
    name: str
    is_end: bool


def _tags(spans, numbers):
    """Returns tags in groups whose tags nest, without `<br/>` and the like."""
    groups = collections.defaultdict(list)
    for span in spans:
        half, tag = _HALF.fullmatch(span), _TAG.fullmatch(span)
        if half:
            begins, number, starts, name = half.groups()
            number = number if number in numbers else ""
            tag = _Tag(span, name or number, not (begins or starts))
            groups[number].append(tag)
        elif tag and not tag[3]:
            groups[None].append(_Tag(span, tag[2], bool(tag[1])))
    return groups


def _check_tags(source_tags, answer_tags):
    halves = [x.groups() for x in map(_HALF.fullmatch, source_tags) if x]
    # Numbers of a begin and an end. Without any, an `rid` makes them a pair.
    begun, ended = ({x[1] for x in halves if bool(x[0]) == y} for y in (1, 0))
    others = _tags(answer_tags, begun & ended)
    for group, tags in _tags(source_tags, begun & ended).items():
        names = {tag.name for tag in tags if tag.is_end}
        if not _check_pairs(tags, names):
            yield from _check_pairs(others[group], names)


def _check_pairs(tags, names):
    """Returns remarks on tags of these names that are not in pairs."""
    remarks, is_open = [], []
    tags = [x for x in tags if x.name in names]
    begun, ended = collections.Counter(), collections.Counter()
    later = collections.defaultdict(collections.deque)
    for tag in tags:
        if not tag.is_end:
            later[tag.name].append(tag.span)
    for tag in tags:
        name = tag.name
        if not tag.is_end:
            later[name].popleft()
        if not tag.is_end and ended[name]:
            ended[name] -= 1
        elif not tag.is_end:
            is_open.append(tag)
            begun[name] += 1
        elif begun[name]:
            while is_open[-1].name != name:
                begun[is_open[-1].name] -= 1
                remarks.append(f"unmatched {is_open.pop().span}")
            is_open.pop()
            begun[name] -= 1
        elif later[name]:
            remarks.append(f"{tag.span} before {later[name][0]}")
            ended[name] += 1
        else:
            remarks.append(f"unmatched {tag.span}")
    return remarks + [f"unmatched {tag.span}" for tag in is_open]


def _check_characters(source, answer, names):
    one, other = (
        _GNU_QUOTE.sub(r"\1", replace_spans(x, names, " ").translate(_WIDE))
        for x in (source, answer)
    )
    for begin, end in _PAIRS.items():
        was, now = (x.count(begin) - x.count(end) for x in (one, other))
        if was != now:
            yield f"unmatched {begin if now > was else end}"
    for signs in ("`", _QUOTES):
        was, now = (sum(map(x.count, signs)) for x in (one, other))
        if (was - now) % 2:
            odd = (x for x in signs if other.count(x) % 2)
            yield f"unmatched {next(odd, signs[0])}"


def _check_letters(source, answer, names):
    """Yields remarks on placeholders that have become parts of words."""
    had = collections.Counter(
        (_NUMBER.sub("", span), side)
        for span, side in find_touched(source, names)
    )
    for span, side in find_touched(answer, names):
        key = _NUMBER.sub("", span), side
        had[key] -= 1
        if had[key] < 0:
            yield f"a letter right {side} {span}"


def _edges(source, answer):
    pairs = zip(_blanks_around(source), _blanks_around(answer))
    for (one, other), place in zip(pairs, ("beginning", "end")):
        if one != other:
            what = "line breaks" if "\n" in one + other else "blanks"
            yield f"other {what} at the {place}"


def _blanks_around(text):
    """Returns the blanks at the beginning of a text and at its end."""
    before = len(text) - len(text.lstrip())
    after = len(text.rstrip()) if text.strip() else len(text)
    return text[:before], text[after:]
