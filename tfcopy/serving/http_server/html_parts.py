"""HTML as questions: the text of each paragraph, whatever markup is within.

Only texts are translated: tags with their attributes, comments, scripts, what
stands in `<pre>` or is marked `translate="no"`, and all that has no letters
stay byte for byte. A model that keeps spans is asked a paragraph as a whole,
with names for its tags. Where these come back otherwise than nested as before,
and for a model that keeps no spans, the text between two tags is asked by
itself.

RE2 finds the tags, in a time that grows no faster than the text; html.parser
takes minutes for 100,000 characters of tags that do not end.
"""

import html
import itertools
import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import re2

from tfcopy.serving.client_library.answer_lines import may_be_cut
from tfcopy.serving.http_server.kept_spans import PRIVATE, Question, name_of
from tfcopy.serving.http_server.plain_parts import PlainText, has_words

# They have no elements in them, and end only with their own end tag.
_RAW = "iframe noembed noframes script style textarea xmp".split()
_REST = r"""(?:[\s/](?:[^<>"']|"[^"]*"|'[^']*')*)?>"""
_ELEMENTS = "|".join(rf"(?i:<{x}{_REST}.*?(?:</{x}[\s/]*>|\z))" for x in _RAW)
_TOKEN = re2.compile(
    rf"(?s){_ELEMENTS}"
    r"|<!--.*?-->|<!\[CDATA\[.*?\]\]>|<[!?][^>]*>"
    rf"|</?[A-Za-z][^\s<>\"'/]*{_REST}"
    r"|&(?:[A-Za-z][A-Za-z0-9]*|#[0-9]+|#[xX][0-9A-Fa-f]+);"
    f"|{PRIVATE}"
)
_TAG = re.compile(r"<(/?)([A-Za-z][^\s<>/\"']*)")
_UNTRANSLATED = re2.compile(
    r"(?i)\stranslate\s*=\s*[\"']?no\b|\sclass\s*=[^=]*\bnotranslate\b"
)
# Elements within a sentence; any other one ends it.
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd "
    "label mark math meter output progress q ruby s samp small span strike "
    "strong sub sup svg time tt u var wbr".split()
)
# Whose text is no language, or is laid out.
_KEPT = frozenset("code kbd math pre samp svg tt var".split())
_VOID = frozenset(
    "area base br col embed hr img input link meta param source track "
    "wbr".split()
)
_TEXT, _ENTITY, _INSIDE, _OUTSIDE = range(4)


class _Token(NamedTuple):
    kind: int  # text, an entity, markup inside a sentence or outside of it
    text: str


class _Parts:
    """Texts that are asked, among others that are kept."""

    def _said(self, answers):
        """The parts that make the answer."""
        return self._parts

    def _asked(self, answers):
        return [x for x in self._said(answers) if not isinstance(x, str)]

    def open_questions(self, answers: Mapping) -> list[Question]:
        """As of `PlainText`."""
        asked = (
            x for y in self._asked(answers) for x in y.open_questions(answers)
        )
        return list(dict.fromkeys(asked))

    def answer(self, answers: Mapping, rank: int = 0) -> str:
        """As of `PlainText`."""
        return "".join(
            x if isinstance(x, str) else x.answer(answers, rank)
            for x in self._said(answers)
        )

    def lost(self, answers: Mapping) -> list[str]:
        """As of `PlainText`."""
        return [x for y in self._asked(answers) for x in y.lost(answers)]


class HtmlText(_Parts):
    """HTML of a request.

    Args:
        text: The HTML, a part of a page or a whole one.
        protect: What the spans of its texts are; `None` for a model that keeps
            none.
        max_words: The words, or pieces, that the model reads.
    """

    def __init__(
        self, text: str, protect: Sequence[str] | None, max_words: int
    ):
        self._parts = []  # markup, and what is asked
        groups = itertools.groupby(
            _without_kept(_tokens(text)), lambda x: x.kind == _OUTSIDE
        )
        for is_outside, tokens in groups:
            tokens = list(tokens)
            if is_outside or not has_words(_joined(tokens)):
                self._parts.append(_joined(tokens))
            else:
                self._parts.append(_Paragraph(tokens, protect, max_words))


