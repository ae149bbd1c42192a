"""XLIFF of all shapes: read alike everywhere, filled, unchanged else."""

import gzip
import re
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import beside
from tests.data.text.test_exchange_formats import BOMB
from tests.growth import check_linear
from tfcopy.data.corpora import text_pairs
from tfcopy.data.text import xml_units
from tfcopy.data.text.exchange_formats import read_memory
from tfcopy.serving.catalogs.entries import Skipped, Suggestion
from tfcopy.serving.catalogs.xliff import fill_text, units_of

# All elements of OASIS's XLIFF 1.2 and 2.1, and the texts that wait in them.
FIRST, SECOND = beside.read(__file__, "standard_1.xlf", "standard_2.xlf")
TEXTS = {
    FIRST: [
        'Press <bpt id="1"/>OK<ept id="2"/> in <ph id="3"/> <it id="4"/>now'
        '<it id="4" n="2"/>.',
        'A <g id="1">big <g id="2"><x id="3"/> red</g></g> <bx id="4"/>one'
        '<ex id="5"/>, <mrk/> <mrk mid="6">hash</mrk>',
        "By Acme & Co since 1 < 2",
        "Go on. Stop.",
    ],
    SECOND: [
        'Press <pc id="1">OK <ph id="2"/></pc> now<cp hex="0007"/>\n   ',
        '<sc id="3"/>Not<ec startRef="3"/>\n   <mrk id="m1"/> <mrk id="m2">hash'
        '</mrk>\n   <sm id="m3"/>here<em startRef="m3"/>',
        " Three ",
    ],
}
FILE = (
    '<xliff version="{}" srcLang="en" trgLang="es"><file source-language="en" '
    'target-language="es" original="a" id="f">{}</file></xliff>'
)
UNIT = "<trans-unit><source>{}</source></trans-unit>"


def shouted(text):
    """A translation; markup stays."""
    parts = re.split(r"(<[^<>]*>)", text)
    parts[::2] = [x.upper() for x in parts[::2]]
    return "".join(parts)


def filled_by(text, translate=shouted, score=-1.0):
    units = units_of("f", text)
    found = {
        x.key: Suggestion({0: translate(x.singular)}, score) for x in units
    }
    return fill_text("f", text, found)


def kept(text):
    """A file without what filling may change."""
    for pattern in (
        r"(?s)\s*<target[^<>]*?(?:/>|>.*?</target>)",
        r'\s*<note (?:from|category)="tfcopy">.*?</note>',
        "<notes></notes>",
        ' (?:state|subState)="(?:initial|translated|my:new)"',
    ):
        text = re.sub(pattern, "", text)
    return text


@pytest.mark.parametrize("text", [FIRST, SECOND], ids=["1.2", "2.1"])
def test_files_of_the_standards_are_filled_and_nothing_else(text):
    units = [x for x in units_of("f", text) if x.is_open]
    assert [x.singular for x in units] == TEXTS[text]
    new = filled_by(text)
    assert kept(new) == kept(text)
    assert new.count(">no<") == text.count(">no<")
    ElementTree.fromstring(new)
    for unit in units:
        target = unit.markup(shouted(unit.singular)).decode()
        assert f">{target}</target>" in new
    assert not any(x.is_open for x in units_of("f", new))
    assert filled_by(new) == new


@pytest.mark.parametrize("text", [FIRST, SECOND], ids=["1.2", "2.1"])
@pytest.mark.parametrize("size", [1, 7, 200])
def test_blocks_of_any_size_give_the_same_places(monkeypatch, text, size):
    new = filled_by(text)
    monkeypatch.setattr(xml_units, "_BLOCK", size)
    assert filled_by(text) == new
    assert [x.start for x in units_of("f", text)] == [
        text[: x.source.start].count("\n") for x in units_of("f", text)
    ]


