"""XLIFF 1.2 and 2: which units wait, and what a filled file looks like."""

import encodings.aliases
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import beside
from tfcopy.serving.catalogs.catalog_file import CatalogFile
from tfcopy.serving.catalogs.entries import Skipped, Suggestion
from tfcopy.serving.catalogs.xliff import fill_text, units_of

FIRST, SECOND = beside.read(__file__, "version_1.xlf", "version_2.xlf")


def suggested(text):
    return Suggestion({0: text}, -1.5, ("<b>",))


def outcomes(text, change):
    return {unit.key: change(unit.singular) for unit in units_of("f", text)}


def test_a_filled_file_of_version_1():
    def change(text):
        return suggested(text.replace("bold", "ñ & <").replace("A", "Un"))

    new = fill_text("f", FIRST, outcomes(FIRST, change))
    notes = (
        '<note from="tfcopy">score -1.50</note>',
        '<note from="tfcopy">lost &lt;b&gt;</note>',
    )
    source = re.search(r"<source>A.*?</source>", FIRST, re.DOTALL)[0]
    target = source.replace("bold", "ñ &amp; &lt;").replace("A ", "Un ")
    target = target.replace("<source>", "").replace("</source>", "</target>")
    state = 'target state="needs-review-translation"'
    # The blanks of a source are those of its text.
    expected = FIRST.replace(
        f"{source}\n",
        "\n    ".join([source, f"<{state}>{target}", *notes]) + "\n",
    )
    expected = expected.replace(
        '<target state="new">New</target><note from="tfcopy">old</note>',
        f"<{state}>New</target>{''.join(notes)}",
    )
    expected = expected.replace(
        "[Empty]]></source><target/>",
        f"[Empty]]></source><{state}>Empty</target>{''.join(notes)}",
    )
    assert new == expected
    ElementTree.fromstring(new)
    assert fill_text("f", new, outcomes(new, change)) == new


def test_a_filled_file_of_version_2():
    def change(text):
        return suggested(text.replace("Two", "Dos"))

    new = fill_text("f", SECOND, outcomes(SECOND, change))
    note = '<a:note category="tfcopy">score -1.50</a:note>'
    note += '<a:note category="tfcopy">lost &lt;b&gt;</a:note>'
    expected = SECOND
    for old, replaced in {
        "<a:originalData>": f"<a:notes>{note * 2}</a:notes><a:originalData>",
        'id="s1" state="initial"': 'id="s1" state="translated"',
        "</a:pc></a:source>": "</a:pc></a:source>\n   <a:target>One "
        '<a:pc id="1">b</a:pc></a:target>',
        "<a:segment><a:source>Two</a:source><a:target>Two<": "<a:segment state="
        '"translated"><a:source>Two</a:source><a:target>Dos<',
        "<a:notes><a:note>q": f"<a:notes>{note}<a:note>q",
        "<a:segment><a:source>Three</a:source>": "<a:segment state="
        '"translated"><a:source>Three</a:source><a:target>Three</a:target>',
    }.items():
        assert expected.count(old) == 1, old
        expected = expected.replace(old, replaced)
    assert new == expected
    assert fill_text("f", new, outcomes(new, change)) == new


@pytest.mark.parametrize("text", [FIRST, SECOND, FIRST.replace("\n", "\r\n")])
def test_what_is_left_says_why_once(text):
    def left(_):
        return Skipped("too long")

    once = fill_text("f", text, outcomes(text, left))
    assert once.count("left as it is: too long") == 3
    assert fill_text("f", once, outcomes(once, left)) == once
    note = r'\s*<(a:)?note (from|category)="tfcopy">[^<]*</(a:)?note>'
    without = re.sub(note, "", once)
    without = without.replace("<a:notes></a:notes>", "")
    assert without == re.sub(r'<note from="tfcopy">old</note>', "", text)


def test_the_ends_of_line_of_a_target_are_those_of_its_file():
    text = FIRST.replace("New<", "One\nT<x\n id='1'/>wo<")
    for end in ("\n", "\r\n"):
        own = text.replace("\n", end)
        new = fill_text("f", own, outcomes(own, suggested))
        assert new.count("T<") == 2
        assert {*re.findall(r"\r?\n", new)} == {end}


