"""TMX, XLIFF, TBX and CSV: what is read, what is refused."""

import gzip
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcopy.data.corpora import text_pairs
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.text.exchange_formats import read_memory, read_terms
from tfcopy.data.text.glossary import Glossary

TMX = """<?xml version="1.0"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4"><header srclang="en-GB" segtype="sentence"/><body>
<tu><note>greeting</note><prop type="x">1</prop>
 <tuv xml:lang="en-GB"><seg>Hello <ph x="1">%s</ph>!</seg></tuv>
 <tuv xml:lang="es-ES"><seg>¡Hola <ph x="1">%s</ph>!</seg></tuv>
 <tuv xml:lang="es-MX"><seg>¿Qué tal?</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg><bpt i="1">&lt;b&gt;</bpt>Red<ept i="1">&lt;/b&gt;
</ept> &amp; <hi>new</hi><ph x="2"/></seg></tuv>
 <tuv lang="ES"><seg>Rojo</seg></tuv></tu>
<tu><tuv xml:lang="en"><seg>Only here</seg></tuv></tu>
</body></tmx>"""
XLIFF_1 = """<xliff version="1.2" xmlns="urn:oasis:names:tc:xliff:document:1.2">
<file source-language="en" target-language="es_ES" original="a"><body><group>
<trans-unit id="1"><source>A <g id="7">bold</g><x id="8"/></source>
 <target state="final">Un <g id="7">gordo</g><x id="8"/></target>
 <alt-trans><source>no</source><target>no</target></alt-trans></trans-unit>
<trans-unit id="2"><source>New</source><target state="new">New</target>
</trans-unit></group></body></file></xliff>"""
XLIFF_2 = """<xliff version="2.0" srcLang="en" trgLang="es"
 xmlns="urn:oasis:names:tc:xliff:document:2.0"><file id="f"><unit id="1">
<segment state="translated"><source>A <pc id="1">b</pc><cp hex="0009"/>
<mrk id="m" type="term">c</mrk></source><target>B</target></segment>
<ignorable><source> </source></ignorable>
<segment><source>Untranslated</source></segment></unit></file></xliff>"""
TBX = """<martif type="TBX"><text><body>
<termEntry id="1"><langSet xml:lang="en"><tig><term>printer</term></tig>
 <tig><term>printing device</term></tig></langSet>
 <langSet xml:lang="es"><tig><term>impresora</term></tig></langSet></termEntry>
<conceptEntry id="2"><langSec xml:lang="es"><termSec><term>imprenta</term>
 </termSec></langSec><langSec xml:lang="en-GB"><termSec><term>printer</term>
 </termSec></langSec></conceptEntry>
<termEntry id="3"><langSet xml:lang="en"><tig><term>ink</term></tig></langSet>
</termEntry></body></text></martif>"""


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def pairs(path, *languages):
    return [x for x in read_memory(path, *(languages or ("en", "es")))]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        (
            "a.tmx",
            TMX,
            [
                ("Hello %s!", "¡Hola %s!"),
                ('<b>Red</b>\n & new<ph x="2"/>', "Rojo"),
                ("", ""),
            ],
        ),
        (
            "a.xlf",
            XLIFF_1,
            [
                (
                    'A <g id="7">bold</g><x id="8"/>',
                    'Un <g id="7">gordo</g><x id="8"/>',
                ),
                ("", ""),
            ],
        ),
        (
            "a.xliff",
            XLIFF_2,
            [('A <pc id="1">b</pc>\t\nc', "B"), ("", "")],
        ),
    ],
)
@pytest.mark.parametrize("form", ["plain", "gzip", "utf-16"])
def test_units_of_two_languages_are_pairs(tmp_path, name, text, expected, form):
    data = text.encode()
    if form == "utf-16":
        data = text.replace('"1.0"', '"1.0" encoding="UTF-16"').encode(form)
    if form == "gzip":
        name, data = f"{name}.gz", gzip.compress(data)
    path = write(tmp_path / name, data)
    assert pairs(path) == expected
    turned = [(target, source) for source, target in expected]
    assert pairs(path, "es", "en") == turned


