"""XLIFF 1.2 and 2: its units, and the same file with translations.

Only what is filled changes: a `<target>`, its state, and notes that say what
comments say in a catalogue. Each inline element of a source is a span of the
text that a model reads, such as `<g id="7">`, and stands in the target as it
stands in the source.

Places are of the file's bytes in UTF-8.

Reference: OASIS, XLIFF Version 1.2 (2008) and XLIFF Version 2.1 (2018).
"""

import codecs
import dataclasses
import re
from collections.abc import Mapping
from xml.parsers import expat
from xml.sax.saxutils import escape

from tfcopy.data.corpora.catalog_lines import Header
from tfcopy.data.corpora.gettext_catalogs import Catalog
from tfcopy.data.text.span_patterns import with_texts
from tfcopy.serving.catalogs.entries import content_of
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import printable

SUFFIXES = (".xlf", ".xliff")
_AUTHOR = "tfcopy"
_TAG = re.compile(rb"""<(?:[^<>"']|"[^"]*"|'[^']*')*>""")
_UNTRANSLATED = ("", "new", "initial", "needs-translation")
# Elements whose content is code; of others it is text.
_CODES = ("ph", "bpt", "ept", "it", "cp")
# Attributes that count for the elements below, too.
_INHERITED = ("translate", "version", "trgLang")
_IDENTITIES = ("id", "mid", "startRef", "hex")
_ENCODING = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)""")
_MARKS = {codecs.BOM_UTF16_LE: "UTF-16-LE", codecs.BOM_UTF16_BE: "UTF-16-BE"}


@dataclasses.dataclass
class Unit:
    """A text to translate, with the fields of a catalogue's `Entry`.

    Attributes:
        number: Its number in the file, from 0.
        start: The line of its source, from 0.
        version: The file's, such as "1.2".
        language: The language of its target, `None` if it is not told.
        singular: The source, inline elements as spans.
        spans: Dict from these to the markup that they stand for.
        translations: `{0: text}`, the target as the file has it.
        is_open: Whether it waits for a translation.
        state: The place of the start tag that has the state; of version 1.2
            it is the target's own.
        target: The place of the target; empty if there is none.
        before: What stands before the source: a new line and blanks.
        prefix: That of the names of elements, such as "xlf:".
        notes: Where notes go; below `None` an element must hold them.
        old_notes: Places of notes that an earlier run has left.
    """

    number: int
    version: str
    language: str | None
    start: int = 0
    singular: str = ""
    spans: dict = dataclasses.field(default_factory=dict)
    translations: dict = dataclasses.field(default_factory=lambda: {0: ""})
    is_open: bool = True
    state: range | None = None
    target: range | None = None
    before: bytes = b""
    prefix: str = ""
    notes: int = 0
    in_notes: bool = True
    old_notes: list = dataclasses.field(default_factory=list)
    plural = context = file = None
    flags = frozenset()
    is_credits = False

    @property
    def key(self):
        """What no two units of a file have in common."""
        return self.number, self.singular

    def can_hold(self, text: str) -> bool:
        """Whether it is XML with a translation in it."""
        return self.markup(text) is not None

    def markup(self, text: str) -> bytes | None:
        """A translation as XML; `None` if its inline elements do not nest."""
        spans = "|".join(map(re.escape, self.spans)) or r"(?!)"
        parts = re.split(f"({spans})", text)
        parts[::2] = map(escape, parts[::2])
        parts[1::2] = (self.spans[x] for x in parts[1::2])
        found = "".join(parts).encode()
        try:
            expat.ParserCreate("utf-8").Parse(b"<a>%s</a>" % found, True)
        except expat.ExpatError:
            return None
        return found


def is_xliff(path) -> bool:
    """Whether a file's name is that of XLIFF."""
    return str(path).lower().endswith(SUFFIXES)


def read(path) -> Catalog:
    """Reads a file, as `read_catalog` reads a catalogue.

    Raises:
        AskError: naming the line, if it is no XLIFF.
    """
    text, charset = decoded(path, content_of(path))
    units = units_of(path, text)
    language = next((x.language for x in units if x.language), "")
    for unit in units:
        if unit.language and unit.language != language:
            raise AskError(
                f"{path}, line {unit.start + 1}: a unit in {unit.language!r}, "
                f"and others in {language!r}. Give a file for each language."
            )
    header = Header(f"{path}, line 1", language, charset, "", True, "XLIFF")
    return Catalog(text, charset, header, units)


