"""Entries of a gettext catalogue, and their lines.

Strings are escaped, quoted and wrapped; the first entry is the header.

Reference: the manual of GNU gettext, "The Format of PO Files", and "Additional
functions for plural forms".
"""

import codecs
import dataclasses
import functools
import gettext
import os
import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.text import languages
from tfcopy.data.text.answer_check import any_must_be_in_all, have_same_spans

# A part of a path that names a language: es, zh_Hans, pt-BR, sr@latin.
_LANGUAGE = re.compile(
    r"[a-z]{2,3}(?:[_-](?:[A-Z][a-z]{3}|[A-Z]{2}|[0-9]{3})){0,2}(?:@[A-Za-z]+)?"
)
# Columns of a line with its quotes, as gettext's programs wrap.
_WIDTH = 79
_ESCAPES = {
    char: f"\\{escaped}"
    for char, escaped in zip('\\"\n\t\r\a\b\f\v', '\\"ntrabfv')
}
_MEANINGS = {escape[1]: char for char, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]+)|(.))", re.DOTALL)


def unescape(text: str) -> str:
    """Decodes the escapes of a string between its quotes."""
    return _ESCAPE.sub(_meaning, text)


def lines_of(keyword: str, text: str, *, wrap: bool = True) -> list[str]:
    """Returns the lines of a string after its keyword.

    A string without line breaks that is short enough fills one line. Otherwise
    the lines after an empty string end at line breaks and, if they are too
    long, at blanks.

    Args:
        keyword: Such as `msgstr` or `msgstr[0]`.
        text: The string without escapes.
        wrap: Whether long lines are broken.
    """
    whole = f'{keyword} "{_escape(text)}"'
    if "\n" not in text[:-1] and (len(whole) <= _WIDTH or not wrap):
        return [whole]
    lines = [f'{keyword} ""']
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        parts = _wrap(line) if wrap else [_escape(line)]
        lines += [f'"{part}"' for part in parts]
    return lines


