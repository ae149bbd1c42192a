"""Segments of HTML: the text of each paragraph, with its inline markup.

Tags with their attributes, comments, scripts, elements that are `<pre>` or
marked `translate="no"`, and texts without letters stay byte for byte. A model
that keeps spans translates a paragraph as one segment, with names in place of
its tags. If the tags of the translation are not nested as before, or if the
model keeps no spans, the texts between tags are separate segments.

Tags and character references end where they end in a browser. The patterns do
not backtrack: html.parser of Python 3.11.7 takes minutes for 100,000
characters of unclosed tags.

Reference: the HTML Standard, "Tokenization",
https://html.spec.whatwg.org/multipage/parsing.html
"""

import html
import itertools
from html.entities import html5
from typing import NamedTuple

import re2
import regex as re

from tfcopy.data.text.blanks import BREAKS
from tfcopy.runtime.translation_records import may_exceed_limit
from tfcopy.serving.http_server.text_parts import Parts, PlainText, Source
from tfcopy.tokens import LOST, SPAN

_S = r"\ \t\n\f\r"
_VALUE = rf"""(?:"[^"]*+(?:"|\Z)|'[^']*+(?:'|\Z)|[^{_S}>"'][^{_S}>]*+)"""
_REST = (  # of a tag
    rf"(?:[{_S}/]++|[^{_S}/>][^{_S}/>=]*+(?:[{_S}]*+=[{_S}]*+{_VALUE}?+)?+)*+"
)
_SCRIPT, _TITLE = (rf"</{x}(?=[{_S}/>])" for x in ("script", "title"))
_TOKEN = re.compile(
    rf"""(?aisx)
    # Elements in which there are no tags; <!-- <script> in a script goes on
    # behind </script>.
    (?P<whole> <script(?=[{_S}/>]){_REST}> (?:
        <!(?=--) (?:
            <script(?=[{_S}/>]) (?:(?!-->|{_SCRIPT}).)*+ (?:</script)?+
            | (?!-->|{_SCRIPT}).
        )*+
        | (?!{_SCRIPT}).
    )*+ (?:</script{_REST}(?:>|\Z))?+
    | <(iframe|noembed|noframes|style|textarea|xmp)(?=[{_S}/>]){_REST}>
        .*? (?:</\2(?=[{_S}/>]){_REST}(?:>|\Z)|\Z)
    | <title(?=[{_S}/>]){_REST}> (?!(?:[^<]|<(?![!?/a-z]))*+{_TITLE})
        .*? (?:{_TITLE}{_REST}(?:>|\Z)|\Z)
    | <plaintext(?=[{_S}/>]).*+ )
    | <!--(?:-?>|.*?(?:--!?>|\Z))
    # In HTML a comment up to the first > ; without tags behind it, in XML, too.
    | <!\[CDATA\[[^>]*+>(?<!\]\]>)[^<]*?\]\]>
    | <\?(?:php|=).*?(?:\?>|\Z) | <(?:[!?]|/(?![a-z]))[^>]*+(?:>|\Z)
    | </?[a-z][^{_S}/>]*+{_REST}(?:>|\Z)
    """
)
_TAG = re.compile(rf"<(/?)([A-Za-z][^{_S}/>]*)")
_ATTRIBUTE = re.compile(
    rf"([^{_S}/>][^{_S}/>=]*+)(?:[{_S}]*+=[{_S}]*+({_VALUE})?+)?+"
)
# Blanks and character references. Some old names need no semicolon.
_PIECE = re2.compile(
    rf"[ {BREAKS}]+"
    r"|&(?:#[xX][0-9a-fA-F]+;?|#[0-9]+;?|"
    + "|".join(sorted(html5, key=len, reverse=True))
    + ")"
)
# The beginning of a possible reference or tag at the end of a part.
_UNFINISHED = re.compile(r"(?:<|&[#\w]*)\Z", re.ASCII)
_LONGEST = max(map(len, html5)) + 1
# Inline elements; other elements end a paragraph.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd "
    "label mark math meter output progress q ruby s samp small span strike "
    "strong sub sup svg time tt u var wbr".split()
)
# Elements that are not translated: code, preformatted text, other markup.
_KEPT = frozenset("code kbd math noscript pre samp svg tt var".split())
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track "
    "wbr".split()
)
_TEXT, _INSIDE, _OUTSIDE, _WHOLE = range(4)


