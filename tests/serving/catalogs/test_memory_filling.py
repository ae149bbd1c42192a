"""Catalogues filled from memory first, and the report of what was done."""

import csv
import re

import html5lib
import polib
import pytest

from tests import beside
from tests.serving.catalogs.catalogs import HEADER

OPEN, MEMORY = beside.read(__file__, "open.po", "memory.po")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "a.po").write_text(HEADER + OPEN)
    (tmp_path / "old.po").write_text(HEADER + MEMORY)
    return tmp_path


def test_a_folder_of_compiled_catalogues_is_a_memory(folder, fill, model):
    for language in ("es", "fr"):
        path = folder / "locale" / language / "LC_MESSAGES" / "old.mo"
        path.parent.mkdir(parents=True)
        text = (HEADER + MEMORY).replace("Use %s", f"Use {language}")
        polib.pofile(text).save_as_mofile(path)
    status, out, error = fill(folder / "a.po", "--memory", folder / "locale")
    assert (status, error) == (0, "")
    assert out.splitlines() == [
        f"{folder / 'locale'}: catalogues in es: 1.",
        f"{folder / 'a.po'}: 4 entries filled, 2 of them from memory.",
    ]
    assert model.asked == ["Open the file", "Use %s"]
    assert "# tfcopy: from old.mo" in (folder / "a.po").read_text()
    status, out, error = fill(path, "--memory", folder / "a.po")
    assert (status, out) == (2, "") and "compiled catalogue (.mo)" in error


def test_what_is_known_is_not_asked(folder, fill, model):
    status, out, error = fill(folder / "a.po", "--memory", folder / "old.po")
    assert (status, error) == (0, "")
    assert "4 entries filled, 3 of them from memory, 1 of them with lost" in out
    assert model.asked == ["Open the file"]
    assert (folder / "a.po").read_text() == HEADER + OPEN.replace(
        'msgid "Save"\nmsgstr ""',
        '# tfcopy: from a.po\nmsgid "Save"\nmsgstr "Guardar"',
        1,
    ).replace(
        'msgid "%d file"', '# tfcopy: from old.po\nmsgid "%d file"'
    ).replace(
        'msgstr[0] ""\nmsgstr[1] ""',
        'msgstr[0] "%d archivo"\nmsgstr[1] "%d archivos"',
    ).replace(
        'msgid "Open the file"\nmsgstr ""',
        "# tfcopy: score -1.62\n#, fuzzy\n"
        'msgid "Open the file"\nmsgstr "OPEN THE FILE"',
    ).replace(
        '#, c-format\nmsgid "Use %s"\nmsgstr ""',
        "# tfcopy: from old.po\n# tfcopy: lost %s\n# tfcopy: + %d\n"
        '#, fuzzy, c-format\nmsgid "Use %s"\nmsgstr "Usa %d"',
    )


def test_what_is_like_it_is_told(folder, fill):
    arguments = folder / "a.po", "--memory", folder / "old.po", "--fuzzy", "80"
    assert fill(*arguments)[0] == 0
    remark = '# tfcopy: 83 % like "Open a file", which is "Abrir <un> archivo"'
    assert f"{remark} in old.po\n" in (folder / "a.po").read_text()


def test_unlikely_translations_leave_no_trace(folder, fill):
    (folder / "b.po").write_text(HEADER + 'msgid "Open it"\nmsgstr ""\n')
    before = (folder / "b.po").read_bytes()
    status, out, _ = fill(folder / "b.po", "--min_score", "-0.5")
    assert status == 0 and (folder / "b.po").read_bytes() == before
    assert "left as they are: 1 with a score below --min_score" in out
    report = folder / "r.tsv"
    fill(folder / "b.po", "--min_score", "-0.5", "--report", report)
    assert _rows(report)[0][3:] == [
        *("OPEN IT", "-0.88"),
        "left as it is: with a score below --min_score",
    ]
    assert fill(folder / "b.po", "--min_score", "-9")[0] == 0
    assert 'msgstr "OPEN IT"' in (folder / "b.po").read_text()


def test_a_calibrated_model_tells_what_is_likely_right(folder, fill, model):
    scores = {"right": 40.0, "bleu": 9.0, "chrf": 30.0}
    scores["calibration"] = [[-2.0, 0.1], [-1.0, 0.9]]
    model.config["scores"] = scores
    (folder / "b.po").write_text(
        HEADER + 'msgid "Open it"\nmsgstr ""\n\n'
        'msgid "Open the files there"\nmsgstr ""\n\n'
        'msgid "Save it\\nOpen it\\nOpen"\nmsgstr ""\n'
    )
    path, report = folder / "b.po", folder / "r.html"
    status, out, _ = fill(path, "--min_score", "0.5", "--report", report)
    assert status == 0
    assert "2 entries filled; left as they are: 1 with a score below" in out
    sentence = (
        "Of the translations of texts held out of its catalogues, 40 % were "
        "right as they stood (BLEU 9.0, chrF 30.0). Expect to write most of "
        "them anew."
    )
    assert out.endswith(f"{sentence}\n") and sentence in report.read_text()
    assert "# tfcopy: score -0.88 (likely right, 90%)\n" in path.read_text()
    assert [row[4] for row in _rows(report)] == [
        "do not trust, 10%",
        "look, 73%",  # All three lines must be right.
        "likely right, 90%",
    ]
    status, _, error = fill(path, "--min_score", "2")
    assert (
        status == 2 and "a share of at most 1, since shouting is cal" in error
    )
    del model.config["scores"]
    status, _, error = fill(path, "--min_score", "0.5")
    assert (
        status == 2 and "at most 0, since shouting is not calibrated" in error
    )