@pytest.mark.parametrize("text", [FIRST, SECOND], ids=["1.2", "2.1"])
def test_a_memory_of_a_file_has_all_its_units(tmp_path, text):
    new = filled_by(text)
    (tmp_path / "a.xlf.gz").write_bytes(gzip.compress(new.encode()))
    path = tmp_path / "a.xlf"
    path.write_text(new)
    known = dict(read_memory(path, "en", "es"))
    assert dict(read_memory(f"{path}.gz", "en", "es")) == known
    assert {y: x for x, y in read_memory(path, "es", "en")} == known
    for unit in units_of("f", text):
        if unit.is_open:
            assert known.pop(unit.singular) == shouted(unit.singular)
    assert known == {"Hello": "Hola", "": ""}


# === One reading, of any text ===

MARKUP = st.recursive(
    st.sampled_from(
        [
            *("a", " ", "&lt;x id='1'/&gt;", "&amp;", "<x id='1'/>", "&#169;"),
            *("<ph id='1'>%s</ph>", '<ph id="1">%d<sub>b</sub></ph>', "<x/>"),
            *("<mrk mid='1'/>", "<o:b xmlns:o='u'>c</o:b>", "<!-- d -->"),
            *("<mrk mtype='protected'>e</mrk>", "&lt;/g&gt;", "<it id='1'/>"),
        ]
    ),
    lambda inner: (
        st.builds(
            "<g id='{}' t=\"&gt;{}\">{}</g>".format,
            *(st.integers(1, 2), st.integers(1, 2), inner),
        )
        | st.lists(inner, max_size=4).map("".join)
    ),
    max_leaves=20,
)


@given(MARKUP)
def test_any_markup_stands_in_the_target_as_in_the_source(source):
    text = FILE.format("1.2", UNIT.format(source))
    (unit,) = units_of("f", text)
    expected = re.sub("<!--.*?-->", "", source).replace("&#169;", "\xa9")
    assert unit.markup(unit.singular).decode() == expected
    if not unit.is_open:
        assert not unit.singular.strip()
        return
    (again,) = units_of("f", filled_by(text, str))
    assert again.target_text == again.singular == unit.singular


INLINE = (
    '<trans-unit><source>Press <bpt id="1">&lt;b&gt;</bpt>OK<ept id="1">&lt;/b'
    "&gt;</ept> now.</source><target>{}</target></trans-unit>"
)
PRESS = 'Press <bpt id="1"/>OK<ept id="1"/> now.'


def test_training_memory_and_filling_read_alike(tmp_path, fill, model):
    done = re.search("<source>(.*)</source>", INLINE)[1].replace("now", "ya")
    paths = [tmp_path / name for name in ("a.xlf", "old.sdlxliff")]
    for path, target in zip(paths, ("", done)):
        path.write_text(FILE.format("1.2", INLINE.format(target)))
    languages = {"source_language": "en", "target_language": "es"}
    corpus = text_pairs.load((paths[1],), (paths[1],), (paths[1],), **languages)
    assert [*corpus.train] == [(PRESS, PRESS.replace("now", "ya"))]
    assert [x.singular for x in units_of("f", paths[0].read_text())] == [PRESS]
    status, out, _ = fill(paths[0], "--memory", paths[1])
    assert status == 0 and "1 entry filled, 1 of them from memory" in out
    assert model.asked == [] and f">{done}</target>" in paths[0].read_text()


@pytest.mark.parametrize(
    "unit",
    [
        "<segment><source>Hello.</source></segment><ignorable><source> "
        "</source><target> </target></ignorable><segment><source>World."
        "</source></segment>",
        '<m:matches xmlns:m="urn:oasis:names:tc:xliff:matches:2.0"><m:match>'
        "<source>Hello.</source><target>No</target></m:match></m:matches>"
        "<notes/><segment><source>Hello.</source></segment>",
    ],
    ids=["ignorable", "match"],
)
def test_the_command_fills_what_tools_write(tmp_path, fill, unit):
    path = tmp_path / "a.xlf"
    path.write_text(FILE.format("2.0", f'<unit id="u">{unit}</unit>'))
    status, _, error = fill(path)
    new = path.read_text()
    assert (status, error) == (0, "")
    assert new.count(">HELLO.</target></segment>") == 1
    assert new.count("<notes><note ") == 1 and "<notes/>" not in new
    ElementTree.fromstring(new)


