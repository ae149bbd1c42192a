"""What translators exchange: TMX and XLIFF (texts), TBX and CSV (terms).

XML is read one unit after the other, however large the file is. Its inline
elements become what a text without XML would have: the code of a format that
an element stands for, or, where none is given, the element itself, as
`<x id="1"/>`, a span that `--protect html` keeps.
"""

import csv
import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from html import escape

from tfcopy import file_forms

MEMORIES = (".tmx", ".xlf", ".xliff", ".sdlxliff")
_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
# The elements that hold one text in several languages.
_UNITS = ("tu", "trans-unit", "segment", "termEntry", "conceptEntry")
# Inline elements that stand for code, which their text is if they have any.
_CODES = {
    *("ph", "bpt", "ept", "it", "ut"),
    *("g", "x", "bx", "ex", "pc", "sc", "ec"),
}
# States of a target that nobody has translated.
_UNTRANSLATED = {"new", "needs-translation", "initial"}
_IDENTITIES = ("id", "x", "i", "startRef")
_DECLARED = re.compile(rb"""^<\?xml[^>]*encoding=["']utf-?(?:16|32)""", re.I)


def is_memory(path) -> bool:
    """Whether a file's name is that of TMX or XLIFF, compressed or not."""
    return file_forms.plain_name(path).lower().endswith(MEMORIES)


def read_memory(
    path, source_language: str, target_language: str
) -> Iterator[tuple[str, str]]:
    """Yields the units of TMX, or of XLIFF 1.2 or 2, as pairs of texts.

    A unit that lacks one of the languages, or that XLIFF marks as not yet
    translated, has two empty texts. `en` stands for `en-GB`, too.

    Args:
        path: The file, plain or compressed.
        source_language, target_language: Codes as in BCP 47.

    Raises:
        OSError: If the file cannot be read.
        ValueError: naming the file, if it is no such file, or has no unit in
            both languages.
    """
    languages, seen, is_found = (source_language, target_language), {}, False
    for head, unit in _units(path):
        texts = _texts_of_unit(unit, head)
        seen |= dict.fromkeys(texts)
        pair = tuple(_of_language(texts, x) for x in languages)
        is_found = is_found or None not in pair
        yield pair if None not in pair else ("", "")
    if not is_found:
        there = ", ".join(sorted(seen)) or "no units"
        raise ValueError(
            f"{path}: no unit in both {source_language} and {target_language}. "
            f"There are: {there}."
        )


def read_terms(
    path, languages: tuple[str | None, str | None]
) -> Iterator[tuple[str, str, str]]:
    """The terms of TBX or CSV.

    CSV has two columns, and a first row of the languages' codes, or of
    `source` and `target`, is no term. Of a TBX entry each term of the source
    language goes with the first of the target's.

    Args:
        path: The file, plain or compressed.
        languages: Codes of the source's and the target's language.

    Yields:
        `(place, term, translation)`, the place for messages.

    Raises:
        OSError: If the file cannot be read.
        ValueError: naming the file, if it is no such file.
    """
    if not file_forms.plain_name(path).endswith(".tbx"):
        yield from _csv_terms(path, languages)
        return
    if None in languages:
        raise ValueError(f"{path}: the languages of its terms are not known.")
    for number, (_, unit) in enumerate(_units(path), start=1):
        terms = {}
        for part in unit:
            if _name(part) in ("langSet", "langSec"):
                found = ("".join(x.itertext()) for x in _all(part, "term"))
                terms[_code(part.get(_LANG))] = [x for x in found if x.strip()]
        source, target = (_of_language(terms, x) for x in languages)
        for term in source or () if target else ():
            yield f"{path}, entry {number}", term, target[0]


def _csv_terms(path, languages):
    with file_forms.open_plain(path) as file:
        try:
            text = file.read().decode()
        except UnicodeDecodeError:
            raise ValueError(f"{path}: not valid UTF-8.") from None
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in rows:
            place = f"{path}, line {rows.line_num}"
            names = tuple(_code(x.strip()) for x in row)
            if rows.line_num == 1 and names in (
                ("source", "target"),
                tuple(_code(x or "") for x in languages),
            ):
                continue
            if len(row) != 2:
                raise ValueError(
                    f"{place}: expected a phrase and its translation. "
                    f"Received: {len(row)} columns."
                )
            yield place, *row
    except csv.Error as error:
        raise ValueError(
            f"{path}, line {rows.line_num}: not valid CSV ({error})."
        ) from None


def _units(path):
    """Yields the attributes above a unit, an inner element's first, and it."""
    with file_forms.open_plain(path) as file:
        # What was UTF-16 is UTF-8 now, whatever is declared.
        is_other = _DECLARED.match(file.peek(200)[:200])
        parser = ElementTree.XMLParser(encoding="utf-8" if is_other else None)
        above, head = [], {}
        events = ElementTree.iterparse(file, ("start", "end"), parser)
        try:
            for event, element in events:
                name = _name(element)
                if event == "start":
                    above.append(element)
                    if name in ("xliff", "file", "tmx"):
                        head = {**head, **element.attrib}
                    continue
                above.pop()
                if name in _UNITS:
                    yield head, element
                    above[-1].remove(element)
        except ElementTree.ParseError as error:
            line, _ = error.position
            reason = str(error).partition(":")[0]
            raise ValueError(
                f"{path}, line {line}: not valid XML ({reason})."
            ) from None


def _texts_of_unit(unit, head):
    """Dict from a language to its text."""
    if _name(unit) == "tu":
        found = {}
        for variant in unit:
            if _name(variant) == "tuv":
                language = variant.get(_LANG) or variant.get("lang")
                segment = next(_all(variant, "seg"), None)
                if segment is not None:
                    found.setdefault(_code(language), _text(segment))
        return found
    languages = {
        "source": head.get("source-language") or head.get("srcLang"),
        "target": head.get("target-language") or head.get("trgLang"),
    }
    found, states = {}, {unit.get("state")}
    for part in unit:
        name = _name(part)
        if name in languages and _code(languages[name]) not in found:
            found[_code(languages[name])] = _text(part)
            states.add(part.get("state"))
    return {} if states & _UNTRANSLATED else found


def _text(element):
    """The text of a segment, with the code of its inline elements."""
    parts = [element.text or ""]
    for child in element:
        name = _name(child)
        inner = _text(child)
        if name == "cp":  # a character that XML cannot hold
            inner = _character(child.get("hex", ""))
        elif name in _CODES and (name in ("g", "pc") or not inner):
            tag = "".join(
                f' {key}="{escape(child.get(key))}"'
                for key in _IDENTITIES
                if key in child.attrib
            )
            end = f">{inner}</{name}>" if inner else "/>"
            inner = f"<{name}{tag}{end}"
        parts += [inner, child.tail or ""]
    return "".join(parts)


def _character(digits):
    try:
        return chr(int(digits, 16))
    except (ValueError, OverflowError):
        return ""


def _of_language(found, language):
    """What is there in a language, or in one of its regions; else `None`."""
    code = _code(language)
    if code in found:
        return found[code]
    return next((x for k, x in found.items() if k.startswith(f"{code}-")), None)


def _code(language):
    return (language or "").replace("_", "-").lower()


def _all(element, name):
    return (x for x in element.iter() if _name(x) == name)


def _name(element):
    """An element's name without its namespace."""
    return element.tag.rpartition("}")[2]
