"""Reports of filled entries, the most urgent ones on top."""

import csv
import html
import io
import pathlib
import re
import string
from collections.abc import Sequence

from tfcopy.atomic_files import write_atomically
from tfcopy.serving.catalogs.entries import Skipped
from tfcopy.terminal import printable

_COLUMNS = ("file", "line", "source", "translation", "score", "remarks")
_PAGE = pathlib.Path(__file__).with_name("report.html")
# Kinds of outcomes, the most urgent first, and their titles on the page.
_KINDS = {
    "left": "left as they are",
    "told": "with a remark",
    "model": "by the model",
    "memory": "from memory",
}


def write(path, rows: Sequence, quality: str | None = None):
    """Writes a report: a page if the path ends in .html, otherwise TSV.

    Args:
        path: Path of the file, which is replaced as a whole.
        rows: `Row`s of catalogues.
        quality: A sentence about the model, for the page.
    """
    rows = sorted(rows, key=_urgency)
    if str(path).lower().endswith((".html", ".htm")):
        text = _page(rows, quality or "")
    else:
        lines = io.StringIO()
        table = csv.writer(lines, "excel-tab", lineterminator="\n")
        table.writerow(_COLUMNS)
        for cells in map(_cells, rows):
            table.writerow([_FORMULA.sub(r"'\g<0>", x) for x in cells])
        text = lines.getvalue()
    write_atomically(path, lambda file: file.write(text.encode()))


# Beginnings of cells that a spreadsheet would evaluate (OWASP), but not scores;
# also in full-width forms.
_FORMULA = re.compile(r"\A\s*[-=+@＝＋－＠](?![0-9]+\.[0-9]+\Z)")


def _kind(row):
    if isinstance(row.outcome, Skipped):
        return "left"
    if row.outcome.lost or row.outcome.issues:
        return "told"
    return "model" if row.outcome.score is not None else "memory"


def _urgency(row):
    rank, shown = list(_KINDS).index(_kind(row)), _get_shown(row)
    return rank, shown.confidence or 0.0, shown.score or 0.0


def _get_shown(row):
    """Returns the outcome of a row, or the rejected suggestion."""
    return getattr(row.outcome, "suggestion", None) or row.outcome


def _cells(row):
    """Returns the texts of a row, without invalid characters."""
    entry, shown = row.entry, _get_shown(row)
    texts = [x for x in (entry.singular, entry.plural) if x is not None]
    told = dict.fromkeys([*row.outcome.remarks, *shown.remarks])
    cells = (
        row.file,
        str(entry.start + 1),
        "\n".join(texts),
        "\n".join(x for _, x in sorted(shown.forms.items())),
        "" if shown.score is None else shown.trust or f"{shown.score:.2f}",
        "\n".join(x for x in told if not x.startswith("score ")),
    )
    return ["\n".join(map(printable, x.split("\n"))) for x in cells]


def _page(rows, quality):
    kinds = [_kind(row) for row in rows]
    summary = f"{len(rows):,} entries: " + ", ".join(
        f"{kinds.count(kind):,} {name}" for kind, name in _KINDS.items()
    )
    made = [
        f'<tr class="{kind}">'
        + "".join(f'<td dir="auto">{html.escape(x)}</td>' for x in _cells(row))
        + "</tr>"
        for kind, row in zip(kinds, rows)
    ]
    return string.Template(_PAGE.read_text(encoding="utf-8")).substitute(
        summary=html.escape(summary),
        quality=html.escape(quality),
        head="".join(f"<th>{x}</th>" for x in _COLUMNS),
        rows="\n".join(made),
    )
