"""TMX, XLIFF, TBX and CSV: what is read, what is refused."""

import gzip
import unittest.mock
import xml.etree.ElementTree as ElementTree

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests import beside
from tests.growth import check_linear
from tfcopy.data.corpora import text_pairs
from tfcopy.data.corpora.corpus import CorpusError
from tfcopy.data.text import xml_units
from tfcopy.data.text.exchange_formats import (
    MemoryReport,
    read_memory,
    read_terms,
)
from tfcopy.data.text.glossary import Glossary

TMX, TBX, REGIONS = beside.read(
    __file__, "memory.tmx", "terms.tbx", "regions.tmx"
)


# A gigabyte to the fourth, if its entities were read.
BOMB = "<!DOCTYPE a [<!ENTITY a '{}'>{}]>".format(
    "x" * 99,
    "".join(
        f"<!ENTITY {y} '{f'&{x};' * 99}'>"
        for x, y in zip("abcdefghi", "bcdefghij")
    ),
)


def write(path, text):
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def pairs(path, *languages):
    return [x for x in read_memory(path, *(languages or ("en", "es")))]


@pytest.mark.parametrize("form", ["plain", "gzip", "utf-16"])
def test_units_of_two_languages_are_pairs(tmp_path, form):
    name, data = "a.tmx", TMX.encode()
    if form == "utf-16":
        data = TMX.replace('"1.0"', '"1.0" encoding="UTF-16"').encode(form)
    if form == "gzip":
        name, data = f"{name}.gz", gzip.compress(data)
    path = write(tmp_path / name, data)
    red = '<b>Red</b>\n & new<ph x="2"/>', "Rojo"
    expected = [("Hello %s!", "¡Hola %s!"), red, ("", "")]
    assert pairs(path) == expected
    turned = [(target, source) for source, target in expected]
    assert pairs(path, "es", "en") == turned


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TMX.replace("</tu>\n</body>", ""), "line 11: not valid XML"),
        ("Hello\tHola", "line 1: not valid XML"),
        ("", "line 1: not valid XML"),
        (TMX.replace('"es', '"de').replace('"ES', '"DE'), "no unit in both en"),
        ("<tmx/>", "There are: no units"),
        (b"<tmx>\xff</tmx>", "line 1: not valid XML"),
        *(
            (f'<?xml version="1.0" encoding="{x}"?><tmx/>', "line 1: not valid")
            for x in ("ISO-859-1", "Shift_JIS", "hex")
        ),
        (f"{BOMB}<tmx>&j;</tmx>", "not valid XML"),
        (
            '<!DOCTYPE a [<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx>&a;</tmx>',
            "not valid XML",
        ),
    ],
    ids="cut text empty languages units bytes unknown multibyte codec bomb "
    "entity".split(),
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


# === Damaged units, countries, odd shapes ===

UNIT = (
    '<tu><tuv xml:lang="en"><seg>a{0}b</seg></tuv>'
    '<tuv xml:lang="es"><seg>{0}c</seg></tuv></tu>\n'
)
DAMAGES = {
    "control character": UNIT.format("&#11;"),
    "raw control": UNIT.format("\x0b"),
    "entity": UNIT.format("&nbsp;"),
    "ampersand": UNIT.format(" & "),
    "tag": UNIT.format("<ph>"),
    "end tag": UNIT.format("</hi>"),
    "no end": UNIT.format("").replace("</tu>", ""),
    "attribute": UNIT.format('<ph x="1" x="2"/>'),
    "quote": UNIT.format('<ph x="1/>'),
    "prefix": UNIT.format("<x:ph/>"),
    "cdata": UNIT.format("<![CDATA["),
    "bytes": UNIT.format("\udcff"),
}


def in_tmx(*units):
    head = '<tmx version="1.4"><header srclang="en"/><body>\n'
    text = f"{head}{''.join(units)}</body></tmx>"
    return text.encode("utf-8", "surrogateescape")


