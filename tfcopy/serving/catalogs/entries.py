"""Entries of a catalogue: read, and filled with what was found for them.

All other lines stay, byte for byte.
"""

import itertools
import re
from collections.abc import Mapping
from typing import NamedTuple

from tfcopy import filesystem
from tfcopy.data.corpora.catalog_lines import (
    Entry,
    decoded,
    entries_of,
    is_wrapped,
    lines_of,
)
from tfcopy.data.corpora.gettext_catalogs import Catalog, read_catalog
from tfcopy.serving.client_library.signatures import AskError
from tfcopy.terminal import printable

__all__ = ["Left", "Suggestion", "content_of", "decoded", "filled", "read"]

# Begins what an entry is told about itself.
_REMARK = "# tfcopy: "
_EOL = re.compile(r"\r?\n?$")


class Suggestion(NamedTuple):
    """A translation of an entry.

    Attributes:
        forms: Dict from the numbers of all its forms to their texts.
        score: The log-probability of the worst of the model's answers in it;
            `None` if it is not the model's.
        lost: The spans of the source that it does not have.
        told: What else is wrong with it, in words.
        origin: Where it is from, or what is like it, in words; "" if nowhere.
    """

    forms: dict[int, str]
    score: float | None
    lost: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    origin: str = ""
    is_told = True

    @property
    def is_fuzzy(self) -> bool:
        """Whether translators have to look at it."""
        return bool(self.score is not None or self.lost or self.told)

    @property
    def remarks(self) -> list[str]:
        """What translators are told about it, a line each."""
        lines = [self.origin] if self.origin else []
        if self.score is not None:
            lines.insert(0, f"score {self.score:.2f}")
        if self.lost:
            lines.append(f"lost {', '.join(self.lost)}")
        return [*lines, *self.told]


class Left(NamedTuple):
    """Why an entry is left as it is.

    Attributes:
        reason: In words.
        is_told: Whether a remark says so; if not, no line of it is changed.
        suggestion: The translation that was not taken, or `None`.
    """

    reason: str
    is_told: bool = True
    suggestion: Suggestion | None = None
    # As of a `Suggestion`.
    forms, score, lost, told = {}, None, (), ()

    @property
    def remarks(self) -> list[str]:
        """What translators are told about it, a line each."""
        return [f"left as it is: {self.reason}"]


def content_of(path) -> bytes:
    """What a file holds.

    Raises:
        AskError: naming it, if it cannot be read.
    """
    try:
        with filesystem.open(path, "rb") as file:
            return file.read()
    except OSError as error:
        reason = error.strerror or error
        raise AskError(f"{path}: cannot be read ({reason}).") from error


def read(path) -> Catalog:
    """Reads a catalogue in which each entry stands once.

    Raises:
        AskError: naming the line, if one stands there twice.
        CorpusError: naming the line, if it is no catalogue.
    """
    catalog = read_catalog(path)
    lines = {}
    for entry in catalog.entries:
        line = lines.setdefault(entry.key, entry.start + 1)
        if line != entry.start + 1:
            raise AskError(
                f"{path}, line {entry.start + 1}: the entry of line "
                f"{line} once more. `msguniq` removes one of them."
            )
    return catalog


def filled(path, text: str, outcomes: Mapping) -> str:
    """A catalogue whose open entries have what was found for them.

    Forms that have a translation keep it. Filled entries are fuzzy, as the
    model's suggestions are, unless a memory had them without a flaw; remarks
    are among their translators' comments.

    Args:
        path: The catalogue's, for messages.
        text: The catalogue.
        outcomes: Dict from keys of entries to a `Suggestion` or `Left`.

    Raises:
        CorpusError: If it is no catalogue.
    """
    lines = text.split("\n")
    wrap = is_wrapped(lines)
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    done = []
    # From the last, so that the numbers of lines before it stay true. What
    # stands after an entry is put aside, so that it need not be moved.
    for entry in reversed(entries_of(path, lines)):
        outcome = outcomes.get(entry.key)
        if outcome is not None and entry.is_open:
            end = max(place.stop for place in entry.places.values())
            done.append(lines[end:])
            del lines[end:]
            _fill(lines, entry, outcome, wrap)
    return "".join(itertools.chain(lines, *reversed(done)))


def _fill(lines, entry: Entry, outcome, wrap):
    forms = outcome.forms
    is_fuzzy = forms and outcome.is_fuzzy
    for number in sorted(entry.places, reverse=True):
        if not entry.translations[number] and number in forms:
            place = entry.places[number]
            new = lines_of(
                entry.keyword(number),
                forms[number],
                wrap=wrap and "no-wrap" not in entry.flags,
            )
            _replace(lines, place, new)
    if is_fuzzy and entry.flags_line is None:
        _replace(lines, _place_of_flags(lines, entry), ["#, fuzzy"])
    elif is_fuzzy:
        line = lines[entry.flags_line]
        line = re.sub(r"#,[ \t]*", "#, fuzzy, ", line, count=1)
        lines[entry.flags_line] = re.sub(r", (?=\s*$)", "", line)
    remarks = [_REMARK + printable(x) for x in outcome.remarks]
    old = [
        number
        for number in entry.comments
        if lines[number].lstrip().startswith(_REMARK)
    ]
    if [lines[number].strip() for number in old] != remarks:
        place = _place_of_remarks(lines, entry)
        _replace(lines, range(place, place), remarks)
        for number in reversed(old):
            del lines[number]


def _replace(lines, place, new):
    """Replaces lines by others, whose ends are the same."""
    # At the end of the file there may be none.
    ends = [_EOL.search(lines[x])[0] for x in place]
    usual = _EOL.search(lines[max(0, place.start - 1)])[0]
    last = ends[-1] if ends else usual
    lines[place.start : place.stop] = [
        *(line + usual for line in new[:-1]),
        new[-1] + last,
    ]


def _place_of_flags(lines, entry):
    """They come after all comments but the previous `msgid`."""
    place = entry.start
    while place - 1 in entry.comments and _kind(lines[place - 1]) == "#|":
        place -= 1
    return range(place, place)


def _place_of_remarks(lines, entry):
    """They come after the translators' comments, before all others."""
    place = entry.start
    for number in reversed(entry.comments):
        if _kind(lines[number]) == "# ":
            return number + 1
        place = number
    return place


def _kind(line):
    """How a comment begins; "# " if it is a translator's."""
    kind = line.strip()[:2]
    return kind if kind in ("#|", "#,", "#.", "#:") else "# "