@pytest.mark.parametrize("prefix", ["source:", "my-source:", "xlf:"])
def test_a_prefix_may_have_any_name(prefix):
    text = FILE.format("1.2", UNIT.format('<g id="1">a</g>'))
    text = re.sub("<(/?)", rf"<\1{prefix}", text)
    text = text.replace(" version", f" xmlns:{prefix[:-1]}='u' version")
    new = filled_by(text)
    assert filled_by(new) == new and kept(new.replace(prefix, "")) == kept(
        text.replace(prefix, "")
    )
    (unit,) = units_of("f", new)
    assert unit.target_text == '<g id="1">A</g>'


def test_what_xml_cannot_hold_spoils_no_file():
    text = FILE.format("1.2", UNIT.format("a&#13;&#10;b"))
    (unit,) = units_of("f", text)
    new = filled_by(text)
    (again,) = units_of("f", new)
    assert again.target_text == "A\r\nB"
    for char in "\0\x1f\ud800\ufffe\uffff":
        assert unit.objection(f"a{char}b") is not None
        new = fill_text("f", text, {unit.key: Skipped(f"a{char}b")})
        assert ElementTree.fromstring(new).find(".//note") is not None


def test_what_a_target_lacks_is_empty_and_its_segments_are_kept(tmp_path):
    source = "<source>Go on.</source><target>{}</target>"
    unit = f"<trans-unit>{source}</trans-unit>"
    mark = '<mrk mtype="seg" mid="{}"/>'
    for target in (
        mark.format(0).replace("/>", ">Go on.</mrk>"),
        mark.format(0),
    ):
        new = filled_by(FILE.format("1.2", unit.format(target)))
        assert '<mrk mtype="seg" mid="0">GO ON.</mrk></target>' in new
    text = FILE.format("1.2", unit.format(mark.format(0) + mark.format(1)))
    (open_unit,) = units_of("f", text)
    assert open_unit.is_open
    assert "several segments" in open_unit.objection("GO ON.")
    path = tmp_path / "a.xlf"
    path.write_text(new)
    assert [*read_memory(path, "en", "es")] == [("Go on.", "GO ON.")]


def test_a_file_without_a_language_has_none(tmp_path):
    unit = "<trans-unit><source>{}</source><target>{}</target></trans-unit>"
    text = FILE.format("1.2", unit.format("One", "Uno"))
    text = text.replace(' srcLang="en" trgLang="es"', "")
    other = f'<file source-language="en">{unit.format("Two", "Zwei")}</file>'
    path = tmp_path / "a.xlf"
    path.write_text(text.replace("</xliff>", f"{other}</xliff>"))
    assert [*read_memory(path, "en", "es")] == [("One", "Uno"), ("", "")]


def test_a_text_in_another_language_than_its_file_is_not_taken(tmp_path):
    unit = "<trans-unit><source {}>One</source><target {}>{}</target>"
    units = [
        unit.format(source, target, text) + "</trans-unit>"
        for source, target, text in (
            ("", "", "Uno"),
            ("", 'xml:lang="de"', "Eins"),
            ('xml:lang="ja"', "", "Un"),
            ('xml:lang="EN_gb"', 'xml:lang="es-MX"', "Una"),
        )
    ]
    path = tmp_path / "a.xlf"
    path.write_text(FILE.format("1.2", "".join(units)))
    found = [*read_memory(path, "en", "es")]
    assert found == [("One", "Uno"), ("", ""), ("", ""), ("One", "Una")]
    waiting = unit.format("", 'xml:lang="en"', "One") + "</trans-unit>"
    (open_unit,) = units_of("f", FILE.format("1.2", waiting))
    assert open_unit.language == "es"


