"""Sentence patterns with slots, used by all generated corpora.

`{person}` is a slot of the type `person`; a digit distinguishes slots of the
same type, `{person2}`; a dot precedes the form, `{person.last}`. A slot with a
capital, `{He}`, gets a capitalised filler.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

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