class _Token(NamedTuple):
    kind: int  # text, markup inside a sentence or outside of it, an element
    text: str


class HtmlText(Parts):
    """HTML of a request.

    Args:
        text: The HTML, a part of a page or a whole one.
        protect, max_words, phrases: As for `PlainText`.
    """

    def __init__(self, text, protect, max_words, phrases=()):
        phrases = [(x, _escape(y)) for x, y in phrases]
        groups = itertools.groupby(
            _merge_kept_elements(_tokens(text)), lambda x: x.kind >= _OUTSIDE
        )
        self._parts = [
            _join_tokens(x)
            if is_outside
            else _Paragraph([*x], protect, max_words, phrases)
            for is_outside, x in groups
        ]


class _Paragraph(Parts):
    """Texts and inline markup between block-level tags."""

    def __init__(self, tokens, *options):
        self._whole = None
        self._parts = [  # tags, and texts between them
            _Text([x], *options) if x.kind == _TEXT else x.text for x in tokens
        ]
        protect, max_words, _ = options
        inner = _trim_edges(tokens)
        if protect is None or len(tokens) == 1 or inner is None:
            return
        whole = _Text(tokens[inner], *options)
        # Splitting into sentences may separate tags.
        segments = whole.open_segments({})
        if len(segments) != 1:
            return
        (self._segment,) = segments
        tags = [_tags(x) for x in self._segment.spans]
        partners = _partners(itertools.chain(*tags))
        if partners is None or may_exceed_limit(self._segment.text, max_words):
            return
        # For each span, whether its tags are end tags, and numbers of elements.
        number = itertools.count()
        self._tags = [
            [(is_end, partners.get(i, i)) for (is_end, _), i in zip(x, number)]
            for x in tags
        ]
        before, after = tokens[: inner.start], tokens[inner.stop :]
        self._whole = [_join_tokens(before), whole, _join_tokens(after)]

    def open_segments(self, answers):
        if self._whole is not None and self._segment not in answers:
            return [self._segment]
        return super().open_segments(answers)

    def _resolve(self, answers):
        """Returns the parts of the translation: one segment, or each text."""
        if self._whole is None:
            return self._parts
        places = self._segment.places(answers[self._segment][0])
        if sorted(places) != list(range(len(self._tags))):
            return self._parts
        tags = itertools.chain(*(self._tags[x] for x in places))
        return self._parts if _partners(tags) is None else self._whole


class _Text(PlainText):
    """A text of HTML, with inline markup if the model keeps spans."""

    def __init__(self, tokens, *options):
        source = Source(itertools.chain(*map(_pieces, tokens)))
        super().__init__(source, *options)

    def _write_answer(self, segment, place, answer):
        protect, _ = self._options
        if protect is not None:
            return _close_references(segment.parts(answer, _escape))
        # Characters of references keep the form of the source.
        (text,), parts, end = segment.parts(answer), [], 0
        for span in self._source.spans(*place):
            read = self._source.text[slice(*span)]
            begin = text.find(read, end)
            if begin >= 0:
                written = self._source.get_original(*span)
                parts += [_escape(text[end:begin]), written]
                end = begin + len(read)
        return _close_references([*parts, _escape(text[end:])])


def _escape(text):
    return html.escape(text, quote=False)


def _close_references(parts):
    """Returns parts of HTML that do not merge with those after them."""
    parts, closed = [x for x in parts if x], []
    for i, part in enumerate(parts):
        if match := _UNFINISHED.search(part):
            size = _measure_reference(tail := match[0])
            after = "".join(x[:_LONGEST] for x in parts[i + 1 : i + _LONGEST])
            if tail == "<" or size != _measure_reference(tail + after):
                end = tail[:size] + ";" + tail[size:]
                end = end if size else _escape(tail)
                part = part[: -len(tail)] + end
        closed.append(part)
    return closed


def _measure_reference(text):
    """Returns the length of a character reference at the start, or 0."""
    match = _PIECE.match(text)
    return len(match[0]) if match else 0


