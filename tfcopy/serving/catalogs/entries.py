"""Entries of gettext catalogues: reading and filling.

All other lines stay the same, byte for byte.
"""

import itertools
import re
from collections.abc import Mapping
from typing import NamedTuple

from tfcopy import filesystem
from tfcopy.data.corpora.catalog_lines import (
    Entry,
    decode,
    entries_of,
    is_wrapped,
    lines_of,
)
from tfcopy.data.corpora.gettext_catalogs import Catalog, read_catalog
from tfcopy.evaluation.calibration import level
from tfcopy.runtime.signatures import ModelError
from tfcopy.terminal import printable

__all__ = ["Skipped", "Suggestion", "content_of", "decode", "fill_text", "read"]

# Prefix of remarks about an entry.
_REMARK = "# tfcopy: "
_EOL = re.compile(r"\r?\n?$")


class Suggestion(NamedTuple):
    """A translation of an entry.

    Attributes:
        forms: Dict from the numbers of its plural forms to their texts.
        score: Lowest log-probability of the model's answers in it; `None` for
            other sources.
        lost: Spans of the source that it lacks.
        issues: Other problems, in words.
        origin: Its source, or a similar text, in words; "" if none.
        confidence: Probability that it needs no edit; `None` if unknown.
    """

    forms: dict[int, str]
    score: float | None
    lost: tuple[str, ...] = ()
    issues: tuple[str, ...] = ()
    origin: str = ""
    confidence: float | None = None
    has_remark = True

    @property
    def is_fuzzy(self) -> bool:
        """Returns whether translators have to check it."""
        return bool(self.score is not None or self.lost or self.issues)

    @property
    def trust(self) -> str:
        """Returns the level of its confidence, and this in per cent."""
        share = self.confidence
        return "" if share is None else f"{level(share)}, {share:.0%}"

    @property
    def remarks(self) -> list[str]:
        """Returns the translator's comments about it, one per line."""
        lines = [self.origin] if self.origin else []
        if self.score is not None:
            trust = f" ({self.trust})" if self.trust else ""
            lines.insert(0, f"score {self.score:.2f}{trust}")
        if self.lost:
            lines.append(f"lost {', '.join(self.lost)}")
        return [*lines, *self.issues]


class Skipped(NamedTuple):
    """A reason to leave an entry as it is.

    Attributes:
        reason: The reason, in words.
        has_remark: Whether a remark states the reason; if not, no line changes.
        suggestion: The rejected translation, or `None`.
    """

    reason: str
    has_remark: bool = True
    suggestion: Suggestion | None = None
    # Same attributes as `Suggestion`.
    forms, score, lost, issues, confidence, trust = {}, None, (), (), None, ""

    @property
    def remarks(self) -> list[str]:
        """Returns the translator's comments about it, one per line."""
        return [f"left as it is: {self.reason}"]


def content_of(path) -> bytes:
    """Reads the content of a file.

    Raises:
        ModelError: If it cannot be read; the message names it.
    """
    try:
        return filesystem.read_bytes(path)
    except OSError as error:
        reason = error.strerror or error
        raise ModelError(f"{path}: cannot be read ({reason}).") from error


def read(path) -> Catalog:
    """Reads a catalogue without duplicate entries.

    Raises:
        ModelError: If an entry occurs twice; the message names the line.
        CorpusError: If it is not a catalogue; the message names the line.
    """
    catalog = read_catalog(path)
    if catalog.text is None:
        raise ModelError(
            f"{path} is a compiled catalogue (.mo). Give the .po file that it "
            "was made from, or make one by `msgunfmt`."
        )
    lines = {}
    for entry in catalog.entries:
        line = lines.setdefault(entry.key, entry.start + 1)
        if line != entry.start + 1:
            raise ModelError(
                f"{path}, line {entry.start + 1}: duplicate of the entry in "
                f"line {line}. Remove one of them, or run `msguniq`."
            )
    return catalog


def fill_text(path, text: str, outcomes: Mapping) -> str:
    """Returns a catalogue with open entries filled.

    Translated forms stay. Filled entries are fuzzy unless they come from a
    memory without problems. Remarks become translator's comments.

    Args:
        path: Path of the catalogue, for messages.
        text: Its content.
        outcomes: Dict from keys of entries to a `Suggestion` or `Skipped`.

    Raises:
        CorpusError: If it is not a catalogue.
    """
    lines = text.split("\n")
    wrap = is_wrapped(lines)
    lines = [f"{line}\n" for line in lines[:-1]] + lines[-1:]
    done = []
    # From last to first, so that earlier line numbers stay valid. Lines after
    # an entry are set aside, so that they are not moved again.
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
    """Replaces lines, keeping the line ends."""
    # The last line may have no end.
    ends = [_EOL.search(lines[x])[0] for x in place]
    usual = _EOL.search(lines[max(0, place.start - 1)])[0]
    last = ends[-1] if ends else usual
    lines[place.start : place.stop] = [
        *(line + usual for line in new[:-1]),
        new[-1] + last,
    ]


def _place_of_flags(lines, entry):
    """Returns the place of flags: after all comments but `#|`."""
    place = entry.start
    while place - 1 in entry.comments and _kind(lines[place - 1]) == "#|":
        place -= 1
    return range(place, place)


def _place_of_remarks(lines, entry):
    """Returns the place of remarks: after translator's comments."""
    place = entry.start
    for number in reversed(entry.comments):
        if _kind(lines[number]) == "# ":
            return number + 1
        place = number
    return place


def _kind(line):
    """Returns the marker of a comment; "# " for a translator's."""
    kind = line.strip()[:2]
    return kind if kind in ("#|", "#,", "#.", "#:") else "# "