def _rows(path):
    """The rows of a report, without its head."""
    text = path.read_bytes().decode()
    if path.suffix == ".html":
        page = html5lib.parse(text, namespaceHTMLElements=False)
        rows = [x.findall("td") for x in page.iter("tr")]
        return [["".join(y.itertext()).strip() for y in x] for x in rows if x]
    return list(csv.reader(text.splitlines(True), "excel-tab"))[1:]


@pytest.mark.parametrize("name", ["report.html", "odd ü.tsv"])
def test_a_report_shows_what_to_look_at_first(folder, fill, name):
    path = folder / "reports" / name
    arguments = ["--memory", folder / "old.po", "--fuzzy", "80"]
    assert fill(folder / "a.po", *arguments, "--report", path)[0] == 0
    rows = _rows(path)
    if path.suffix == ".html":
        text = path.read_text("utf-8")
        assert "4 entries: 0 left as they are, 1 with a remark" in text
        # No line number is broken in two.
        assert "td:nth-child(2), td:nth-child(5) { white-space: nowrap" in text
    assert [row[2].split("\n")[0] for row in rows] == [
        "Use %s",
        "Open the file",
        "Save",
        "%d file",
    ]
    assert rows[1][3:5] == ["OPEN THE FILE", "-1.62"]
    assert "Abrir <un> archivo" in rows[1][5]
    assert rows[3][3] == "%d archivo\n%d archivos" and rows[3][4] == ""
    lines = (HEADER + OPEN).split("\n")
    for row in rows:
        assert row[2].split("\n")[0] in lines[int(row[1]) - 1]


@pytest.mark.parametrize("name", ["a.html", "a.tsv"])
@pytest.mark.parametrize(
    "text, shown",
    [
        ("A \\xD800 file", "A \\ud800 file"),
        ("A \\xDCFF\\x1B[2J\\x9B\\000 z", "A \\udcff [2J   z"),
        ("=HYPERLINK(1)", "'=HYPERLINK(1)"),
        ("+1 a", "'+1 a"),
        ("-cmd|x", "'-cmd|x"),
        ("@SUM(1)", "'@SUM(1)"),
        ("\\t\\r =1 a", "'   =1 a"),
        ("＝1 a", "'＝1 a"),
        ("<script>a", "<script>a"),
    ],
)
def test_a_report_holds_whatever_is_in_a_catalogue(
    folder, fill, name, text, shown
):
    entry = f'msgid "{text}"\nmsgstr ""\n\nmsgid "b"\nmsgstr "\\xDC00"\n'
    (folder / "b.po").write_text(HEADER + entry)
    path = folder / name
    status, _, error = fill(folder / "b.po", "--report", path)
    assert (status, error) == (0, "")
    (row,) = _rows(path)
    if path.suffix == ".html":  # which is no spreadsheet
        shown = shown.removeprefix("'").strip()
    assert row[2] == shown and row[3][:1] == shown[:1]
    # What is known of a text that is like it is told on one line as well.
    (folder / "c.po").write_text(HEADER + 'msgid "b"\nmsgstr ""\n')
    memory = folder / "c.po", "--memory", folder / "b.po"
    assert fill(*memory, "--report", path)[0] == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("--memory none.po", "--memory: cannot read none.po"),
        ("--memory {0}/bad.tmx", "--memory: .*bad.tmx, line 1: not valid XML"),
        ("--report {0}/a.po", "--report: .*a.po is the file of FILE"),
        ("--report {0}/old.po --memory {0}/old.po", "the file of --memory"),
        ("--report {0}", "--report: cannot write .*it is a folder"),
    ],
)
def test_bad_files_are_named_and_nothing_is_changed(
    folder, fill, arguments, message
):
    (folder / "bad.tmx").write_text("tmx")
    before = (folder / "a.po").read_bytes()
    arguments = arguments.format(folder).split()
    status, _, error = fill(folder / "a.po", "--language", "es", *arguments)
    assert status == 2 and len(error.splitlines()) == 1
    assert re.search(message, error), error
    assert (folder / "a.po").read_bytes() == before


def test_flags_that_need_others(folder, fill, capfd, without):
    with pytest.raises(SystemExit):
        fill(folder / "a.po", "--fuzzy", "80")
    assert "--fuzzy needs a --memory" in capfd.readouterr().err
    without("rapidfuzz")
    status, _, error = fill("a.po", "--memory", "x", "--fuzzy", "80")
    assert status == 2 and error == (
        "translate_po: rapidfuzz is not installed: pip install "
        '-e ".[catalogs]" in a clone of tfcopy\n'
    )
    with pytest.raises(SystemExit):
        fill(folder / "a.po", "--memory", "x", "--fuzzy", "0")
    assert "--fuzzy" in capfd.readouterr().err