@pytest.mark.parametrize(
    "answer", ['<g id="7">a', '</g>a<g id="7">', '<x id="8"/></g>']
)
def test_elements_that_do_not_nest_are_not_written(answer):
    (unit, *_) = units_of("f", FIRST)
    assert unit.markup(answer) is None
    assert unit.markup('<x id="8"/> 1 < 2').decode() == "<x id='8'/> 1 &lt; 2"
    new = fill_text("f", FIRST, {unit.key: suggested(answer)})
    assert new.count("<target") == FIRST.count("<target")


TEXTS = st.text(
    st.characters(
        exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff"
    ),
    min_size=1,
)


@given(TEXTS, TEXTS)
def test_any_text_is_written_as_it_is(source, target):
    root = ElementTree.Element("xliff", version="1.2")
    unit = ElementTree.SubElement(root, "trans-unit")
    ElementTree.SubElement(unit, "source").text = source
    text = ElementTree.tostring(root, "unicode")
    new = fill_text(
        "f", text, outcomes(text, lambda _: Suggestion({0: target}, 0))
    )
    if not source.strip():
        assert new == text
        return
    found = ElementTree.fromstring(new).find("trans-unit")
    assert found.find("source").text == source
    assert found.find("target").text == target


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "utf-16-le", "utf-16-be", "latin-1"]
)
@pytest.mark.parametrize("text", [FIRST, SECOND])
def test_the_command_fills_files(tmp_path, fill, model, text, encoding):
    name = encoding.removesuffix("-sig").removesuffix("-le").removesuffix("-be")
    text = text.replace('encoding="UTF-8"', f'encoding="{name.upper()}"')
    if encoding == "latin-1" and "encoding=" not in text:
        pytest.skip("declares no encoding")
    mark = "\ufeff" * encoding.startswith("utf-16")
    path = tmp_path / "a ü.xlf"
    path.write_bytes((mark + text).encode(encoding))
    status, out, error = fill(path)
    assert (status, error) == (0, "") and "3 entries filled" in out
    assert sorted(model.asked) == sorted(
        x.singular for x in units_of("f", text) if x.is_open
    )
    found = ElementTree.fromstring(path.read_bytes().lstrip(b"\xef\xbb\xbf"))
    targets = [x for x in found.iter() if x.tag.endswith("}target")]
    assert "NEW" in [x.text for x in targets] or "TWO" in [
        x.text for x in targets
    ]
    before = path.read_bytes()
    assert fill(path)[:2] == (0, f"{path}: nothing to fill.\n")
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "encoding", ["utf-16-le", "utf-16-be", "utf-32-le", "utf-32-be"]
)
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_wide_characters_need_no_byte_order_mark(tmp_path, encoding, mark):
    path = tmp_path / "a.xlf"
    text = mark + FIRST.replace("UTF-8", "UTF-16").replace("New", "Ñew")
    for text in (text, mark + SECOND):
        path.write_bytes(text.encode(encoding))
        file = CatalogFile(path)
        assert file.charset == encoding.upper()
        keys = [x.key for x in file.open_entries]
        file.write({key: suggested("ñ") for key in keys})
        expected = fill_text("f", text, dict.fromkeys(keys, suggested("ñ")))
        assert path.read_bytes() == expected.encode(encoding)


def test_each_encoding_is_kept_or_refused(tmp_path, fill):
    path, statuses = tmp_path / "a.xlf", set()
    for name in {*encodings.aliases.aliases.values(), "idna", "undefined"}:
        before = FIRST.replace("UTF-8", name)
        path.write_text(before)
        status, _, error = fill(path)
        statuses.add(status)
        assert (path.read_text() == before) == bool(status), name
        assert bool(status) == (f"{path}, line 1: " in error), error
    assert statuses == {0, 2}


def test_a_file_of_other_languages_is_refused(tmp_path, fill):
    path = tmp_path / "a.xlf"
    path.write_text(FIRST)
    status, _, error = fill(path, "--language", "fr")
    assert status == 2 and re.search("a.xlf, line 1: .* in 'es'", error)
    again = FIRST.partition("<file")[2].partition("</xliff>")[0]
    other = again.replace('"es"', '"de"')
    path.write_text(FIRST.replace("</xliff>", f"<file{other}</xliff>"))
    status, _, error = fill(path)
    assert status == 2 and "a unit in 'de', and others in 'es'" in error


def test_the_path_of_a_file_completes_its_language(tmp_path, fill):
    path = tmp_path / "zh_TW.xlf"
    for field in ("", 'target-language="zh"'):
        path.write_text(FIRST.replace('target-language="es"', field))
        _, _, error = fill(path, "--language", "zh_CN")
        assert "'zh_TW', by its header or its path. Expected: 'zh_CN'" in error