def is_wrapped(lines: Sequence[str]) -> bool:
    """Returns whether the strings of a catalogue are wrapped, as is usual."""
    long = sum(
        len(x) > _WIDTH + 1 and " " in x.split('"', 1)[-1][: _WIDTH // 2]
        for x in lines
        if x.startswith(("msg", '"'))
    )
    # A string that goes on at a blank.
    return long <= sum(
        x.startswith('"') and x.rstrip().endswith(' "') for x in lines
    )


def _wrap(line):
    """Yields the escaped parts of a line that fit the width, blanks last."""
    part = ""
    for word in re.findall(r" *[^ ]+ *|^ +$", line):
        word = _escape(word)
        if part and len(part) + len(word) > _WIDTH - 2:
            yield part
            part = ""
        part += word
    yield part


def _escape(text):
    return text.translate(str.maketrans(_ESCAPES))


def _meaning(match):
    octal, hexadecimal, char = match.groups()
    if octal:
        return chr(int(octal, 8))
    if hexadecimal:
        return chr(int(hexadecimal, 16) % 0x110000)
    return _MEANINGS.get(char, char)


_STRING = re.compile(
    r"(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d{1,9})\])?\s*)?"
    r'"((?:[^"\\]|\\.|"\s*")*)"'
)
# Two strings on a line are one.
_SEAM = re.compile(r'((?:[^"\\]|\\.)*)(?:"\s*")?')
# Entries for the names of the translators.
_CREDITS = re.compile(
    r"translator[-_ ]credits|_: ?translators? names?|Your (?:names|emails)"
    r"|(?:NAME|EMAIL|ROLES?|CREDIT)(?:_OF|_FOR| OF| FOR)_?[ _]?TRANSLATORS?"
)


@dataclasses.dataclass
class Entry:
    """Entry of a catalogue that is not obsolete.

    Lines are counted from 0.

    Attributes:
        context: Its `msgctxt`, or `None`.
        singular: Its `msgid`.
        plural: Its `msgid_plural`, or `None`.
        translations: Dict from the numbers of its forms to their `msgstr`; an
            entry without plural forms has 0 alone.
        places: Dict from these numbers to the ranges of the strings' lines.
        comments: The lines of the comments right before it.
        start: Its first line that is no comment.
        flags: Flags such as "fuzzy" on any line before it.
        flags_line: The last line of its flags, or `None`. Of several lines,
            gettext reads that one.
        file: The first of the files that it is used in, or `None`.
    """

    start: int
    comments: range
    flags: frozenset[str] = frozenset()
    flags_line: int | None = None
    file: str | None = None
    context: str | None = None
    singular: str | None = None
    plural: str | None = None
    translations: dict[int, str] = dataclasses.field(default_factory=dict)
    places: dict[int, range] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> tuple[str | None, str | None]:
        """Key that no two entries of a catalogue share."""
        return self.context, self.singular

    @property
    def is_open(self) -> bool:
        """True if it needs a translation."""
        is_header = not self.singular
        is_done = all(self.translations.values())
        return not (is_header or is_done or "fuzzy" in self.flags)

    @property
    def is_credits(self) -> bool:
        """True if translators write their names there."""
        return bool(_CREDITS.fullmatch(self.singular))

    def objection(self, text: str) -> str | None:
        """Returns `None`: any translation can be written."""
        return None

    def keyword(self, number: int) -> str:
        """Returns the beginning of the first line of a translation."""
        return "msgstr" if self.plural is None else f"msgstr[{number}]"


def entries_of(path, lines: list[str]) -> list[Entry]:
    """Parses the entries of a catalogue, the header first if it has one.

    Args:
        path: Of the catalogue, for messages.
        lines: Its lines.

    Raises:
        CorpusError: naming the line, if it has no place in a catalogue.
    """
    reader = _Reader(path)
    for number, line in enumerate(lines):
        reader.read(number, line.strip())
    reader.end_entry()
    return reader.entries


_FIELDS = {"msgctxt": "context", "msgid": "singular", "msgid_plural": "plural"}


class _Reader:
    def __init__(self, path):
        self.path = path
        self.entries = []
        self.entry = None
        self.keyword = None  # of the string that may go on, and its number
        self.parts = []  # of the string that may go on
        self.forget_comments()

    def forget_comments(self):
        self.comments, self.flags, self.flags_line = range(0), set(), None
        self.file = None

    def read(self, number, line):
        if not line:
            self.comments = range(0)
        elif line.startswith("#"):
            self.read_comment(number, line)
        else:
            match = _STRING.fullmatch(line)
            if match is None and line.startswith(("msg", '"')):
                raise CorpusError(
                    f"{self.path}, line {number + 1}: not a string of a "
                    f"catalogue: {line[:60]!r}."
                )
            if match is None:
                self.refuse(number, f"no line of one: {line[:60]!r}")
            keyword, form, text = match.groups()
            if keyword:
                self.begin_string(number, keyword, form)
            elif self.keyword is None:
                self.refuse(number, "a string without its keyword")
            self.add(number, unescape(_SEAM.sub(r"\1", text)))

    def read_comment(self, number, line):
        self.end_entry()
        if line.startswith("#~"):
            self.forget_comments()
            return
        begin = self.comments.start if self.comments else number
        self.comments = range(begin, number + 1)
        if line.startswith("#,"):
            self.flags |= {x.strip() for x in line[2:].split(",")}
            self.flags_line = number
        if line.startswith("#:") and self.file is None:
            self.file = line[2:].strip().partition(":")[0]

    def begin_string(self, number, keyword, form):
        self.end_string()
        entry = self.entry
        begins = keyword in ("msgctxt", "msgid")
        if begins and (entry is None or entry.translations):
            self.end_entry()
            flags = frozenset(self.flags)
            entry = self.entry = Entry(
                number, self.comments, flags, self.flags_line, self.file
            )
            self.forget_comments()
        has_form = form is not None
        in_place = {
            "msgctxt": entry and entry.start == number,
            "msgid": entry and entry.singular is None,
            "msgid_plural": entry
            and entry.singular is not None
            and entry.plural is None
            and not entry.translations,
            "msgstr": entry
            and entry.singular is not None
            and has_form == (entry.plural is not None)
            and int(form or 0) == len(entry.translations),
        }
        if not in_place[keyword] or (has_form and keyword != "msgstr"):
            name = f"{keyword}[{form}]" if has_form else keyword
            self.refuse(number, f"{name} does not belong here")
        self.keyword = keyword, int(form or 0)

    def add(self, number, text):
        self.parts.append(text)
        keyword, form = self.keyword
        if keyword == "msgstr":
            places = self.entry.places
            begin = places.get(form, range(number, number)).start
            places[form] = range(begin, number + 1)

    def end_string(self):
        if self.keyword is None:
            return
        (keyword, form), self.keyword = self.keyword, None
        text, self.parts = "".join(self.parts), []
        if keyword == "msgstr":
            self.entry.translations[form] = text
            return
        setattr(self.entry, _FIELDS[keyword], text)

    def end_entry(self):
        self.end_string()
        entry, self.entry = self.entry, None
        if entry is None:
            return
        if not entry.translations:
            self.refuse(entry.start, "an entry without msgstr after it")
        self.entries.append(entry)

    def refuse(self, number, reason):
        raise CorpusError(
            f"{self.path}: not a catalogue (line {number + 1}: {reason})."
        )


class Header(NamedTuple):
    """Header of a catalogue.

    Attributes:
        place: The file and the line where it begins, for messages.
        language: Language of the translations, such as "es_AR", or "": the
            code that the header names, completed by the path.
        charset: Encoding of the file, or "" if it is not named.
        plural_forms: Number of plural forms and the formula that chooses one,
            or "".
        is_there: Whether there is a header.
        text: The header.
        field: Its field `Language`, as it is written.
    """

    place: str
    language: str
    charset: str
    plural_forms: str
    is_there: bool
    text: str
    field: str = ""

    @property
    def num_forms(self) -> int | None:
        """Number of plural forms, `None` if it is not given."""
        found = re.match(_PLURAL_FIELD, self.plural_forms)
        return int(found[1]) if found else None

    def check_language(self, language: str | None, is_given: bool = False):
        """Raises a CorpusError if it contradicts a language, or its script.

        Args:
            language: Code of the language; with `None` nothing is checked.
            is_given: Whether a user gave the language. It counts if neither the
                header nor the path has a code.
        """
        own = languages.code_of_name(self.language)
        if not language or not (own or self.language) or is_given and not own:
            return
        if languages.best_language(language, [own or self.language]) is None:
            shown, by = self.field, "header"
            if not shown or languages.code_of_name(shown) != own:
                shown, by = own or self.language, "header or its path"
            raise CorpusError(
                f"{self.place}: the catalogue is in {shown!r}, by its {by}. "
                f"Expected: {language!r}."
            )


def is_language(name: str) -> bool:
    """Returns whether a part of a path is formed like a language's code.

    `po`, the usual folder of catalogues, is none.
    """
    return (
        _LANGUAGE.fullmatch(name) is not None
        and languages.code_of_name(name) != ""
    )


def language_of(field: str, path: str) -> str:
    """Returns the language that a header names, completed by the path.

    The path counts if the header names no known language, or the path's without
    a script, a country or a variant. Modules of Python are named `io` and `re`,
    so for a header without the field only `es/LC_MESSAGES/a.po` and codes with
    more than a language do.
    """
    *folders, stem = os.path.splitext(path)[0].split(os.sep)
    code = languages.code_of_name(field)
    is_place = "".join(folders[-1:]).startswith("LC_")
    names = folders[-2:-1] if is_place else [stem, *folders[-1:]]
    for name in filter(is_language, names):
        if languages.base_language(name) == languages.base_language(code):
            return languages.complete_code(code, name)
        is_clear = is_place or not name.isalpha() or field and len(name) == 2
        if is_clear and not code:
            return name
    return code or field


def read_header(path, entries: Sequence[Entry]) -> Header:
    """Reads the header of a catalogue, the entry of the empty text.

    Args:
        path: The catalogue's, for messages.
        entries: Its entries.
    """
    is_header = (x for x in entries if not x.singular and x.context is None)
    entry = next(is_header, None)
    text = entry.translations[0] if entry else ""
    pairs = (line.partition(":") for line in text.splitlines())
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    charset = re.search(
        r"charset=([^\s;]+)", fields.get("content-type", ""), re.IGNORECASE
    )
    start = entry.start if entry else entries[0].start if entries else 0
    return Header(
        f"{path}, line {start + 1}",
        language_of(fields.get("language", ""), os.fspath(path)),
        charset[1] if charset else "",
        fields.get("plural-forms", ""),
        entry is not None,
        text,
        fields.get("language", ""),
    )


# === Plural forms: a formula in C, `nplurals=2; plural=(n != 1);` ===

# Formulas distinguish numbers by their last digits; some languages have a form
# for millions.
_PLURAL_NUMBERS = (*range(1_000), 10**6, 2 * 10**6)
_PLURAL_FIELD = r"\s*nplurals\s*=\s*(\d{1,9})\b\s*(?:;\s*plural\s*=\s*([^;]*))?"


def forms_of_singular(
    field: str, count: int, singular: str, plural: str, names: Iterable[str]
) -> list[bool]:
    """Returns which forms of an entry translate its singular only.

    The form of 1 does, if it is a form of no other number and the format allows
    it to lack placeholders. If it is a form of others, as in Russian, it must
    contain the placeholder of the number. So it does only if the singular has
    the spans of the plural.

    Args:
        field: The field `Plural-Forms` of the header.
        count: The number of forms that the entry has.
        singular: The text for one.
        plural: The text for many.
        names: The flags of the entry, such as `c-format`.
    """
    numbers = _numbers_of_forms(field, count)
    if count == 1 or numbers is None:
        # The only form of a language is for many.
        return [count > 1, *[False] * (count - 1)]
    same = have_same_spans(singular, plural, names)
    may_lack = same or not any_must_be_in_all(plural, names)
    return [
        1 in some and (same or may_lack and len(some) == 1) for some in numbers
    ]


@functools.lru_cache
def _numbers_of_forms(field, count):
    """Returns the numbers of each form; `None` without a valid formula."""
    found = re.match(_PLURAL_FIELD, field)
    numbers = [set() for _ in range(count)]
    try:
        form_of = gettext.c2py((found and found[2] or "").strip())
        for number in _PLURAL_NUMBERS:
            numbers[form_of(number)].add(number)
    except (ValueError, IndexError, ArithmeticError, RecursionError):
        return None
    return numbers


# === Charsets ===

_CHARSET = re.compile(rb"charset=([\w.:-]+)", re.IGNORECASE)
# Of a template, and of all that its readers take for UTF-8.
_NO_CHARSET = ("charset", "utf8", "utf_8")


def charset_of(path, content: bytes) -> str:
    """Returns the encoding that a catalogue, or its header, names.

    Raises:
        CorpusError: naming the line, if text in it cannot be read.
    """
    found = _CHARSET.search(content)
    charset = found[1].decode() if found else "UTF-8"
    if charset.lower().replace("-", "_") in _NO_CHARSET:
        charset = "UTF-8"
    if not is_like_ascii(charset):
        line = content.count(b"\n", 0, found.start()) + 1
        raise CorpusError(
            f"{path}, line {line}: the header names the charset {charset}, "
            "which cannot be read. Convert it: `msgconv --to-code UTF-8`."
        )
    return charset


def decode(path, content: bytes) -> tuple[str, str]:
    """Decodes a catalogue by the encoding in its header.

    Raises:
        CorpusError: naming the line, if it is another one.
    """
    charset = charset_of(path, content)
    if charset == "UTF-8" and content.startswith(codecs.BOM_UTF8):
        charset = "UTF-8-SIG"  # which keeps the mark
    try:
        return content.decode(charset), charset
    except UnicodeError as error:
        # Some codecs report no position.
        line = content.count(b"\n", 0, getattr(error, "start", 0)) + 1
        raise CorpusError(
            f"{path}, line {line}: not {charset}. Name its charset in the "
            "header, or convert it: `msgconv --to-code UTF-8`."
        ) from error


# Begins escapes in UTF-7, HZ, and charsets of Python.
_ASCII = 'msgid "\\a"\n\\u0041 \\x41 +AEE- ~{AA~}'


def is_like_ascii(charset):
    """Returns whether a charset of texts decodes all of ASCII to itself."""
    try:
        _ASCII.encode(charset, "replace")  # IDNA replaces nothing.
        return _ASCII.encode().decode(charset) == _ASCII
    except (LookupError, UnicodeError):
        return False
