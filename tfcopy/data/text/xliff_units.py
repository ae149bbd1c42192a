"""Units of XLIFF 1.0 to 1.2 and 2.0 to 2.2, and their places in a file.

Training, memories and `translate_po` read units alike: each inline element of
a text is a span such as `<g id="7">`.

Of each `<trans-unit>` and `<segment>`, `<source>` and `<target>` are read. All
other elements are skipped with their content, such as `<alt-trans>`,
`<bin-unit>` and `<ignorable>`, and any element of another namespace than the
root's.

Reference: OASIS, XLIFF Version 1.2 (2008) and XLIFF Version 2.1 (2018).
"""

import dataclasses
import html
import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.parsers import expat
from xml.sax.saxutils import escape

from tfcopy.data.text.xml_units import Element, XmlReader

AUTHOR = "tfcopy"
# Elements around units.
_AROUND = ("xliff", "file", "body", "group")
# Inline elements whose content is text; that of others is code.
_TEXTS = ("g", "pc", "mrk")
_IDENTITIES = ("id", "mid", "startRef", "hex")
_LANG = "http://www.w3.org/XML/1998/namespace lang"
_UNTRANSLATED = ("new", "initial", "needs-translation")
_SPAN = re.compile(r"(<[^<>]*>)")


def read_units(file, path, encoding: str | None = None) -> Iterator["Unit"]:
    """Yields the units of a binary file.

    Args:
        file: The file.
        path: Its path, for messages.
        encoding: Its encoding, if the declared one is not true.

    Raises:
        XmlError: If it is no XLIFF.
    """
    return _Reader(path, encoding).read(file)


@dataclasses.dataclass
class Notes:
    """Notes of a `<unit>` or a `<trans-unit>`.

    Attributes:
        place: Place for new notes; that of an empty `<notes/>` if there is one.
        need_element: Whether new notes need an element `<notes>`.
        old: Places of the notes that an earlier run has written.
        is_open: Whether all segments wait for a translation.
    """

    place: range
    need_element: bool
    old: list[range]
    is_open: bool = True


class Unit:
    """A translation unit, with the fields of a catalogue's `Entry`.

    Args:
        number: Its number in the file, from 0.
        element: The `<trans-unit>` or `<segment>`.
        source: Its source.
        target: Its target, or `None`.
        notes: The `Notes` of its `<unit>`, if it has one.

    Attributes:
        source_language, language: Languages of its source and its target;
            `None` if the file tells none.
        target_place: Place of the target; empty if there is none.
        singular: Text of the source, with inline elements as spans.
        target_text: Text of the target, with spans of the source.
        spans: `Spans` of these texts.
        notes: `Notes`.
    """

    plural = context = file = None
    is_credits = False

    def __init__(self, number, element, source, target, notes):
        self.number, self.element = number, element
        self.source, self.target = source, target
        self.spans = Spans()
        self.singular = self.spans.of_source(source)
        self.target_text, inherited = "", element.unit.context
        self.source_language = inherited.source_language
        self.language = inherited.language
        stop = element.children("source", "seg-source")[-1].place.stop
        self.target_place = range(stop, stop)
        if target is not None:
            self.target_text = self.spans.of_target(target)
            self.language = self.language or target.attributes.get(_LANG)
            self.target_place = target.place
        stop = self.target_place.stop
        self.notes = notes or Notes(
            range(stop, stop), False, _own_notes(element)
        )
        self.notes.is_open &= self.is_open

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
        """Returns whether it is of XLIFF 2."""
        return self.element.local_name == "segment"

    @property
    def _state(self):
        element = self.element if self.is_segment else self.target
        return element.attributes.get("state", "") if element else ""

    @property
    def is_translated(self) -> bool:
        """Returns whether it has a target that somebody has translated."""
        is_done = self._state not in _UNTRANSLATED
        return is_done and bool(self.target_text.strip())

    @property
    def flags(self) -> frozenset[str]:
        """Returns "fuzzy" if nobody has translated it."""
        return frozenset() if self.is_translated else frozenset(["fuzzy"])

    @property
    def is_open(self) -> bool:
        """Returns whether it waits for a translation."""
        source, target = self.singular.strip(), self.target_text.strip()
        has_state = self._state in ("", *_UNTRANSLATED)
        is_new = has_state and target in ("", source)
        is_done = self.element.attributes.get("approved") == "yes"
        is_fixed = self.element.unit.context.translate == "no"
        return is_new and bool(source) and not (is_done or is_fixed)

    @property
    def translations(self) -> dict[int, str]:
        """The translation; "" if it waits for one."""
        return {0: "" if self.is_open else self.target_text}

    def objection(self, text: str) -> str | None:
        """Returns why a translation cannot be written; `None` if it can."""
        if len(self.spans.segments) > 1:
            return "its target has several segments"
        if self.markup(text) is None:
            return "its inline elements would not nest"
        return None

    def markup(self, text: str) -> bytes | None:
        """Returns a translation as XML; `None` if its elements do not nest."""
        parts = (
            self.spans.markup.get(part) or escape(part).encode()
            for part in _SPAN.split(text)
        )
        found = b"".join(parts)
        try:
            expat.ParserCreate("utf-8").Parse(b"<a>%s</a>" % found, True)
        except expat.ExpatError:
            return None
        return found