def decoded(path, content: bytes) -> tuple[str, str]:
    """A file's text, and the charset that it declares."""
    found = _ENCODING.match(content)
    charset = found[1].decode() if found else "UTF-8"
    # A mark of the byte order is a part of the text, and stays.
    charset = _MARKS.get(content[:2], charset)
    try:
        return content.decode(charset), charset
    except (LookupError, UnicodeDecodeError):
        raise AskError(f"{path}, line 1: not in {charset}.") from None


def units_of(path, text: str) -> list[Unit]:
    """The units of a file, in their order.

    Args:
        path: Of the file, for messages.
        text: What it holds.

    Raises:
        AskError: naming the line, if it is no XLIFF.
    """
    return _Reader(path, text.encode()).units


class _Reader:
    """Reads a file; `units` are what it has found."""

    def __init__(self, path, data):
        self.units, self._data = [], data
        self._open = []  # Names, attributes and places of open elements.
        self._unit = self._parts = self._group = None
        self._parser = parser = expat.ParserCreate("utf-8", " ")
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.buffer_text = True
        try:
            parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.errors.messages[error.code]
            raise AskError(
                f"{path}, line {error.lineno}: not valid XML ({reason})."
            ) from None
        if not self._is_xliff:
            raise AskError(f"{path}, line 1: not a file of XLIFF.")

    _is_xliff = False

    def _start(self, name, attributes):
        name = name.rpartition(" ")[2]
        place = _TAG.match(self._data, self._parser.CurrentByteIndex).span()
        above = self._open[-1] if self._open else {}
        element = {x: attributes.get(x, above.get(x)) for x in _INHERITED}
        element |= {"name": name, "place": range(*place)}
        if "target-language" in attributes:
            element["trgLang"] = attributes["target-language"]
        self._open.append(element)
        if name == "xliff":
            self._is_xliff = True
        elif name == "unit":
            self._group = element | {"notes": None, "old": []}
        elif name == "notes" and self._group is not None:
            self._group["notes"] = place[1]
        elif name == "note" and _AUTHOR in (
            attributes.get("from"),
            attributes.get("category"),
        ):
            element["is_old"] = True
        elif name in ("originalData", "ignorable") and self._group is not None:
            self._group.setdefault("first", place[0])
        elif name in ("trans-unit", "segment"):
            self._begin(element, attributes)
        elif self._parts is not None:
            self._inline(element, attributes)
        elif self._unit is not None and above.get("unit") is self._unit:
            if name == "source":
                self._parts = []
                self._unit.start = self._parser.CurrentLineNumber - 1
                self._unit.before = self._blanks_before(place[0])
                raw = self._data[slice(*place)].decode()
                self._unit.prefix = raw[1 : raw.index("source")]
            elif name == "target":
                element["state"] = attributes.get("state", "")

    def _begin(self, element, attributes):
        self._unit = unit = Unit(
            len(self.units), element["version"] or "", element["trgLang"]
        )
        element["unit"] = unit
        unit.is_open = element["translate"] != "no"
        unit.is_open &= attributes.get("approved") != "yes"
        if element["name"] == "segment":
            unit.state = element["place"]
            unit.is_open &= attributes.get("state", "") in _UNTRANSLATED
            group = self._group
            if group["notes"] is None:
                unit.in_notes = False
                group.setdefault("first", element["place"].start)
            unit.notes = group["notes"] or group["first"]
            unit.old_notes, group["old"] = group["old"], []

    def _inline(self, element, attributes):
        if any(x.get("is_code") for x in self._open[:-1]):
            return
        place, name = element["place"], element["name"]
        known = "".join(
            f' {x}="{escape(attributes[x])}"'
            for x in _IDENTITIES
            if x in attributes
        )
        raw = self._data[place.start : place.stop].decode()
        element["is_code"] = name in _CODES or raw.endswith("/>")
        if not element["is_code"]:
            self._span(f"<{name}{known}>", raw)
        element["key"] = f"<{name}{known}/>"

    def _span(self, key, raw):
        self._parts.append(key)
        if self._unit is not None:
            self._unit.spans[key] = raw

    def _blanks_before(self, place):
        """What is between a tag and a place, if that is blank."""
        before = self._data[self._data.rfind(b">", 0, place) + 1 : place]
        return before if before.isspace() else b""

    def _text(self, text):
        if self._parts is not None:
            if not any(x.get("is_code") for x in self._open):
                self._parts.append(text)

    def _end(self, name):
        element = self._open.pop()
        name, start = element["name"], element["place"].start
        index, place = self._parser.CurrentByteIndex, element["place"]
        if not self._data[start : place.stop].endswith(b"/>"):
            place = range(start, _TAG.match(self._data, index).end())
        unit = self._unit
        is_own = self._open and self._open[-1].get("unit") is unit
        if element.get("is_old"):
            # With the blanks before it, which came with it.
            blanks = self._blanks_before(start)
            place = range(start - len(blanks), place.stop)
            if unit is not None:
                unit.old_notes.append(place)
            elif self._group is not None:
                self._group["old"].append(place)
        elif name == "source" and is_own and unit is not None:
            unit.singular, self._parts = "".join(self._parts), None
            unit.target = range(place.stop, place.stop)
            unit.notes = unit.notes or place.stop
        elif self._parts is not None and not any(
            x.get("is_code") for x in self._open
        ):
            raw = self._data[place.start : place.stop]
            if element["is_code"]:
                self._span(element["key"], raw.decode())
            else:
                self._span(
                    f"</{name}>", self._data[index : place.stop].decode()
                )
        elif name == "seg-source" and is_own:
            unit.target = range(place.stop, place.stop)
        elif name == "target" and is_own:
            inner = self._data[element["place"].stop : index].decode()
            unit.translations[0], unit.target = inner.strip(), place
            if unit.version.startswith("1"):
                unit.state = element["place"]
                unit.notes = place.stop
                unit.is_open &= element["state"] in _UNTRANSLATED
        elif name in ("trans-unit", "segment") and unit is not None:
            copy = unit.markup(unit.singular).decode()
            unit.is_open &= unit.translations[0] in ("", copy)
            unit.is_open &= bool(unit.singular.strip())
            if unit.is_open:
                unit.translations[0] = ""
            if unit.target is not None:
                self.units.append(unit)
            self._unit = None
        elif name == "unit":
            self._group = None


