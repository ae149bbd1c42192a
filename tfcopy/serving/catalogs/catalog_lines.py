"""Where the entries of a gettext catalogue stand in its lines.

Reference: the manual of GNU gettext, "The Format of PO Files".
"""

import dataclasses
import re

from tfcopy.serving.catalogs.catalog_strings import unescaped
from tfcopy.serving.client_library.signatures import AskError

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