@given(
    st.lists(st.sampled_from([None, *DAMAGES]), max_size=12),
    st.sampled_from(["", '<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n']),
    st.sampled_from([1, 40, 1 << 14]),
    st.sampled_from([1, 30, 1 << 14]),
)
@example([*DAMAGES], "", 1, 1 << 14)
@example(["no end"], "", 1, 1)
def test_a_damaged_unit_loses_no_other(
    tmp_path_factory, kinds, head, size, block
):
    path = tmp_path_factory.mktemp("any") / "a.tmx"
    texts = [f"{i}" * size for i in range(len(kinds))]
    units = [DAMAGES[x] if x else UNIT.format(y) for x, y in zip(kinds, texts)]
    write(path, head.encode() + in_tmx(UNIT.format(""), *units))
    report = MemoryReport()
    with unittest.mock.patch.object(xml_units, "_BLOCK", block):
        found = [x for x in read_memory(path, "en", "es", report) if any(x)]
    good = [y for x, y in zip(kinds, texts) if not x]
    assert found == [(f"a{x}b", f"{x}c") for x in ["", *good]]
    assert len(report.faults) == len(kinds) - len(good)
    lines = [n for n, x in enumerate(kinds, 3 + len(head.splitlines())) if x]
    for (told, _), line in zip(report.faults, lines):
        assert told in (line, line + 1)  # where the next unit begins
    if lines:
        assert f"damaged units left out: {len(lines)}," in report.remarks[0]


def test_a_long_root_is_not_read_again_for_each_damaged_unit(tmp_path):
    text = in_tmx(DAMAGES["entity"], UNIT.format("")).decode()
    path = write(tmp_path / "a.tmx", text.replace("1.4", "1" * 5_000))
    with pytest.raises(ValueError, match="a.tmx, line 2: not valid XML"):
        pairs(path)


@pytest.mark.parametrize("text", ["<![CDATA[", "<?x "])
def test_the_rest_of_a_file_is_not_read_for_each_of_its_units(tmp_path, text):
    units = UNIT.format(text + "x" * 20_000) * 200  # would be 400 MB
    path = write(tmp_path / "a.tmx", in_tmx(units))
    with pytest.raises(ValueError, match="a.tmx, line [0-9]+: .*unclosed"):
        pairs(path)


def test_damaged_units_are_counted(tmp_path, capsys):
    units = [UNIT.format(i) for i in range(30)]
    path = write(tmp_path / "a.tmx", in_tmx(DAMAGES["entity"], *units))
    languages = {"source_language": "en", "target_language": "es"}
    split = text_pairs.load((path,), **languages).train
    counts = text_pairs.count_split(split, split.num_pairs)
    assert counts["damaged"] == 1 and counts["blank"] == 0
    assert "1 left out (1 damaged)" in text_pairs.counts_line("train", counts)
    assert "damaged units left out: 1, the first in line 2" in (
        capsys.readouterr().out
    )
    path = write(tmp_path / "a.tmx", in_tmx(DAMAGES["entity"]))
    with pytest.raises(CorpusError, match="a.tmx, line 2: not valid XML"):
        text_pairs.load((path,), **languages)


