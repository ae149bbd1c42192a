"""HTML as questions: the text of each paragraph, whatever markup is within.

Only texts are translated: tags with their attributes, comments, scripts, what
stands in `<pre>` or is marked `translate="no"`, and all that has no letters
stay byte for byte. A model that keeps spans is asked a paragraph as a whole,
with names for its tags. Where these come back otherwise than nested as before,
and for a model that keeps no spans, the text between two tags is asked by
itself.

Tags and character references end where they end in a browser. The patterns do
not backtrack: html.parser takes minutes for 100,000 characters of tags that do
not end.

Reference: the HTML Standard, "Tokenization",
https://html.spec.whatwg.org/multipage/parsing.html
"""

import html
import itertools
import re
from html.entities import html5
from typing import NamedTuple

import re2

from tfcopy.serving.client_library.answer_lines import may_be_cut
from tfcopy.serving.http_server.kept_spans import Source
from tfcopy.serving.http_server.plain_parts import Parts, PlainText

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
# Blanks and references. Some old names need no semicolon, whatever follows.
_PIECE = re2.compile(
    r"[ \t\n\f\r\v\x1c-\x1e\x{85}\x{2028}\x{2029}]+"
    r"|&(?:#[xX][0-9a-fA-F]+;?|#[0-9]+;?|"
    + "|".join(sorted(html5, key=len, reverse=True))
    + ")"
)
# What may be a reference, or a tag, together with what follows it.
_UNFINISHED = re.compile(r"(?:<|&[#\w]*)\Z", re.ASCII)
_LONGEST = max(map(len, html5)) + 1
# What is read in the place of markup: a private character.
_MARKUP = "\ue000"
# Elements within a sentence; any other one ends it.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd "
    "label mark math meter output progress q ruby s samp small span strike "
    "strong sub sup svg time tt u var wbr".split()
)
# Whose text is no language, or is laid out, or is markup for some readers.
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
        protect: As of `PlainText`.
        max_words: As of `PlainText`.
        phrases: As of `PlainText`.
    """

    def __init__(self, text, protect, max_words, phrases=()):
        phrases = [(x, _escaped(y)) for x, y in phrases]
        groups = itertools.groupby(
            _without_kept(_tokens(text)), lambda x: x.kind >= _OUTSIDE
        )
        self._parts = [
            _joined(x)
            if is_outside
            else _Paragraph([*x], protect, max_words, phrases)
            for is_outside, x in groups
        ]


class _Paragraph(Parts):
    """Texts that no tag but those within a sentence separates."""

    def __init__(self, tokens, *options):
        self._whole = None
        self._parts = [  # tags, and texts between them
            _Text([x], *options) if x.kind == _TEXT else x.text for x in tokens
        ]
        protect, max_words, _ = options
        inner = _without_edges(tokens)
        if protect is None or len(tokens) == 1 or inner is None:
            return
        whole = _Text(tokens[inner], *options)
        # What is cut into sentences may be cut within tags.
        questions = whole.open_questions({})
        if len(questions) != 1:
            return
        (self._question,) = questions
        tags = [_tags(x) for x in self._question.spans]
        partners = _partners(itertools.chain(*tags))
        if partners is None or may_be_cut(self._question.text, max_words):
            return
        # Of each span, whether its tags are ends, and the numbers of elements.
        number = itertools.count()
        self._tags = [
            [(is_end, partners.get(i, i)) for (is_end, _), i in zip(x, number)]
            for x in tags
        ]
        before, after = tokens[: inner.start], tokens[inner.stop :]
        self._whole = [_joined(before), whole, _joined(after)]

    def open_questions(self, answers):
        if self._whole is not None and self._question not in answers:
            return [self._question]
        return super().open_questions(answers)

    def _said(self, answers):
        """The parts that make the answer: all at once, or text by text."""
        if self._whole is None:
            return self._parts
        places = self._question.places(answers[self._question][0])
        if sorted(places) != list(range(len(self._tags))):
            return self._parts
        tags = itertools.chain(*(self._tags[x] for x in places))
        return self._parts if _partners(tags) is None else self._whole


class _Text(PlainText):
    """Text of HTML, with markup in it where a model keeps spans."""

    def __init__(self, tokens, *options):
        source = Source(itertools.chain(*map(_pieces, tokens)))
        super().__init__(source, *options)

    def _written(self, question, place, answer):
        protect, _ = self._options
        if protect is not None:
            return _closed(question.parts(answer, _escaped))
        # What a reference stands for is written as in the source.
        (text,), parts, end = question.parts(answer), [], 0
        for span in self._source.spans(*place):
            read = self._source.text[slice(*span)]
            begin = text.find(read, end)
            if begin >= 0:
                written = self._source.written(*span)
                parts += [_escaped(text[end:begin]), written]
                end = begin + len(read)
        return _closed([*parts, _escaped(text[end:])])


def _escaped(text):
    return html.escape(text, quote=False)


def _closed(parts):
    """Parts of HTML of which none becomes another by what follows it."""
    parts, closed = [x for x in parts if x], []
    for i, part in enumerate(parts):
        if found := _UNFINISHED.search(part):
            size = _reference_at(tail := found[0])
            after = "".join(x[:_LONGEST] for x in parts[i + 1 : i + _LONGEST])
            if tail == "<" or size != _reference_at(tail + after):
                end = tail[:size] + ";" + tail[size:]
                end = end if size else _escaped(tail)
                part = part[: -len(tail)] + end
        closed.append(part)
    return closed


def _reference_at(text):
    """The length of the character reference that a text begins with, or 0."""
    match = _PIECE.match(text)
    return len(match[0]) if match else 0


def _tokens(text):
    """The `_Token`s of HTML, which are all of it."""
    end = 0
    # What has no end in the text takes the mark behind it.
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
    # Some readers take the first > for the end of what is no comment.
    is_one = text[1] != "!" and ">" not in text[:-1]
    return _INSIDE if is_one or text.startswith("<!--") else _OUTSIDE


def _without_kept(tokens):
    """Tokens with one in the place of each element that is kept as it is."""
    kept, name, depth = [], "", 0
    for token in tokens:
        tag = token.kind in (_INSIDE, _OUTSIDE) and _TAG.match(token.text)
        if kept:
            kept.append(token.text)
            if tag and tag[2].lower() == name:
                depth += -1 if tag[1] else 1
            if not depth:
                yield _Token(_kind(kept[0]), "".join(kept))
                kept = []
        elif tag and _begins_kept(tag):
            kept, name, depth = [token.text], tag[2].lower(), 1
        else:
            yield token
    if kept:
        yield _Token(_OUTSIDE, "".join(kept))


def _begins_kept(tag):
    text, name = tag.string, tag[2].lower()
    found = _ATTRIBUTE.findall(text, tag.end())
    # A slash may be the end of a value. Of two of a name the first counts.
    is_closed = text.endswith("/>") and not (found and found[-1][1][-1:] == "/")
    if tag[1] or name in _VOID or is_closed:
        return False
    values = {x.lower(): y.strip("\"'").lower() for x, y in reversed(found)}
    is_no_text = values.get("translate") == "no"
    is_no_text |= "notranslate" in values.get("class", "").split()
    return name in _KEPT or is_no_text


def _joined(tokens):
    return "".join(x.text for x in tokens)


def _pieces(token):
    """Yields the parts of a `_Token` for a `Source`."""
    if token.kind != _TEXT:
        yield _MARKUP, token.text, True
        return
    text, end = token.text, 0
    for match in _PIECE.finditer(text):
        written = match[0]
        yield *[text[end : match.start()]] * 2, False
        end = match.end()
        if written[0] != "&":
            yield " ", written, False
            continue
        # A number that is longer is beyond Unicode, too.
        read = html.unescape(written[:99]) or "\ufffd"
        # No span of a format may begin or end in what is written as one.
        is_letter = read.isalpha() and len(read) == 1
        yield read, written, not is_letter
    yield *[text[end:]] * 2, False


def _without_edges(tokens):
    """The slice of tokens without those around all of them.

    `None` if their tags are not nested.
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
    """Whether each tag of some markup ends an element, and its name."""
    tags = (_TAG.match(x[0]) for x in _TOKEN.finditer(text))
    return [
        (bool(x[1]), x[2].lower())
        for x in tags
        if x and x[2].lower() not in _VOID
    ]


def _partners(tags):
    """For the number of each end tag that of its start tag.

    Returns:
        A dict; `None` if they are not nested.
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
