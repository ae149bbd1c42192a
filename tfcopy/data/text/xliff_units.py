"""Units of XLIFF 1.0 to 1.2 and 2.0 to 2.2, and their places in a file.

Training, memories and `translate_po` read units alike: each inline element of
a text is a span such as `<g id="7">`.

Of each `<trans-unit>` and `<segment>`, `<source>` and `<target>` are read. All
other elements are skipped with their content, such as `<alt-trans>`,
`<bin-unit>` and `<ignorable>`, and any element of another namespace than the
root's.

Reference: OASIS, XLIFF Version 1.2 (2008) and XLIFF Version 2.1 (2018).
"""

import re
from xml.parsers import expat
from xml.sax.saxutils import escape

from tfcopy.data.text.languages import best_language
from tfcopy.data.text.xml_units import XML_LANG, XmlReader

# Elements around units.
_AROUND = ("xliff", "file", "body", "group")
# Inline elements whose content is text; the content of others is code.
_TEXTS = ("g", "pc", "mrk")
_IDENTITIES = ("id", "mid", "startRef", "hex")
_UNTRANSLATED = ("new", "initial", "needs-translation")
_SPAN = re.compile(r"(<[^<>]*>)")
# XML parsers would read another end of line.
_KEPT = {"\r": "&#13;"}


class XliffReader(XmlReader):
    """Reader of the `Unit`s of an XLIFF file."""

    names = ("trans-unit", "unit", "segment")
    _count = 0

    def context_of(self, element):
        """Returns language of the source, of the target, and `translate`."""
        name, above = element.name, element.above or element
        if above is element and name != "xliff":
            self.refuse(element.line, f"not a file of XLIFF, but of <{name}>")
        is_known = name in (*_AROUND, *self.names)
        if element.namespace != above.namespace or not is_known:
            return None
        source, target, translate = above.context or (None, None, None)
        get = element.attributes.get
        return (
            get("source-language", get("srcLang", source)),
            get("target-language", get("trgLang", target)),
            get("translate", translate),
        )

    def convert(self, unit):
        """Yields a `Unit` for each source."""
        if unit.name == "segment":
            self.refuse(unit.line, "a <segment> outside of a <unit>")
        is_second = unit.name == "unit"
        for element in unit.children("segment") if is_second else [unit]:
            parts = element.children("source", "target")
            if [x.name for x in parts] != ["source", "target"][: len(parts)]:
                self.refuse(
                    element.line,
                    f"in <{element.name}> expected one <source>, and "
                    "perhaps one <target> after it",
                )
            if parts:
                yield Unit(self._count, element, *parts)
                self._count += 1


