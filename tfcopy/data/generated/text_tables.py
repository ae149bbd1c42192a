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
_NOTHING = "_"  # an empty part of a word


@functools.cache
def read(name: str) -> dict[str, tuple[str, ...]]:
    """Reads the sections of a table, each a tuple of lines.

    Args:
        name: The table's file name without extension, such as `"demo_names"`.
    """
    return parse((_FOLDER / f"{name}.txt").read_text(encoding="utf-8"))


def read_as(form: Callable, name: str) -> dict[str, Any]:
    """Reads the sections of a table in another form, such as `words`."""
    return {section: form(lines) for section, lines in read(name).items()}


def parse(text: str) -> dict[str, tuple[str, ...]]:
    """Parses the sections of a text."""
    sections = {}
    for row in text.split("\n"):
        line = row.strip()
        if not line or row.startswith("#"):
            continue
        if row.startswith("=="):
            lines = sections[line.strip("= ")] = []
        elif row[0].isspace():
            lines[-1] += f" {line}"
        else:
            lines.append(line)
    return {section: tuple(lines) for section, lines in sections.items()}


def sides(line: str) -> tuple[str, str]:
    """Splits a line at its ` = `."""
    first, second = line.split(" = ")
    return first, second


def groups(name: str) -> dict[str, dict[str, tuple[str, ...]]]:
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
    return translations(read("demo_examples")[section])


def phrases(lines: Iterable[str]) -> tuple[str, ...]:
    """Splits lines into phrases at bars."""
    return tuple(x.strip() for line in lines for x in line.split("|"))


def words(lines: Iterable[str]) -> tuple[str, ...]:
    """Splits lines into words; an underscore is an empty word."""
    return tuple(
        "" if word == _NOTHING else word
        for line in lines
        for word in line.split()
    )


def group_replies(lines: Iterable[str]) -> list[list[str]]:
    """Groups each line with the replies after it, which begin with `>`."""
    result = []
    for line in lines:
        if line.startswith("> "):
            result[-1].append(line.removeprefix("> "))
        else:
            result.append([line])
    return result


def translations(lines: Sequence[str]) -> list[tuple[str, str]]:
    """Pairs each line with its translation, the line after it."""
    return list(zip(lines[::2], lines[1::2], strict=True))


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
    """Returns the slots of a pattern, in order."""
    return [slot for _, slot, _ in _parse(pattern)[0]]


def fill(pattern: str, text_of: Callable[[Slot], str]) -> str:
    """Fills the slots of a pattern with texts, from left to right."""
    parts, rest = _parse(pattern)
    result = []
    for before, slot, written in parts:
        text = text_of(slot)
        result += [before, text.capitalize() if written[1].isupper() else text]
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
    plurals of both. An adjective with an asterisk means its four forms.

    Args:
        text: A text whose slots are filled.
        fillers: By slot, its filler: objects with the attributes `feminine` and
            `plural`.
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


@functools.lru_cache(maxsize=4096)
def _parse(pattern):
    """Returns each slot with the text before and its spelling; and the rest."""
    parts, end = [], 0
    for match in _SLOT.finditer(pattern):
        type = match[1].lower()
        slot = Slot(type + match[2], type, match[3] or "")
        parts.append((pattern[end : match.start()], slot, match[0]))
        end = match.end()
    return parts, pattern[end:]