def filled(path, text: str, outcomes: Mapping) -> str:
    """A file whose open units have what was found for them.

    Args:
        path: The file's, for messages.
        text: What it holds.
        outcomes: Dict from keys of units to a `Suggestion` or `Left`.

    Raises:
        AskError: If it is no XLIFF.
    """
    data, edits, notes = text.encode(), [], {}
    for unit in units_of(path, text):
        outcome = outcomes.get(unit.key)
        if outcome is None or not unit.is_open:
            continue
        found = outcome.forms.get(0)
        found = found and unit.markup(found)
        if found:
            edits += _translated(unit, data, found)
        edits += [(place, b"") for place in unit.old_notes]
        key = "from" if unit.version.startswith("1") else "category"
        for remark in outcome.remarks:
            name, told = f"{unit.prefix}note", escape(printable(remark))
            note = f'<{name} {key}="{_AUTHOR}">{told}</{name}>'.encode()
            if unit.version.startswith("1"):
                note = unit.before + note
            place = (unit.notes, unit.in_notes, unit.prefix)
            notes.setdefault(place, []).append(note)
    for (place, is_inside, prefix), made in notes.items():
        new = b"".join(made)
        if not is_inside:
            name = f"{prefix}notes".encode()
            new = b"<%s>%s</%s>" % (name, new, name)
        edits.append((range(place, place), new))
    edits.sort(key=lambda x: (x[0].start, x[0].stop))
    places = ((place.start, place.stop) for place, _ in edits)
    return with_texts(data, places, (new for _, new in edits)).decode()


def _translated(unit, data, found):
    """Edits that give a unit its translation and its state."""
    name = f"{unit.prefix}target".encode()
    tag, end = b"<%s>" % name, b"</%s>" % name
    new = unit.before if not len(unit.target) else b""
    if unit.version.startswith("1"):
        if unit.state is not None:
            tag = data[unit.state.start : unit.state.stop]
        tag = _with_state(tag, b"needs-review-translation")
        return [(unit.target, new + tag + found + end)]
    if len(unit.target):
        tag = _TAG.match(data, unit.target.start)[0].replace(b"/>", b">")
    state = data[unit.state.start : unit.state.stop]
    return [
        (unit.state, _with_state(state, b"translated")),
        (unit.target, new + tag + found + end),
    ]


def _with_state(tag, state):
    """A start tag with another state."""
    tag = re.sub(rb"\s+state\s*=\s*(\"[^\"]*\"|'[^']*')", b"", tag)
    tag = re.sub(rb"\s*/?>\Z", b"", tag)
    return tag + b' state="' + state + b'">'
