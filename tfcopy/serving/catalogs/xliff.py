"""XLIFF 1.2 and 2: reading and filling.

Filling changes only a `<target>`, its state, and notes, which correspond to the
comments in a catalogue. Each inline element of a source, such as `<g id="7">`,
is a span of the text, and is copied to the target.
"""

import io
import itertools
import os
import re
from collections.abc import Mapping
from xml.sax.saxutils import escape

from tfcopy.data.corpora import catalog_lines
from tfcopy.data.corpora.gettext_catalogs import Catalog
from tfcopy.data.text.languages import normal_code
from tfcopy.data.text.span_patterns import insert_texts
from tfcopy.data.text.xliff_units import Unit, XliffReader
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving.catalogs.entries import content_of
from tfcopy.terminal import printable

_AUTHOR = "tfcopy"  # of notes
_ATTRIBUTE = re.compile(rb"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")
_ENCODING = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)""")
# Printable characters that XML does not allow.
_NO_XML = dict.fromkeys("\ufffe\uffff", " ")
# End of a start tag.
_OPEN = re.compile(rb"\s*/?>\Z")
# Wide charsets by the first bytes of a file, a byte order mark or "<".
_WIDE = re.compile(
    rb"(?P<UTF_32_LE>(?:\xff\xfe|<\0)\0\0)|(?P<UTF_32_BE>\0\0(?:\xfe\xff|\0<))"
    rb"|(?P<UTF_16_LE>\xff\xfe|<\0)|(?P<UTF_16_BE>\xfe\xff|\0<)"
)


def is_xliff(path) -> bool:
    """Returns whether the name of a file is that of XLIFF."""
    return str(path).lower().endswith((".xlf", ".xliff"))


def read(path) -> Catalog:
    """Reads a file, as `read_catalog` reads a catalogue.

    Raises:
        XmlError: If it is not XLIFF; the message names the line.
        ModelError: If its charset or its languages are others.
    """
    text, charset = decode(path, content_of(path))
    units = units_of(path, text)
    told = [x for x in units if x.language]
    language = told[0].language if told else ""
    for unit in told:
        if normal_code(unit.language) != normal_code(language):
            raise ModelError(
                f"{path}, line {unit.start + 1}: a unit in {unit.language!r}, "
                f"and others in {language!r}. Give a file for each language."
            )
    code = catalog_lines.language_of(language, os.fspath(path))
    header = catalog_lines.Header(
        f"{path}, line 1", code, charset, "", True, "XLIFF", language
    )
    return Catalog(text, charset, header, units)


def decode(path, content: bytes) -> tuple[str, str]:
    """Returns the text of a file, and its declared charset."""
    declaration = _ENCODING.match(content)
    charset = declaration[1].decode() if declaration else "UTF-8"
    # A byte order mark is part of the text, and stays.
    if wide := _WIDE.match(content):
        charset = wide.lastgroup.replace("_", "-")
    elif not catalog_lines.is_like_ascii(charset):
        raise ModelError(
            f"{path}, line 1: the file declares the encoding {charset}, which "
            "it cannot have. Convert it to UTF-8."
        )
    try:
        return content.decode(charset), charset
    except UnicodeError:
        raise ModelError(
            f"{path}, line 1: not in {charset}. Declare its encoding in its "
            "first line, or convert it to UTF-8."
        ) from None


def units_of(path, text: str) -> list[Unit]:
    """Returns the units of a file, in order.

    Args:
        path: Path of the file, for messages.
        text: Its content.

    Raises:
        XmlError: If it is not XLIFF; the message names the line.
    """
    return [*XliffReader(path, "utf-8").read(io.BytesIO(text.encode()))]


def fill_text(path, text: str, outcomes: Mapping) -> str:
    """Returns a file with open units filled.

    Args:
        path: Path of the file, for messages.
        text: Its content.
        outcomes: Dict from keys of units to a `Suggestion` or `Skipped`.

    Raises:
        XmlError: If it is not XLIFF.
    """
    data, edits = text.encode(), []
    # Parsers read both ends of line alike.
    end = b"\r\n" if b"\r\n" in data else b"\n"
    # The segments of a <unit> share its notes.
    groups = itertools.groupby(units_of(path, text), lambda x: x.element.unit)
    for _, group in groups:
        units = [*group]
        done = [x for x in units if x.is_open and x.key in outcomes]
        for unit in done:
            translation = outcomes[unit.key].forms.get(0)
            if translation and unit.objection(translation) is None:
                markup = re.sub(rb"\r?\n", end, unit.markup(translation))
                edits += _translate_unit(unit, data, markup)
        if done:
            remarks = [y for x in done for y in outcomes[x.key].remarks]
            is_open = all(x.is_open for x in units)
            edits += _replace_notes(done[0], data, remarks, is_open)
    edits.sort(key=lambda x: x[0])
    places, texts = [x for x, _ in edits], [x for _, x in edits]
    return insert_texts(data, places, texts).decode()


def _prefix(unit):
    """Returns the prefix of element names, such as "xlf:"."""
    return re.match(rb"<([^\s/>]*)source", unit.source.tag)[1]


def _blanks_before(data, place):
    """Returns the blanks between a tag and a place."""
    before = data[data.rfind(b">", 0, place) + 1 : place]
    return before if before.isspace() else b""


def _replace_notes(unit, data, remarks, is_open):
    """Returns edits that replace the notes of an earlier run.

    Args:
        unit: One of the `Unit`s that share notes.
        data: Content of the file.
        remarks: Remarks of all of these units.
        is_open: Whether all of these units are open.
    """
    holder, prefix, blanks = unit.element.unit, _prefix(unit), b""
    key, parents = b"category", holder.children("notes")
    if not unit.is_segment:
        key, parents = b"from", [holder]
        blanks = _blanks_before(data, unit.source.start)
    old = [
        note
        for parent in parents[:1]
        for note in parent.children("note")
        if _AUTHOR in map(note.attributes.get, ("from", "category"))
    ]
    start = b'%s<%snote %s="%s">' % (blanks, prefix, key, _AUTHOR.encode())
    texts = (escape(printable(x), _NO_XML).encode() for x in remarks)
    notes, edits = [b"%s%s</%snote>" % (start, x, prefix) for x in texts], []
    if is_open:
        for note in old:
            start, stop = note.place
            # Includes the blanks that were inserted before it.
            start -= len(_blanks_before(data, start))
            edits.append(((start, stop), b""))
    else:
        # Some belong to segments that an earlier run has translated.
        known = {x.markup for x in old}
        notes = [x for x in notes if x not in known]
    new = b"".join(notes)
    if new:
        edits.append(_insert_notes(unit, parents, new))
    return edits


def _insert_notes(unit, parents, new):
    """Returns an edit that inserts notes."""
    if not unit.is_segment:
        return (unit.target_place[1],) * 2, new
    for notes in parents[:1]:
        end = notes.end_tag if notes.tag.endswith(b"/>") else b""
        return notes.tag_place, _OPEN.sub(b">", notes.tag) + new + end
    others = ("originalData", "segment", "ignorable")
    start, prefix = unit.element.unit.children(*others)[0].start, _prefix(unit)
    return (start, start), b"<%snotes>%s</%snotes>" % (prefix, new, prefix)


def _translate_unit(unit, data, outcome):
    """Returns edits that give a unit its translation and its state."""
    name, target, edits = _prefix(unit) + b"target", unit.target, []
    tag = target.tag if target else b"<%s>" % name
    blanks = b"" if target else _blanks_before(data, unit.source.start)
    for segment in unit.segments:  # At most one
        outcome = _OPEN.sub(b">", segment.tag) + outcome + segment.end_tag
    if unit.is_segment:
        element = unit.element
        edits.append(
            (element.tag_place, _set_state(element.tag, b"translated"))
        )
    else:
        tag = _set_state(tag, b"needs-review-translation")
    tag = _OPEN.sub(b">", tag)
    new = b"%s%s%s</%s>" % (blanks, tag, outcome, name)
    return [*edits, (unit.target_place, new)]


def _set_state(tag, state):
    """Returns a start tag with a new state, and without `subState`."""
    tag = _ATTRIBUTE.sub(
        lambda x: b"" if x[1] in (b"state", b"subState") else x[0], tag
    )
    return _OPEN.sub(b' state="%s">' % state, tag)