class _Context(NamedTuple):
    """Namespace of a file, and what its units inherit."""

    namespace: str
    source_language: str | None = None
    language: str | None = None
    translate: str | None = None


class _Reader(XmlReader):
    names = ("trans-unit", "unit", "segment")
    _count = 0

    def context_of(self, element, above):
        namespace, _, name = element.name.rpartition(" ")
        above = above or _Context(namespace)
        if element.above is None and name != "xliff":
            self.refuse(f"not a file of XLIFF, but of <{name}>", element.line)
        is_known = name in (*_AROUND, *self.names)
        if namespace != above.namespace or not is_known:
            return None
        get = element.attributes.get
        return _Context(
            namespace,
            get("source-language", get("srcLang", above.source_language)),
            get("target-language", get("trgLang", above.language)),
            get("translate", above.translate),
        )

    def convert(self, unit):
        elements, notes = [unit], None
        if unit.local_name == "segment":
            self.refuse("a <segment> outside of a <unit>", unit.line)
        if unit.local_name == "unit":
            elements, notes = unit.children("segment"), _notes(unit)
        for element in elements:
            parts = element.children("source", "target")
            if [x.local_name for x in parts] not in _ORDERS:
                self.refuse(
                    f"in <{element.local_name}> expected one <source>, and "
                    "perhaps one <target> after it",
                    element.line,
                )
            if parts:
                yield Unit(self._count, element, *(*parts, None)[:2], notes)
                self._count += 1


# Elements of a unit that are read.
_ORDERS = ([], ["source"], ["source", "target"])


def _own_notes(element):
    """Places of the notes that an earlier run has written."""
    return [
        x.place
        for x in element.children("note")
        if AUTHOR in (x.attributes.get("from"), x.attributes.get("category"))
    ]


def _notes(unit):
    """The `Notes` of a `<unit>`."""
    found = unit.children("notes")
    if not found:
        others = unit.children("originalData", "segment", "ignorable")
        first = min((x.start for x in others), default=unit.end)
        return Notes(range(first, first), True, [])
    notes = found[0]
    is_empty, stop = notes.tag.endswith(b"/>"), notes.start + len(notes.tag)
    place = notes.place if is_empty else range(stop, stop)
    return Notes(place, is_empty, _own_notes(notes))


class _Tag(NamedTuple):
    """A tag of an inline element, or the whole of one that is code."""

    label: str
    end: str
    markup: bytes
    element: Element

    @property
    def span(self):
        return self.label + self.end


class Spans:
    """Spans of the inline elements of a unit.

    Attributes:
        markup: Dict from the spans of the source to their markup.
        segments: Start tags of segments that only the target has.
    """

    def __init__(self):
        self.markup, self.segments = {}, []
        self._known = {}  # Spans of the source by their markup.

    def of_source(self, source: Element) -> str:
        """Returns the text of a source; each markup has a span of its own."""
        parts, counts = [*_tags_of(source)], {}
        literal = "".join(x for x in parts if isinstance(x, str))
        taken = {*_SPAN.findall(literal)}
        for tag in parts:
            if isinstance(tag, str) or tag.markup in self._known:
                continue
            span = tag.span
            while span in taken:
                count = counts[tag.label] = counts.get(tag.label, 1) + 1
                span = f'{tag.label} n="{count}"{tag.end}'
            taken.add(span)
            self._known[tag.markup], self.markup[span] = span, tag.markup
        return "".join(
            x if isinstance(x, str) else self._known[x.markup] for x in parts
        )

    def of_target(self, target: Element) -> str:
        """Returns the text of a target, with the spans of its source.

        Marks that the source lacks are no part of it.
        """
        texts, dropped = [], set()
        for tag in _tags_of(target):
            if isinstance(tag, str):
                texts.append(tag)
                continue
            element = tag.element
            span = self._known.get(tag.markup, tag.span)
            if element.local_name == "mrk" and span not in self.markup:
                if element.attributes.get("mtype") == "seg":
                    self.segments.append(element.tag)
                dropped.add(element)
            if element not in dropped:
                texts.append(span)
        return "".join(texts)


def _tags_of(element):
    """Yields the texts of an element, and its tags as `_Tag`s."""
    code = None
    namespace = element.name.removesuffix(element.local_name)
    names = [namespace + x for x in _TEXTS]
    for part, is_begin in element.parts:
        if code is not None:
            code = None if part is code else code
        elif isinstance(part, str):
            yield part
        elif not is_begin:
            name = _NAME.match(part.tag)[1]
            label = f"</{part.local_name}"
            yield _Tag(label, ">", b"</%s>" % name, part)
        else:
            known = (x for x in _IDENTITIES if x in part.attributes)
            label = f"<{part.local_name}" + "".join(
                f' {x}="{html.escape(part.attributes[x])}"' for x in known
            )
            if part.name in names and _is_text(part):
                yield _Tag(label, ">", part.tag, part)
            else:
                code = part
                yield _Tag(label, "/>", part.markup, part)


_NAME = re.compile(rb"<([^\s/>]+)")


def _is_text(element):
    """Whether the content of an inline element is to be translated."""
    get = element.attributes.get
    is_kept = get("translate") == "no" or get("mtype") == "protected"
    return not (is_kept or element.tag.endswith(b"/>"))