@pytest.mark.parametrize(
    ("language", "expected", "told"),
    [
        ("pt", "trem onibus casa fato", "pt-br (2), pt (1), pt-pt (1)"),
        ("pt_BR", "trem onibus casa", "pt-br (2), pt (1)"),
        ("por-PT", "comboio autocarro casa fato", "pt-pt (3), pt (1)"),
    ],
)
@pytest.mark.parametrize("source", ["en", "ENG", "en_US"])
def test_countries_are_never_mixed_unsaid(
    tmp_path, source, language, expected, told
):
    path = write(tmp_path / "a.tmx", REGIONS)
    report = MemoryReport()
    found = [y.strip() for _, y in read_memory(path, source, language, report)]
    if source == "en_US":  # is not en-GB
        expected, told = expected.replace(" casa", ""), "pt-"
    assert " ".join(filter(None, found)) == expected
    assert told in " ".join(report.remarks) or source == "en_US"
    assert "en-us (1), en (" in report.remarks[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda n: UNIT.format("<hi>" * n + "</hi>" * n),
        lambda n: UNIT.format('<ph x="1"/>' * n),
        lambda n: UNIT.format(f'<ph x="{"a" * 20 * n}"/>'),
        lambda n: UNIT.format("a" * 20 * n),
        lambda n: f"<!--{'a' * 20 * n}-->",
        lambda n: "<tu>" * n + "</tu>" * n,
        lambda n: DAMAGES["entity"] * (n // 10),
        lambda n: f"<tu><tuv>{'<seg>' * n}{'</seg>' * n}</tuv></tu>",
    ],
    ids="nested flat attribute text comment units damaged segments".split(),
)
def test_any_shape_takes_no_longer_than_it_is(tmp_path, make):
    def work(path):
        assert pairs(path)[-1] == ("ab", "c")

    def made(size):
        return write(
            tmp_path / f"{size}.tmx", in_tmx(make(size // 20), UNIT.format(""))
        )

    check_linear(work, made, (1 << 13, 1 << 17))


@pytest.mark.parametrize("name", ["a.tmx", "a.tbx"])
@pytest.mark.parametrize("text", ["<tu/>", "<termEntry/>", "<g>" * 20_000])
def test_odd_shapes_name_the_file(tmp_path, name, text):
    path = write(tmp_path / name, text)
    read = {"a.tmx": pairs, "a.tbx": lambda x: [*read_terms(x, ("en", "es"))]}
    try:
        assert read[name](path) == []
    except ValueError as error:
        assert str(error).startswith(f"{path}")


# === Terms ===


@pytest.mark.parametrize("name", ["a.tbx", "A.TBX"])
def test_terms_of_tbx(tmp_path, capsys, name):
    path = write(tmp_path / name, TBX)
    assert Glossary.load(path, ("en", "es")).terms == (
        ("printer", "impresora"),
        ("printing device", "impresora"),
    )
    assert "1 further translations" in capsys.readouterr().out
    with pytest.raises(ValueError, match=f"{name}: the languages"):
        Glossary.load(path)


HEADS = ["", "source,target\n", "EN,es\n", "SourceTerm,TargetTerm\n"]
CSV = '"printer, small",impresora\nink,"tinta ""negra"""\n'


@pytest.mark.parametrize("head", [*HEADS, "en-US,es-MX\n", "eng,spa\n"])
@pytest.mark.parametrize("delimiter", ",;\t")
def test_terms_of_csv(tmp_path, head, delimiter):
    text = (head + CSV).replace(",", delimiter)
    terms = (
        (f"printer{delimiter.strip()} small", "impresora"),
        ("ink", 'tinta "negra"'),
    )
    for form in (text, "\ufeff" + text.replace("\n", "\r\n") + 2 * delimiter):
        path = write(tmp_path / "a.csv", form)
        assert Glossary.load(path, ("en", "es")).terms == terms
    four = text.replace("\n", f"{delimiter}en{delimiter}es-MX\n")
    path = write(tmp_path / "a.csv", four)
    assert Glossary.load(path, ("en", "es")).terms == terms


def test_without_languages_codes_are_a_head(tmp_path):
    for head in ("en,fr", "en-US,fr-FR", "eng_US,fra_FR"):
        path = write(tmp_path / "a.csv", f"{head}\ncat,gat\n")
        assert Glossary.load(path).terms == (("cat", "gat"),)
    path = write(tmp_path / "a.csv", "cat,gat\nit,es\n")
    assert Glossary.load(path).terms == (("cat", "gat"), ("it", "es"))
    path = write(tmp_path / "a.csv", "it,es\n")
    assert Glossary.load(path, ("en", "de")).terms == (("it", "es"),)


@pytest.mark.parametrize(
    ("line", "term"),
    [
        ("yes, sir;oui", ("yes, sir", "oui")),
        ("yes, sir\toui, tous", ("yes, sir", "oui, tous")),
        ("stop; wait,arrête", ("stop; wait", "arrête")),
        ("a,b;c", ("a", "b;c")),
    ],
)
def test_signs_before_blanks_separate_no_columns(tmp_path, line, term):
    path = write(tmp_path / "a.csv", f"{line}\n")
    assert Glossary.load(path).terms == (term,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\nc\n", "line 2: expected a phrase and its translation"),
        ("es-MX,en\na,b\n", "line 1: a term from es to en. Expected one from"),
        ('a,"b\n', "line 1: not valid CSV"),
        (b"a,\xff\n", "not valid UTF-8"),
        ("a,b\na,c\n", "line 2: 'a' is listed twice"),
        ("a, \n", "line 1: a blank phrase"),
        ("a;b;en;es\nc;d;en;fr\n", "line 2: a term from en to fr. Expected"),
        ("a,b,c\n", "line 1: expected a phrase .* 3 columns"),
    ],
)
def test_bad_terms_are_named(tmp_path, text, message):
    path = write(tmp_path / "a.csv", text)
    with pytest.raises(ValueError, match=f"a.csv.*{message}"):
        list(read_terms(path, ("en", "es")))
        Glossary.load(path)
