"""Where the entries of a gettext catalogue stand in its lines.

Strings are escaped, quoted and wrapped; the first entry is the header.

Reference: the manual of GNU gettext, "The Format of PO Files".
"""

import dataclasses
import re
from collections.abc import Sequence
from typing import NamedTuple

from tfcopy.serving.client_library.signatures import AskError

# Columns of a line with its quotes, as gettext's programs wrap.
_WIDTH = 79
_ESCAPES = {
    "\\": "\\\\",
    '"': '\\"',
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\a": "\\a",
    "\b": "\\b",
    "\f": "\\f",
    "\v": "\\v",
}
_MEANINGS = {escape[1]: char for char, escape in _ESCAPES.items()}
_ESCAPE = re.compile(r"\\(?:([0-7]{1,3})|x([0-9A-Fa-f]+)|(.))", re.DOTALL)


def unescaped(text: str) -> str:
    """What a string means, from what stands between its quotes."""
    return _ESCAPE.sub(_meaning, text)


def lines_of(keyword: str, text: str) -> list[str]:
    """The lines of a string after its keyword.

    It stands on one line if it has one and fits there; otherwise the lines
    after an empty string end at line breaks and, where they are too long, at
    blanks.

    Args:
        keyword: Such as `msgstr` or `msgstr[0]`.
        text: What the string means.
    """
    whole = f'{keyword} "{_escaped(text)}"'
    if "\n" not in text[:-1] and len(whole) <= _WIDTH:
        return [whole]
    lines = [f'{keyword} ""']
    for line in re.findall(r"[^\n]*\n|[^\n]+", text):
        lines += [f'"{part}"' for part in _wrapped(line)]
    return lines


def _wrapped(line):
    """The escaped parts of a line that fit into the width, blanks last."""
    part = ""
    for word in re.findall(r" *[^ ]+ *|^ +$", line):
        word = _escaped(word)
        if part and len(part) + len(word) > _WIDTH - 2:
            yield part
            part = ""
        part += word
    yield part


def _escaped(text):
    return text.translate(str.maketrans(_ESCAPES))


def _meaning(match):
    octal, hexadecimal, char = match.groups()
    if octal:
        return chr(int(octal, 8))
    if hexadecimal:
        return chr(int(hexadecimal, 16) % 0x110000)
    return _MEANINGS.get(char, char)


_STRING = re.compile(
    r'(?:(msgctxt|msgid_plural|msgid|msgstr)(?:\[(\d+)\])?\s*)?"(.*)"'
)


@dataclasses.dataclass
class Entry:
    """An entry, obsolete ones excepted.

    Lines are counted from 0.

    Attributes:
        context: Its `msgctxt`, or `None`.
        singular: Its `msgid`.
        plural: Its `msgid_plural`, or `None`.
        translations: Dict from the numbers of its forms to their `msgstr`; 0
            is that of an entry without plural forms.
        places: Dict from these numbers to the ranges of the strings' lines.
        comments: The lines of the comments right before it.
        start: Its first line that is no comment.
        flags: Such as "fuzzy", wherever before it they stand.
        flags_line: The last line of its flags, or `None`: of several, gettext
            heeds that one.
    """

    start: int
    comments: range
    flags: frozenset[str] = frozenset()
    flags_line: int | None = None
    context: str | None = None
    singular: str | None = None
    plural: str | None = None
    translations: dict[int, str] = dataclasses.field(default_factory=dict)
    places: dict[int, range] = dataclasses.field(default_factory=dict)

    @property
    def key(self) -> tuple[str | None, str | None]:
        """What no two entries of a catalogue have in common."""
        return self.context, self.singular

    @property
    def is_open(self) -> bool:
        """Whether it waits for a translation."""
        is_header = not self.singular
        is_done = all(self.translations.values())
        return not (is_header or is_done or "fuzzy" in self.flags)

    def keyword(self, number: int) -> str:
        """What a translation's first line begins with."""
        return "msgstr" if self.plural is None else f"msgstr[{number}]"


