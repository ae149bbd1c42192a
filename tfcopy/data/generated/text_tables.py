"""Text tables: the words and sentence patterns of the generated corpora.

A table is a file in the folder `tables`, which is installed with the package.
It holds sections: a name between equals signs, `== places ==`, and the lines
below it. An indented line continues the one before it. Blank lines, and lines
that begin with `#`, are ignored.

Patterns have slots. `{person}` is a slot of the type `person`; a digit
distinguishes slots of the same type, `{person2}`; a dot precedes the form,
`{person.last}`. A slot with a capital, `{He}`, gets a capitalised filler.
"""

import functools
import importlib.resources
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

_FOLDER = importlib.resources.files("tfcopy.data.generated") / "tables"
_HEADING = re.compile(r"== (\S.*\S|\S) ==")
_NOTHING = "_"  # an empty part of a word


class TableError(ValueError):
    """A table is malformed; the message says where."""


class Line(str):
    """A line of a table that knows its position.

    Attributes:
        place: Its position, such as `"demo_names.txt, line 12"`.
    """

    place: str

    def __new__(cls, text: str, place: str):
        line = super().__new__(cls, text)
        line.place = place
        return line

    def sides(self) -> tuple[str, str]:
        """The texts before and after the ` = ` of the line."""
        sides = self.split(" = ")
        if len(sides) != 2:
            raise self.error("expected two sides with ` = ` between them")
        return tuple(sides)

    def error(self, expected: str) -> TableError:
        """An error that names the file and the line."""
        return TableError(f"{self.place}: {expected}. Received: {str(self)!r}.")


@functools.cache
def read(name: str) -> dict[str, tuple[Line, ...]]:
    """The sections of a table, each a tuple of lines.

    Args:
        name: The table's file name without extension, such as `"demo_names"`.

    Raises:
        TableError: naming file and line.
    """
    file = _FOLDER / f"{name}.txt"
    return parse(file.read_text(encoding="utf-8"), file.name)


def parse(text: str, name: str) -> dict[str, tuple[Line, ...]]:
    """The sections of a text; errors call its file by `name`."""
    sections, lines, heading = {}, None, None
    for number, row in enumerate(text.split("\n"), start=1):
        line = Line(row.strip(), f"{name}, line {number}")
        if not line or row.startswith("#"):
            continue
        if row.startswith("=="):
            match = _HEADING.fullmatch(line)
            if not match or match[1] in sections:
                raise line.error("expected `== name ==` with a new name")
            _require_lines(heading, lines)
            lines, heading = [], line
            sections[match[1]] = lines
        elif lines is None:
            raise line.error("expected `== name ==` before the first line")
        elif not row[0].isspace():
            lines.append(line)
        elif lines:
            lines[-1] = Line(f"{lines[-1]} {line}", lines[-1].place)
        else:
            raise line.error("expected a line before one that is indented")
    _require_lines(heading, lines)
    return {section: tuple(lines) for section, lines in sections.items()}


def groups(name: str) -> dict[str, dict[str, tuple[Line, ...]]]:
    """Sections whose names begin with the same word, by the rest of the names.

    Args:
        name: As in `read`.
    """
    result = {}
    for section, lines in read(name).items():
        group, _, rest = section.partition(" ")
        result.setdefault(group, {})[rest] = lines
    return result


def pairs(section: str) -> list[tuple[str, str]]:
    """Returns the sources and targets of a section of `demo_examples.txt`."""
    lines = [str(line) for line in read("demo_examples")[section]]
    return list(zip(lines[::2], lines[1::2], strict=True))


def phrases(lines: Iterable[str]) -> tuple[str, ...]:
    """The phrases between bars and line ends."""
    return tuple(x.strip() for line in lines for x in line.split("|"))


def words(lines: Iterable[str]) -> tuple[str, ...]:
    """The words between blanks; an underscore is an empty word."""
    return tuple(
        "" if word == _NOTHING else word
        for line in lines
        for word in line.split()
    )


def with_replies(lines: Iterable[Line]) -> list[list[str]]:
    """Each line with the replies after it, which begin with `>`."""
    result = []
    for line in lines:
        if not line.startswith("> "):
            result.append([str(line)])
        elif result:
            result[-1].append(line.removeprefix("> "))
        else:
            raise line.error("expected a line before one with `>`")
    return result


def translations(lines: Sequence[Line]) -> list[tuple[Line, Line]]:
    """Each line with its translation, which is the next one."""
    if len(lines) % 2:
        raise lines[-1].error("expected its translation after it")
    return list(zip(lines[::2], lines[1::2]))


def _require_lines(heading, lines):
    if lines == []:
        raise heading.error("expected lines in this section")


_SLOT = re.compile(r"\{([A-Za-z_]+)(\d?)(?:\.(\w+))?\}")
_AGREEMENT = re.compile(r"\[([^\[\]]*):(\w+)\]")


class Slot(NamedTuple):
    """A slot of a pattern.

    Attributes:
        name: Its name within the sentence, `"person2"`.
        type: The type of its fillers, `"person"`.
        form: The form of the filler, or `""`.
    """

    name: str
    type: str
    form: str


def slots(pattern: str) -> list[Slot]:
    """The slots of a pattern, in order."""
    return [slot for _, slot, _ in _parse(pattern)[0]]


def fill(pattern: str, text_of: Callable[[Slot], str]) -> str:
    """Fills the slots of a pattern with texts, from left to right."""
    parts, rest = _parse(pattern)
    result = []
    for before, slot, written in parts:
        text = text_of(slot)
        is_capital = written[1].isupper()
        result += [before, text.capitalize() if is_capital else text]
    return "".join([*result, rest])


def fill_from(pattern: str, texts: Mapping[str, str]) -> str:
    """Fills the slots that have a text, by name, and leaves the others.

    Here a slot with a capital is a separate slot.
    """
    parts, rest = _parse(pattern)
    result = []
    for before, _, written in parts:
        result += [before, texts.get(written[1:-1], written)]
    return "".join([*result, rest])


def agree(
    text: str,
    fillers: Mapping[str, Any],
    adjective_forms: Callable[[str], Sequence[str]],
) -> str:
    """Chooses between the forms in square brackets, `[is|are:person]`.

    Two forms are singular and plural; four are masculine, feminine, and the
    plurals of both. An adjective with an asterisk stands for its four forms.

    Args:
        text: A text whose slots are filled.
        fillers: By slot, what filled it: objects with the attributes
            `feminine` and `plural`.
        adjective_forms: Called with an adjective, returns its four forms.
    """

    def form(match):
        forms, filler = match[1], fillers[match[2]]
        if forms.endswith("*"):
            forms = "|".join(adjective_forms(forms[:-1]))
        forms = forms.split("|")
        if len(forms) == 2:
            return forms[filler.plural]
        return forms[2 * filler.plural + filler.feminine]

    return _AGREEMENT.sub(form, text)


def split(pattern: str) -> list[str]:
    """The text before the first slot, its name, the text after, and so on."""
    parts, rest = _parse(pattern)
    result = []
    for before, slot, _ in parts:
        result += [before, slot.name]
    return [*result, rest]


@functools.lru_cache(maxsize=4096)
def _parse(pattern):
    """`(text before, slot, slot as written)` of each slot; the text after."""
    parts, end = [], 0
    for match in _SLOT.finditer(pattern):
        type = match[1].lower()
        slot = Slot(type + match[2], type, match[3] or "")
        parts.append((pattern[end : match.start()], slot, match[0]))
        end = match.end()
    return parts, pattern[end:]