def _tokens(text):
    """Yields the `_Token`s of HTML."""
    end = 0
    # Unclosed markup includes the sentinel.
    for match in _TOKEN.finditer(text + "\0"):
        if end < match.start():
            yield _Token(_TEXT, text[end : match.start()])
        end = match.end()
        markup = text[match.start() : end]
        is_whole = match["whole"] or end > len(text)
        yield _Token(_WHOLE if is_whole else _kind(markup), markup)
    if end < len(text):
        yield _Token(_TEXT, text[end:])


def _kind(text):
    tag = _TAG.match(text)
    if tag:
        return _INSIDE if tag[2].lower() in _INLINE else _OUTSIDE
    # Some parsers end a bogus comment at the first >.
    is_one = text[1] != "!" and ">" not in text[:-1]
    return _INSIDE if is_one or text.startswith("<!--") else _OUTSIDE


def _merge_kept_elements(tokens):
    """Yields tokens, with each kept element as one."""
    element, name, depth = [], "", 0
    for token in tokens:
        tag = token.kind in (_INSIDE, _OUTSIDE) and _TAG.match(token.text)
        if element:
            element.append(token.text)
            if tag and tag[2].lower() == name:
                depth += -1 if tag[1] else 1
            if not depth:
                yield _Token(_kind(element[0]), "".join(element))
                element = []
        elif tag and _begins_kept(tag):
            element, name, depth = [token.text], tag[2].lower(), 1
        else:
            yield token
    if element:
        yield _Token(_OUTSIDE, "".join(element))


def _begins_kept(tag):
    text, name = tag.string, tag[2].lower()
    pairs = _ATTRIBUTE.findall(text, tag.end())
    # A slash may end a value. The first of two attributes of a name counts.
    is_closed = text.endswith("/>") and not (pairs and pairs[-1][1][-1:] == "/")
    if tag[1] or name in _VOID or is_closed:
        return False
    values = {x.lower(): y.strip("\"'").lower() for x, y in reversed(pairs)}
    is_no_text = values.get("translate") == "no"
    is_no_text |= "notranslate" in values.get("class", "").split()
    return name in _KEPT or is_no_text


def _join_tokens(tokens):
    return "".join(x.text for x in tokens)


def _pieces(token):
    """Yields the parts of a `_Token` for a `Source`."""
    if token.kind != _TEXT:
        yield SPAN, token.text, True
        return
    text, end = token.text, 0
    for match in _PIECE.finditer(text):
        written = match[0]
        yield *[text[end : match.start()]] * 2, False
        end = match.end()
        if written[0] != "&":
            yield " ", written, False
            continue
        # Longer numbers are beyond Unicode, too.
        read = html.unescape(written[:99]) or LOST
        # Spans of formats must not begin or end within such a reference.
        is_letter = read.isalpha() and len(read) == 1
        yield read, written, not is_letter
    yield *[text[end:]] * 2, False


def _trim_edges(tokens):
    """Returns the slice of tokens without those around all of them.

    `None` if the tags are not nested.
    """
    tags = [_tags(x.text) if x.kind == _INSIDE else [] for x in tokens]
    owners = [i for i, x in enumerate(tags) for _ in x]
    partners = _partners(itertools.chain(*tags))
    if partners is None:
        return None
    pairs = {owners[begin]: owners[end] for end, begin in partners.items()}
    first, last = 0, len(tokens) - 1
    while first < last:
        if not tokens[first].text.strip():
            first += 1
        elif not tokens[last].text.strip():
            last -= 1
        elif pairs.get(first) == last:
            first, last = first + 1, last - 1
        else:
            break
    return slice(first, last + 1)


def _tags(text):
    """Returns for each tag whether it is an end tag, and its name."""
    tags = (_TAG.match(x[0]) for x in _TOKEN.finditer(text))
    return [
        (bool(x[1]), x[2].lower())
        for x in tags
        if x and x[2].lower() not in _VOID
    ]


def _partners(tags):
    """Returns the number of the start tag of each end tag.

    Returns:
        A dict; `None` if the tags are not nested.
    """
    begun, partners = [], {}
    for number, (is_end, name) in enumerate(tags):
        if not is_end:
            begun.append((number, name))
        elif not begun or begun[-1][1] != name:
            return None
        else:
            partners[number], _ = begun.pop()
    return None if begun else partners