def test_a_region_is_chosen_by_its_code(tmp_path):
    path = write(tmp_path / "a.tmx", TMX)
    assert pairs(path, "en-gb", "es_MX")[0][1] == "¿Qué tal?"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TMX.replace("</tu>\n</body>", ""), "line 11: not valid XML"),
        ("Hello\tHola", "line 1: not valid XML"),
        ("", "line 1: not valid XML"),
        (TMX.replace('"es', '"de').replace('"ES', '"DE'), "no unit in both en"),
        ("<tmx/>", "There are: no units"),
        (b"<tmx>\xff</tmx>", "line 1: not valid XML"),
        (
            '<!DOCTYPE a [<!ENTITY a "%s">%s]><tmx>&j;</tmx>'
            % (
                "x" * 99,
                "".join(
                    f'<!ENTITY {y} "{f"&{x};" * 99}">'
                    for x, y in zip("abcdefghi", "bcdefghij")
                ),
            ),
            "not valid XML",
        ),
        (
            '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx>&a;</tmx>',
            "not valid XML",
        ),
    ],
    ids="cut text empty languages units bytes bomb entity".split(),
)
def test_what_is_no_memory_is_refused_by_name(tmp_path, text, message):
    path = write(tmp_path / "a b.tmx", text)
    with pytest.raises(ValueError, match=f"a b.tmx.*{message}"):
        pairs(path)
    with pytest.raises(CorpusError, match=f"a b.tmx.*{message}"):
        text_pairs.load((path,), source_language="en", target_language="es")


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=9)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=4))
def test_any_text_is_read_as_it_was_written(tmp_path_factory, texts):
    root = ElementTree.Element("tmx")
    body = ElementTree.SubElement(root, "body")
    for pair in texts:
        unit = ElementTree.SubElement(body, "tu")
        for language, text in zip(("en", "es"), pair):
            variant = ElementTree.SubElement(unit, "tuv", {"lang": language})
            ElementTree.SubElement(variant, "seg").text = text
    path = tmp_path_factory.mktemp("any") / "a.tmx"
    ElementTree.ElementTree(root).write(path, "utf-8")
    try:
        found = pairs(path)
    except ValueError as error:  # Unicode that XML does not have
        assert "not valid XML" in str(error)
        assert any(x in "\ufffe\uffff" for x in "".join(sum(texts, ())))
    else:
        assert found == texts


def test_a_corpus_is_held_out_of_a_memory(tmp_path):
    unit = (
        '<tu><tuv lang="en"><seg>{0}</seg></tuv><tuv lang="es"><seg>{0}s</seg>'
    )
    units = "".join(f"{unit.format(i)}</tuv></tu>" for i in range(40))
    path = write(tmp_path / "a.tmx", f"<tmx><body>{units}</body></tmx>")
    corpus = text_pairs.load(
        (path,), source_language="en", target_language="es"
    )
    found = [*corpus.train, *corpus.validation, *corpus.test]
    assert sorted(found) == sorted((f"{i}", f"{i}s") for i in range(40))
    assert len(list(corpus.train)) == 36
    lines, count = text_pairs.train_lines(
        (path,), source_language="en", target_language="es"
    )
    assert count == 40
    assert [f"{i}" for i in lines] == [source for source, _ in corpus.train]


# === Terms ===


def test_terms_of_tbx(tmp_path, capsys):
    path = write(tmp_path / "a.tbx", TBX)
    glossary = Glossary.load(path, ("en", "es"))
    assert glossary.terms == (
        ("printer", "impresora"),
        ("printing device", "impresora"),
    )
    assert "1 further translations" in capsys.readouterr().out
    with pytest.raises(ValueError, match="a.tbx: the languages"):
        Glossary.load(path)


@pytest.mark.parametrize("head", ["", "source,target\n", "EN,es\n"])
def test_terms_of_csv(tmp_path, head):
    text = f'{head}"printer, small",impresora\nink,"tinta ""negra"""\n'
    path = write(tmp_path / "a.csv", text)
    glossary = Glossary.load(path, ("en", "es"))
    assert glossary.terms == (
        ("printer, small", "impresora"),
        ("ink", 'tinta "negra"'),
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\nc\n", "line 2: expected a phrase and its translation"),
        ('a,"b\n', "line 1: not valid CSV"),
        (b"a,\xff\n", "not valid UTF-8"),
        ("a,b\na,c\n", "line 2: 'a' stands there twice"),
        ("a, \n", "line 1: a blank phrase"),
    ],
)
def test_bad_terms_are_named(tmp_path, text, message):
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(ValueError, match=f"a.csv.*{message}"):
        list(read_terms(path, ("en", "es")))
        Glossary.load(path)