class Unit:
    """A translation unit, with the fields of a catalogue's `Entry`.

    Args:
        number: Its number in the file, from 0.
        element: The `<trans-unit>` or `<segment>`.
        source: Its source.
        target: Its target, or `None`.

    Attributes:
        source_language, language: Languages of its source and its target;
            `None` if the file names none.
        target_place: Place of the target; empty if there is none.
        singular: Text of the source, with inline elements as spans.
        target_text: Text of the target, with spans of the source.
        spans: Dict from the spans of the source to their markup.
        segments: Segments that only the target has.
    """

    plural = context = file = None
    is_credits = False

    def __init__(self, number, element, source, target=None):
        self.number, self.element = number, element
        self.source, self.target = source, target
        self.singular, self.spans = _source_text(source)
        self.target_text, self.segments = "", []
        inherited = element.unit.context
        self.source_language, self.language, self._translate = inherited
        self.source_language = _language(source, self.source_language)
        stop = element.children("source", "seg-source")[-1].place[1]
        self.target_place = stop, stop
        if target is not None:
            self.target_text, self.segments = _target_text(target, self.spans)
            self.target_place = target.place
            if not (self.is_open and self.language):
                self.language = _language(target, self.language)

    @property
    def key(self) -> tuple[int, str]:
        """Key that no two units of a file have in common."""
        return self.number, self.singular

    @property
    def start(self) -> int:
        """Line of its source, from 0."""
        return self.source.line - 1

    @property
    def is_segment(self) -> bool:
        """True if it is of XLIFF 2."""
        return self.element.name == "segment"

    @property
    def _state(self):
        element = self.element if self.is_segment else self.target
        return element.attributes.get("state", "") if element else ""

    @property
    def is_translated(self) -> bool:
        """True if it has a translated target."""
        is_done = self._state not in _UNTRANSLATED
        return is_done and bool(self.target_text.strip())

    @property
    def flags(self) -> frozenset[str]:
        """The flag "fuzzy" if it is not translated."""
        return frozenset() if self.is_translated else frozenset(["fuzzy"])

    @property
    def is_open(self) -> bool:
        """True if it needs a translation."""
        source, target = self.singular.strip(), self.target_text.strip()
        has_state = self._state in ("", *_UNTRANSLATED)
        is_new = has_state and target in ("", source)
        is_done = self.element.attributes.get("approved") == "yes"
        is_fixed = self._translate == "no"
        return is_new and bool(source) and not (is_done or is_fixed)

    @property
    def translations(self) -> dict[int, str]:
        """The translation; "" if it waits for one."""
        return {0: "" if self.is_open else self.target_text}

    def objection(self, text: str) -> str | None:
        """Returns why a translation cannot be written; `None` if it can."""
        if len(self.segments) > 1:
            return "its target has several segments"
        if self.markup(text) is None:
            return "its inline elements would not nest"
        return None

    def markup(self, text: str) -> bytes | None:
        """Returns a translation as XML; `None` if its elements do not nest."""
        parts = (
            self.spans.get(part)
            or escape(part, _KEPT).encode("utf-8", "surrogatepass")
            for part in _SPAN.split(text)
        )
        found = b"".join(parts)
        try:
            expat.ParserCreate("utf-8").Parse(b"<a>%s</a>" % found, True)
        except expat.ExpatError:
            return None
        return found


def _language(element, inherited):
    """Returns the language of a text, its own if it is not the file's."""
    own = element.attributes.get(XML_LANG) or inherited
    return best_language(own or "", filter(None, [inherited])) or own


def _source_text(source):
    """Returns a source's text with markup as spans, and these spans."""
    parts, counts, spans = [*_parts_of(source)], {}, {}
    literal = "".join(text for text, _, markup, _ in parts if not markup)
    taken = {*_SPAN.findall(literal)}
    for text, end, markup, _ in parts:
        if markup and markup not in spans:
            span = text + end
            while span in taken:
                count = counts[text] = counts.get(text, 1) + 1
                span = f'{text} n="{count}"{end}'
            taken.add(span)
            spans[markup] = span
    text = "".join(spans.get(markup, text) for text, _, markup, _ in parts)
    return text, {span: markup for markup, span in spans.items()}


def _target_text(target, spans):
    """Returns a target's text, with the spans of its source, and its segments.

    Marks that the source lacks are no part of it.
    """
    known = {markup: span for span, markup in spans.items()}
    texts, dropped = [], {}
    for text, end, markup, element in _parts_of(target):
        span = known.get(markup, text + end)
        if element and element.name == "mrk" and span not in spans:
            dropped[element] = element.attributes.get("mtype")
        if element not in dropped:
            texts.append(span)
    return "".join(texts), [x for x, kind in dropped.items() if kind == "seg"]


def _parts_of(element):
    """Yields the texts of an element, and its tags, or wholes that are code.

    Each is its text, which a tag has without its end; the end; the markup and
    the element, if it is no text.
    """
    code = None
    for part, is_begin in element.parts:
        if code is not None:
            code = None if part is code else code
        elif isinstance(part, str):
            yield part, "", b"", None
        elif not is_begin:
            yield f"</{part.name}", ">", part.end_tag, part
        elif part.namespace == element.namespace and _is_text(part):
            yield part.label(*_IDENTITIES), ">", part.tag, part
        else:
            code = part
            yield part.label(*_IDENTITIES), "/>", part.markup, part


def _is_text(element):
    """Returns whether the content of an inline element is translated."""
    get = element.attributes.get
    is_kept = get("translate") == "no" or get("mtype") == "protected"
    is_empty = element.tag.endswith(b"/>")
    return element.name in _TEXTS and not (is_kept or is_empty)