# === Odd files ===


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            FILE.format("2.0", "\n<segment/>"),
            "line 2: a <segment> outside of a",
        ),
        (
            FILE.format("1.2", "\n<trans-unit><target/></trans-unit>"),
            "line 2: in",
        ),
        (
            FILE.format("1.2", "\n" + UNIT.format("a</source><source>")),
            "line 2: in",
        ),
        (FILE.format("1.2", UNIT.format("\n&nbsp;")), "line 2: not valid XML"),
        (
            '<!DOCTYPE a [<!ENTITY a "<g/>">]>\n'
            + FILE.format("1", UNIT.format("&a;")),
            "line 2: not valid XML .an element in an entity",
        ),
        (
            '<!DOCTYPE a [<!ENTITY a SYSTEM "/etc/passwd">]>\n'
            + FILE.format("1.2", UNIT.format("&a;")),
            "line 2: .* external entity",
        ),
        (
            '<!DOCTYPE a SYSTEM "http://localhost:1/a.dtd">\n'
            + FILE.format("1.2", UNIT.format("&a;")),
            "line 2: .*entity",
        ),
        (UNIT.format("a"), "line 1: <trans-unit> is the root"),
        ("<html/>", "line 1: not a file of XLIFF"),
        ("", "line 1: not valid XML"),
        (FIRST[:400], r"line \d+: not valid XML"),
        (BOMB + FILE.format("1.2", UNIT.format("&j;")), "line 1: not valid"),
    ],
    ids="segment target source undefined element external dtd root html "
    "empty cut bomb".split(),
)
def test_odd_files_are_refused_by_name_and_line(tmp_path, fill, text, message):
    path = tmp_path / "a b.xlf"
    path.write_text(text)
    for arguments in ((path,), (tmp_path / "b.xlf", "--memory", path)):
        (tmp_path / "b.xlf").write_text(FILE.format("1.2", UNIT.format("b")))
        status, _, error = fill(*arguments)
        assert status == 2 and len(error.splitlines()) == 1
        assert re.search(f"a b.xlf, {message}", error), error
    assert path.read_text() == text


def test_without_a_version_it_is_filled():
    text = FILE.format("", UNIT.format("b")).replace(' version=""', "")
    assert ">B</target>" in filled_by(text)
    assert filled_by("<xliff/>") == "<xliff/>"


@pytest.mark.parametrize(
    "make",
    [
        lambda n: UNIT.format("<x id='1'/>a" * n),
        lambda n: UNIT.format(
            "".join(f"<ph id='1'>{x}</ph>a" for x in range(n))
        ),
        lambda n: UNIT.format("a\n") * n,
        lambda n: UNIT.format("<g id='1'>" * n + "a" + "</g>" * n),
        lambda n: UNIT.format(f"a<ph>{'<sub>' * n}{'</sub>' * n}</ph>"),
        lambda n: "<group>" * n + UNIT.format("a") + "</group>" * n,
        lambda n: ("<group>" + UNIT.format("a")) * n + "</group>" * n,
        lambda n: UNIT.format("a") + "<b>" * n + "</b>" * n,
        lambda n: f"<unit>{'<segment><source>a</source></segment>' * n}</unit>",
        lambda n: UNIT.format(f'<x id="{"a" * 20 * n}"/>b'),
        lambda n: "<!--" + "a" * 20 * n + "-->" + UNIT.format("a"),
    ],
    ids="flat numbered units nested sub group groups foreign segments "
    "attribute comment".split(),
)
def test_any_shape_takes_no_longer_than_it_is(make):
    def work(text):
        assert filled_by(text) != text

    check_linear(
        work, lambda n: FILE.format("1.2", make(n // 20)), (1 << 13, 1 << 17)
    )


def test_only_what_somebody_has_translated_is_taken(tmp_path, fill, model):
    unit = '<trans-unit><source>a</source><target state="{}">{}</target>'
    units = [unit.format("new", "x"), unit.format("", "")]
    path = tmp_path / "a.xlf"
    path.write_text(FILE.format("1.2", "</trans-unit>".join([*units, ""])))
    with pytest.raises(ValueError, match="no unit in both en and es"):
        list(read_memory(path, "en", "es"))
    assert fill(path)[0] == 0 and model.asked == ["a"]
    assert path.read_text().count(">A</target>") == 1