class _Paragraph(_Parts):
    """Texts that no tag but those within a sentence separates."""

    def __init__(self, tokens, protect, max_words):
        self._whole = None
        self._parts = []  # tags, and texts between them
        groups = itertools.groupby(tokens, lambda x: x.kind == _INSIDE)
        groups = [(is_tags, list(x)) for is_tags, x in groups]
        for is_tags, part in groups:
            text = _joined(part)
            if is_tags or not has_words(html.unescape(text)):
                self._parts.append(text)
            else:
                self._parts += _between_blanks(part, protect, max_words)
        if protect is None or len(groups) == 1:
            return
        before, inner, after = _without_edges(tokens)
        whole = _between_blanks(inner, protect, max_words)
        questions = whole[1].questions
        # What is cut into sentences may be cut within tags.
        if len(questions) == 1 and not may_be_cut(questions[0].text, max_words):
            (self._question,) = questions
            self._partners = _partners("".join(self._question.spans))
            if self._partners is not None:
                self._whole = [before, *whole, after]

    def open_questions(self, answers):
        if self._whole is not None and self._question not in answers:
            return [self._question]
        return super().open_questions(answers)

    def _said(self, answers):
        """The parts that make the answer: all at once, or text by text."""
        if self._whole is None:
            return self._parts
        spans = self._question.spans
        places = self._question.places(answers[self._question][0])
        if sorted(places) != list(range(len(spans))):
            return self._parts
        # The numbers of the tags, as they stand in the question.
        ends = itertools.accumulate(len(_tags(x)) for x in spans)
        tags = [range(y - len(_tags(x)), y) for x, y in zip(spans, ends)]
        order = [tag for place in places for tag in tags[place]]
        return self._whole if self._is_nested(order) else self._parts

    def _is_nested(self, order):
        begun = []
        for tag in order:
            partner = self._partners.get(tag)
            if partner is None:
                begun.append(tag)
            elif not begun or begun.pop() != partner:
                return False
        return True


def _tokens(text):
    """The `_Token`s of HTML, which are all of it."""
    end = 0
    for match in _TOKEN.finditer(text):
        yield _Token(_TEXT, text[end : match.start()])
        end = match.end()
        tag = _TAG.match(match[0])
        kind = _INSIDE
        if match[0].startswith("&"):
            kind = _ENTITY
        elif tag and tag[2].lower() not in _INLINE:
            kind = _OUTSIDE
        yield _Token(kind, match[0])
    yield _Token(_TEXT, text[end:])


def _without_kept(tokens):
    """Tokens with one in the place of each element that is kept as it is."""
    kept, name, depth = [], "", 0
    for token in tokens:
        tag = _TAG.match(token.text) if token.kind >= _INSIDE else None
        if kept:
            kept.append(token.text)
            if tag and tag[2].lower() == name:
                depth += -1 if tag[1] else 1
            if not depth:
                yield _Token(_kind(name), "".join(kept))
                kept = []
        elif tag and _begins_kept(tag, token.text):
            kept, name, depth = [token.text], tag[2].lower(), 1
        elif token.text:
            yield token
    if kept:
        yield _Token(_OUTSIDE, "".join(kept))


def _begins_kept(tag, text):
    slash, name = tag[1], tag[2].lower()
    if slash or name in _VOID or name in _RAW or text.endswith("/>"):
        return False
    return name in _KEPT or bool(_UNTRANSLATED.search(text))


def _kind(name):
    return _INSIDE if name in _INLINE else _OUTSIDE


def _joined(tokens):
    return "".join(x.text for x in tokens)


def _between_blanks(tokens, protect, max_words):
    """The blanks around what tokens say, and that as a `PlainText`."""
    parts, spans = [], []
    for token in tokens:
        text = html.unescape(token.text)
        is_letter = token.kind == _ENTITY and text.isalnum()
        if token.kind == _TEXT or is_letter or protect is None:
            parts.append(text)
        else:
            parts.append(name_of(len(spans)))
            spans.append(token.text)
    text = "".join(parts)
    words = text.strip()
    before, after = text.split(words)[0], text[len(text.rstrip()) :]
    plain = PlainText(
        re.sub(r"\s+", " ", words),
        protect,
        max_words,
        spans,
        lambda x: html.escape(x, quote=False),
    )
    return [before, plain, after]


def _without_edges(tokens):
    """Tokens without those around all of them, and the text of these."""
    first, last = 0, len(tokens)
    while first < last - 1:
        if not tokens[first].text.strip():
            first += 1
        elif not tokens[last - 1].text.strip():
            last -= 1
        elif _is_around(tokens[first:last]):
            first, last = first + 1, last - 1
        else:
            break
    inner = tokens[first:last]
    return _joined(tokens[:first]), inner, _joined(tokens[last:])


def _is_around(tokens):
    """Whether the first and the last are the tags of one element."""
    if not tokens[0].kind == tokens[-1].kind == _INSIDE:
        return False
    tags = [x for x in tokens if x.kind == _INSIDE]
    partners = _partners(_joined(tags)) or {}
    return partners.get(len(_tags(_joined(tags))) - 1) == 0


def _tags(text):
    """Whether each tag of some markup ends an element, and its name."""
    tags = (_TAG.match(x) for x in _TOKEN.findall(text))
    return [
        (bool(x[1]), x[2].lower())
        for x in tags
        if x and x[2].lower() not in _VOID
    ]


def _partners(text):
    """For the number of each end tag that of its start tag.

    Returns:
        A dict; `None` if they are not nested.
    """
    begun, partners = [], {}
    for number, (is_end, name) in enumerate(_tags(text)):
        if not is_end:
            begun.append((number, name))
        elif not begun or begun[-1][1] != name:
            return None
        else:
            partners[number], _ = begun.pop()
    return None if begun else partners