def entries_of(path, lines: list[str]) -> list[Entry]:
    """The entries of a catalogue, the header first if it has one.

    Args:
        path: Of the catalogue, for messages.
        lines: Its lines.

    Raises:
        AskError: naming the line, if it has no place in a catalogue.
    """
    reader = _Reader(path)
    for number, line in enumerate(lines):
        reader.read(number, line.strip())
    reader.end_entry()
    return reader.entries


class _Reader:
    def __init__(self, path):
        self.path = path
        self.entries = []
        self.entry = None
        self.keyword = None  # of the string that may go on, and its number
        self.parts = []  # of that string
        self.forget_comments()

    def forget_comments(self):
        self.comments, self.flags, self.flags_line = range(0), set(), None

    def read(self, number, line):
        if not line:
            self.comments = range(0)
        elif line.startswith("#"):
            self.read_comment(number, line)
        else:
            match = _STRING.fullmatch(line)
            if match is None:
                self.refuse(number, f"no line of a catalogue: {line[:60]!r}")
            keyword, form, text = match.groups()
            if keyword:
                self.begin_string(number, keyword, form)
            elif self.keyword is None:
                self.refuse(number, "a string without its keyword")
            self.add(number, unescaped(text))

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

    def begin_string(self, number, keyword, form):
        self.end_string()
        entry = self.entry
        begins = {"msgctxt": "context", "msgid": "singular"}.get(keyword)
        if begins and (entry is None or entry.translations):
            self.end_entry()
            entry = self.entry = Entry(
                number, self.comments, frozenset(self.flags), self.flags_line
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
        name = {"msgctxt": "context", "msgid": "singular"}.get(
            keyword, "plural"
        )
        setattr(self.entry, name, text)

    def end_entry(self):
        self.end_string()
        entry, self.entry = self.entry, None
        if entry is None:
            return
        if not entry.translations:
            self.refuse(entry.start, "an entry without msgstr after it")
        self.entries.append(entry)

    def refuse(self, number, reason):
        raise AskError(f"{self.path}, line {number + 1}: {reason}.")


_ADVICE = "`msginit` makes a catalogue with a header of a template"


class Header(NamedTuple):
    """What the header says of the translations.

    Attributes:
        place: The file and the line where it begins, for messages.
        language: Their language, such as "es_AR", or "".
        num_forms: The number of their plural forms, `None` if it is not told.
    """

    place: str
    language: str
    num_forms: int | None

    def check_language(self, language: str | None):
        """Raises an AskError if it contradicts a language, an ISO 639 code."""
        if (
            self.language
            and language
            and _base(self.language) != _base(language)
        ):
            raise AskError(
                f"{self.place}: the catalogue is in {self.language!r}, by its "
                f"header. Expected: {language!r}."
            )


def read_header(path, entries: Sequence[Entry]) -> Header:
    """The header of a catalogue.

    Args:
        path: The catalogue's, for messages.
        entries: Its entries.

    Raises:
        AskError: naming the line, if there is no header, or it tells another
            encoding than UTF-8.
    """
    entry = entries[0] if entries else None
    if entry is None or entry.singular or entry.context is not None:
        raise AskError(
            f"{path}, line {entry.start + 1 if entry else 1}: expected a "
            f"header that tells the charset; {_ADVICE}."
        )
    text = entry.translations[0]
    pairs = (line.partition(":") for line in text.splitlines())
    fields = {name.strip().lower(): value.strip() for name, _, value in pairs}
    place = f"{path}, line {entry.start + 1}"
    if not text.strip():
        raise AskError(f"{place}: the header is empty; {_ADVICE}.")
    charset = re.search(
        r"charset=([^\s;]+)", fields.get("content-type", ""), re.IGNORECASE
    )
    if not charset:
        raise AskError(f"{place}: the header tells no charset; {_ADVICE}.")
    if charset[1].lower() not in ("utf-8", "utf8"):
        raise AskError(
            f"{place}: the header tells the charset {charset[1]}. Convert it "
            "by `msgconv --to-code UTF-8`."
        )
    forms = re.search(r"nplurals\s*=\s*(\d+)", fields.get("plural-forms", ""))
    language = fields.get("language", "")
    return Header(place, language, int(forms[1]) if forms else None)


def _base(language):
    """A language without its country and its script."""
    return re.split(r"[_@.-]", language.lower())[0]
