"""XLIFF 1.2 and 2: its units, and the same file with translations.

Only what is filled changes: a `<target>`, its state, and notes that say what
comments say in a catalogue. Each inline element of a source is a span of the
text that a model reads, such as `<g id="7">`, and stands in the target as it
stands in the source.
"""

import codecs
import io
import re
from collections.abc import Mapping
from xml.sax.saxutils import escape

from tfcopy.data.corpora.catalog_lines import Header
from tfcopy.data.corpora.gettext_catalogs import Catalog
from tfcopy.data.text.languages import normal_code
from tfcopy.data.text.span_patterns import with_texts
from tfcopy.data.text.xliff_units import AUTHOR, Unit, read_units
from tfcopy.serving.catalogs.entries import content_of
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import printable

SUFFIXES = (".xlf", ".xliff")
_ATTRIBUTE = re.compile(rb"""\s+([^\s=]+)\s*=\s*(?:"[^"]*"|'[^']*')""")
_ENCODING = re.compile(rb"""<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]+)""")
# What ends a start tag.
_OPEN = re.compile(rb"\s*/?>\Z")
_MARKS = {codecs.BOM_UTF16_LE: "UTF-16-LE", codecs.BOM_UTF16_BE: "UTF-16-BE"}


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
        code = normal_code(unit.language or language)
        if code != normal_code(language):
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
    except (LookupError, UnicodeError):
        raise AskError(f"{path}, line 1: not in {charset}.") from None


def units_of(path, text: str) -> list[Unit]:
    """The units of a file, in their order.

    Args:
        path: Of the file, for messages.
        text: What it holds.

    Raises:
        AskError: naming the line, if it is no XLIFF.
    """
    try:
        return [*read_units(io.BytesIO(text.encode()), path, "utf-8")]
    except ValueError as error:
        raise AskError(str(error)) from None


def filled(path, text: str, outcomes: Mapping) -> str:
    """A file whose open units have what was found for them.

    Args:
        path: The file's, for messages.
        text: What it holds.
        outcomes: Dict from keys of units to a `Suggestion` or `Left`.

    Raises:
        AskError: If it is no XLIFF.
    """
    data, edits, remarks = text.encode(), [], {}
    for unit in units_of(path, text):
        outcome = outcomes.get(unit.key)
        if outcome is None or not unit.is_open:
            continue
        found = outcome.forms.get(0)
        if found and unit.objection(found) is None:
            edits += _translated(unit, data, unit.markup(found))
        made = _notes(unit, outcome.remarks)
        remarks.setdefault(id(unit.notes), (unit, []))[1].extend(made)
    for unit, made in remarks.values():
        edits += _with_notes(unit, data, made)
    edits.sort(key=lambda x: (x[0].start, x[0].stop))
    places = ((place.start, place.stop) for place, _ in edits)
    return with_texts(data, places, (new for _, new in edits)).decode()


def _prefix(unit):
    """The prefix of the names of elements, such as "xlf:"."""
    tag = unit.source.tag
    return tag[1 : tag.index(b"source")]


def _blanks_before(data, place):
    """What is between a tag and a place, if that is blank."""
    before = data[data.rfind(b">", 0, place) + 1 : place]
    return before if before.isspace() else b""


def _notes(unit, remarks):
    """The notes of a unit, as XML."""
    name = _prefix(unit) + b"note"
    key = b"category" if unit.is_segment else b"from"
    texts = (escape(printable(x)).encode() for x in remarks)
    author = AUTHOR.encode()
    return [
        b'<%s %s="%s">%s</%s>' % (name, key, author, x, name) for x in texts
    ]


def _with_notes(unit, data, made):
    """Edits that give a unit its notes, instead of those of an earlier run."""
    edits, notes = [], unit.notes
    for place in notes.old if notes.is_open else ():
        # With the blanks before it, which came with it.
        blanks = _blanks_before(data, place.start)
        edits.append((range(place.start - len(blanks), place.stop), b""))
    if not notes.is_open:
        # Some are those of segments that an earlier run has translated.
        old = {data[place.start : place.stop] for place in notes.old}
        made = [x for x in made if x not in old]
    if not unit.is_segment:
        blanks = _blanks_before(data, unit.source.start)
        made = [blanks + x for x in made]
    new = b"".join(made)
    if new and notes.need_element:
        name = _prefix(unit) + b"notes"
        new = b"<%s>%s</%s>" % (name, new, name)
    return [*edits, (notes.place, new)] if new else edits


def _translated(unit, data, found):
    """Edits that give a unit its translation and its state."""
    name, new = _prefix(unit) + b"target", b""
    tag = unit.target.tag if unit.target else b"<%s>" % name
    if not unit.target:
        new = _blanks_before(data, unit.source.start)
    for segment in unit.spans.segments:  # There is one at most.
        end = b"</%s>" % re.match(rb"<([^\s/>]+)", segment)[1]
        found = _OPEN.sub(b">", segment) + found + end
    if not unit.is_segment:
        tag = _with_state(tag, b"needs-review-translation")
        new += b"%s%s</%s>" % (tag, found, name)
        return [(unit.target_place, new)]
    new += b"%s%s</%s>" % (_OPEN.sub(b">", tag), found, name)
    tag, start = unit.element.tag, unit.element.start
    place = range(start, start + len(tag))
    return [
        (place, _with_state(tag, b"translated")),
        (unit.target_place, new),
    ]


def _with_state(tag, state):
    """A start tag with another state, whose details are no longer true."""
    tag = _ATTRIBUTE.sub(
        lambda x: b"" if x[1] in (b"state", b"subState") else x[0], tag
    )
    return _OPEN.sub(b' state="%s">' % state, tag)
