"""Files that translators exchange: TMX and XLIFF (texts), TBX and CSV (terms).

XML is read one unit after the other, however large the file is. Inline elements
of XLIFF are spans (`xliff_units`). Inline elements of TMX become the code that
they represent, or, without such code, the element itself, as `<x id="1"/>`, a
span that `--protect html` keeps.
"""

import collections
import dataclasses
import functools
import re
from collections.abc import Iterator, Mapping, Sequence

from tfcopy import file_formats
from tfcopy.data.text.languages import base_language, best_language, normal_code
from tfcopy.data.text.xliff_units import XliffReader
from tfcopy.data.text.xml_units import XML_LANG, Element, XmlReader

XLIFF = (".xlf", ".xliff", ".sdlxliff")
# Elements of TMX and TBX: one text in several languages, its form in one of
# them, and the text of that.
_UNITS = ("tu", "termEntry", "conceptEntry")
_FORMS = ("tuv", "langSet", "langSec")
_TEXTS = ("seg", "term")
# Inline elements that represent code; their text is the code.
_CODES = ("ph", "bpt", "ept", "it", "ut", "x", "bx", "ex", "sc", "ec")
_IDENTITIES = ("id", "x", "i", "startRef")
_DECLARED = re.compile(rb"""^<\?xml[^>]*encoding=["']utf-?(?:16|32)""", re.I)


def is_memory(path) -> bool:
    """Returns whether a file is named as TMX or XLIFF, compressed or not."""
    return file_formats.plain_name(path).lower().endswith((".tmx", *XLIFF))


@dataclasses.dataclass
class MemoryReport:
    """Damaged units of a memory, and the languages that were read.

    Attributes:
        faults: Line and reason of each unit that was left out.
        languages: For source and target, a dict from codes of languages to
            the number of texts that were taken.
    """

    faults: Sequence[tuple[int, str]] = ()
    languages: Sequence[Mapping[str, int]] = ()

    @property
    def remarks(self) -> list[str]:
        """Remarks for users, a line each."""
        lines = [
            f"damaged units left out: {len(self.faults):,}, the first in "
            f"line {line}: {reason}."
            for line, reason in self.faults[:1]
        ]
        for counts in self.languages:
            if len(counts) > 1:
                told = (f"{x} ({count:,})" for x, count in counts.items())
                lines.append(f"texts of {', '.join(told)} are read together.")
        return lines


def read_memory(
    path,
    source_language: str,
    target_language: str,
    report: MemoryReport | None = None,
) -> Iterator[tuple[str, str]]:
    """Yields the units of TMX, or of XLIFF 1.2 or 2, as pairs of texts.

    A unit that lacks one of the languages, that XLIFF marks as not yet
    translated, or that is damaged in TMX has two empty texts.

    A code with a country finds texts with the same country, or without one. A
    code without a country finds texts without one first, and then texts of the
    nearest country. `report` lists the codes that were read.

    Args:
        path: The file, plain or compressed.
        source_language, target_language: Codes as in BCP 47.
        report: Receives the units left out and the languages read.

    Raises:
        OSError: If the file cannot be read.
        ValueError: naming the file, if it has another format, or no unit in
            both languages.
    """
    report = MemoryReport() if report is None else report
    languages = source_language, target_language
    counts = [collections.Counter() for _ in languages]
    is_xliff = file_formats.plain_name(path).lower().endswith(XLIFF)
    reader = _XliffReader(path) if is_xliff else _TextReader(path, skips=True)
    report.faults, report.languages, seen = reader.faults, counts, set()
    for unit in _read(reader):
        texts = unit or {}
        seen.update(texts)
        codes = [_best_code(x, tuple(texts)) for x in languages]
        if None in codes:
            yield "", ""
            continue
        for counter, code in zip(counts, codes):
            counter[code] += 1
        yield tuple(texts[x][0] for x in codes)
    if counts[0]:
        return
    for line, reason in report.faults[:1]:
        raise ValueError(f"{path}, line {line}: {reason}.")
    there = ", ".join(sorted(seen)) or "no units"
    raise ValueError(
        f"{path}: no unit in both {source_language} and {target_language}. "
        f"There are: {there}."
    )


@functools.lru_cache(maxsize=4096)
def _best_code(language, codes):
    """Chooses the code of the text in a language, or `None`."""
    return best_language(_code(language), codes, other_regions=False)


def read_terms(
    path, languages: tuple[str | None, str | None]
) -> Iterator[tuple[str, str, str]]:
    """Reads the terms of TBX or CSV.

    CSV is read by `read_csv_terms`. Of a TBX entry each term of the source
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
    if not file_formats.plain_name(path).lower().endswith(".tbx"):
        yield from file_formats.read_csv_terms(path, languages, base_language)
        return
    if None in languages:
        raise ValueError(f"{path}: the languages of its terms are not known.")
    for number, texts in enumerate(_read(_TextReader(path)), start=1):
        codes = [_best_code(x, tuple(texts)) for x in languages]
        terms, translations = (texts.get(x, ()) for x in codes)
        for term in terms if translations else ():
            yield f"{path}, entry {number}", term, translations[0]


def _read(reader):
    """Yields the units that a reader finds in its file."""
    with file_formats.open_plain(reader.path) as file:
        if _DECLARED.match(file.peek(200)[:200]):
            reader.encoding = "utf-8"  # UTF-16 has become UTF-8.
        yield from reader.read(file)


class _TextReader(XmlReader):
    """Reader of units of TMX or TBX as dicts: language codes to texts."""

    names = _UNITS

    def convert(self, unit):
        texts = collections.defaultdict(list)
        for form in unit.children(*_FORMS):
            get = form.attributes.get
            for text in _texts(form):
                texts[_code(get(XML_LANG) or get("lang"))].append(text)
        return [texts]


class _XliffReader(XliffReader):
    """Reader of units of XLIFF as such dicts, empty for untranslated ones."""

    def convert(self, unit):
        for x in super().convert(unit):
            languages = x.language, x.source_language
            texts = zip(languages, (x.target_text, x.singular))
            is_done = x.is_translated
            yield {_code(y): [text] for y, text in texts if y and is_done}


def _texts(form: Element) -> Iterator[str]:
    """Yields the texts of a unit in a language, with codes as text."""
    done = 0
    for part, is_begin in form.parts:
        if is_begin and isinstance(part, Element) and part.name in _TEXTS:
            if part.first > done:
                done = part.last
                yield _text(part)


def _text(element):
    parts, starts = [], []
    for part, is_begin in element.parts:
        if isinstance(part, str):
            parts.append(part)
        elif is_begin:
            starts.append(len(parts))
        elif starts.pop() == len(parts) and part.name in _CODES:
            parts.append(f"{part.label(*_IDENTITIES)}/>")
    return "".join(parts)


def _code(language):
    """Normalises a language's code: `en` for `eng`, `en-us` for `en_US`."""
    return normal_code(language or "").lower()
