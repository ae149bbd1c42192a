"""Spans that an answer lost, added or mixed up are reported."""

import pytest

from tests.growth import check_linear
from tfcopy.data.text.answer_check import check, have_same_spans
from tfcopy.data.text.rst_markup import markup_of, separate_markup

ALL = ["rst", "html", "printf", "brace"]
AFTER = "a letter right after %s"
HALVES = [
    ('<bx id="4"/>', '<ex id="5"/>'),
    ('<bpt id="1"/>', '<ept id="1"/>'),
    ('<sc id="1"/>', '<ec id="2" startRef="1"/>'),
    ('<sm id="1"/>', '<em startRef="1"/>'),
    ('<x id="START_LINK_1"/>', '<x id="CLOSE_LINK"/>'),
]
B1, B2, E1, E2 = (f'<{x} id="{i}"/>' for x in ("bx", "ex") for i in (1, 2))


@pytest.mark.parametrize(
    "source, answer, names, remarks",
    [
        ("Open %s", "Abrir %s", "printf", []),
        ("Open %s of %s", "Abrir %s", "printf", ["lost %s"]),
        ("Open %s", "Abrir %s %s", "printf", ["+ %s"]),
        (
            "%(name)s",
            "%(nome)s",
            "printf",
            ["lost %(name)s", "+ %(nome)s for %(name)s"],
        ),
        ("%s in %d", "%d en %s", "c-format", ["in another order: %d %s"]),
        ("%s in %d", "%2$d en %1$s", "c-format", []),
        (
            "%s in %d",
            "%1$d en %2$s",
            "c-format",
            ["lost %s, %d", "+ %1$d for %d", "+ %2$s for %s"],
        ),
        ("%s in %s", "%s en %s", "c-format", []),
        ("%s in %d", "%d en %s", "python-format", ["in another order: %d %s"]),
        (
            "{} in {:d}",
            "{:d} en {}",
            "python-brace-format",
            ["in another order: {:d} {}"],
        ),
        (
            "%s in %1$s",
            "%1$s en %s",
            "elisp-format",
            ["in another order: %1$s %s"],
        ),
        ("%s in %1$s", "%1$s en %1$s", "elisp-format", []),
        # Numbered and not, which msgfmt refuses.
        ("%s in %d", "%1$s en %d", "c-format", ["lost %s", "+ %1$s for %s"]),
        (
            "%1$s in %2$d",
            "%s en %2$d",
            "c-format",
            ["lost %1$s", "+ %s for %1$s"],
        ),
        ("%1 in %2", "%2 en %1", "qt-format", []),
        ("<b>a</b>", "<b>x</b> y", "html", []),
        ("<b>a</b>", "</b>x<b>", "html", ["</b> before <b>"]),
        ("<b>a</b>", "<b>x", "html", ["lost </b>", "unmatched <b>"]),
        ("<b>a</b>", "x</b>", "html", ["lost <b>", "unmatched </b>"]),
        (
            "<b><i>a</i></b><br>",
            "<b><i>a</b></i><br>",
            "html",
            ["unmatched <i>", "unmatched </i>"],
        ),
        ("a<br/>b<p>c", "c<p>a<br/>", "html", []),
        *(
            (f"{x}a{y} b", f"{y}{x} b", "html", [f"{y} before {x}"])
            for x, y in HALVES
        ),
        # They may overlap, and Angular ends all links alike.
        (B1 + B2 + E1 + E2, B2 + E2 + B1 + E1, "html", []),
        (B1 + B2 + E1 + E2, B1 + E2 + B2 + E1, "html", [f"{E2} before {B2}"]),
        (
            '<x id="START_LINK"/>a<x id="CLOSE_LINK"/>'
            '<x id="START_LINK_1"/>b<x id="CLOSE_LINK"/>',
            '<x id="START_LINK_1"/>b<x id="CLOSE_LINK"/>'
            '<x id="START_LINK"/>a<x id="CLOSE_LINK"/>',
            "html",
            [],
        ),
        ("<b>a", "a", "html", ["lost <b>"]),
        ("a `b` c", "a `b c", "html", ["unmatched `"]),
        ("no `%s' in `b'", "« %s » manque dans « b »", "printf", []),
        ("no `%s' in `b`", "« %s » manque dans `b", "printf", ["unmatched `"]),
        ("no `%s`, as it isn't", "kein `%s`", "printf", []),
        ("`a b` takes no c", "`a b` n'accepte pas c", "printf", []),
        ("``add'' it", "»add«", "printf", []),
        ("run `a` first", "lancez `a d'abord", "printf", ["unmatched `"]),
        ("`%s' is", "`%s'ye", "printf", []),
        ("[a](b) (c)", "a](b) (c", "links", ["unmatched (", "unmatched ]"]),
        ('a "b"', "a «b»", "html", []),
        ("a “b”", "a „b“", "html", []),
        ("a “b” ‘c’", "a “b", "html", ["unmatched “"]),
        ("a (b)", "a（b）", "html", []),
        ('a "b"', 'a "b', "html", ['unmatched "']),
        ("a\n", "b", "html", ["other line breaks at the end"]),
        (" a", "a", "html", ["other blanks at the beginning"]),
        # docutils does not find what the patterns find.
        ("``a`` and ``b``", "``a``y``b``", "rst", ["lost ``a``, ``b``"]),
        ("``a`` b", "``a``b", "rst", ["lost ``a``"]),
        (
            "See `a <http://b>`_",
            "Ver a <http://b>`_",
            "rst",
            ["lost <http://b>`_", "unmatched `"],
        ),
        # Neither does it in this source, whose author errs.
        ("``a``s and :mod:`b`s", "``a``s y :mod:`b`s", "rst", []),
        ("|a| [1]_ :f:`x y`", ":f:`x y` |a| [1]_", "rst", []),
        # A placeholder that became part of a word.
        ("Query %s: %s", "Requête %sOrg : %s", "placeholders", [AFTER]),
        ("Query: {n}", "Requête{n}", "brace", ["a letter right before {n}"]),
        ("%s of %sMB", "%sMB de %sMB", "c-format", [AFTER]),
        ("%s of %sMB", "%2$sMB de %1$s", "c-format", []),
        ("{} of {:d}MB", "{1:d}MB de {0}", "python-brace-format", []),
        ("a%s %s", "%s b%s", "placeholders", []),
        ("%d of %d", "%d5 de %d", "placeholders", ["a letter right after %d"]),
        ("<b>a</b> %s", "a<b>b</b>c %s", "html placeholders", []),
        ("a ``x`` %s", "a b``x``c %s", "markdown placeholders", []),
        ("@@x a", "@@x.b @@y", r"@@\w", ["+ @@y"]),
        ("@@x a", "b@@x", r"@@\w", ["a letter right before @@x"]),
        # Scripts without blanks, endings, and words of one letter.
        ("version %s not", "版本%s不", "placeholders", []),
        ("%s was read by %s", "%sを%sが", "placeholders", []),
        ("%s was read", "อ่าน%sจาก", "placeholders", []),
        ("%s was read", "%s을(를) 읽음", "placeholders", []),
        ("%s was read", "%sను", "placeholders", []),
        ("by %s", "ب%s", "placeholders", []),
        ("by %s", "بواسطة%s", "placeholders", ["a letter right before %s"]),
        ("by %s", "पढ़ा%s", "placeholders", ["a letter right before %s"]),
        ("by %s", "a\u0301%s", "placeholders", ["a letter right before %s"]),
        ("%d column", "%dª columna", "placeholders", []),
        # The source, too, is of such a script.
        (
            "版本%s不",
            "version%snot",
            "placeholders",
            [AFTER, "a letter right before %s"],
        ),
    ],
)
def test_what_is_wrong_is_told(source, answer, names, remarks):
    found = check(source, answer, names.split()).remarks
    assert sorted(found) == sorted(remarks)


@pytest.mark.parametrize(
    "part", ["a", "`", ":a", "<b>", "%s ", "(", "``a`` ", "a%s"]
)
def test_long_texts_take_no_longer_than_they_are(part):
    check_linear(
        lambda text: check(text, text + part, [*ALL, "c-format"]),
        lambda size: part * (size // len(part)),
        (1 << 8, 1 << 11, 1 << 14),
    )


@pytest.mark.parametrize(
    "make",
    [
        lambda n: ("<b>" * n + "</b>" * n, "</b>" * n + "<b>" * n),
        lambda n: ("<b>" * n + "</b>" * n, "<b>" * n),
        lambda n: tuple(
            "".join(f"<x {y}={i}>" for i in range(n)) for y in "ab"
        ),
    ],
    ids=["turned", "open", "other"],
)
def test_mixed_up_tags_take_no_longer_than_they_are(make):
    def work(texts):
        assert check(*texts, ["html"]).remarks

    check_linear(work, make, (1 << 10, 1 << 14))


def test_docutils_reads_markup():
    assert markup_of(
        "Use ``a b``, :ref:`t <l>`, |xy|, `y`_ and `the *g* <http://e.org>`_."
    ) == [*("``a b``", ":ref:`t <l>`", "|xy|", "`y`_", "<http://e.org>`_")]
    assert markup_of("a``b``c `d` *e* :bad") == []
    assert markup_of("a" * 10_000) is None


SIGNS = [*map(chr, range(33, 127)), *"éß…«»“”‘’。、—–¿¡·「」（）【】中٠"]


def test_blanks_are_put_where_docutils_needs_them_alone():
    literal = "``x``"
    for sign in SIGNS:
        glued = f"a{sign}{literal} b"
        is_read = literal in markup_of(glued)
        assert (separate_markup(glued, [literal]) == glued) == is_read, sign
        assert literal in markup_of(separate_markup(glued, [literal])), sign
        glued = f"b {literal}{sign}a"
        is_read = literal in markup_of(glued)
        assert (separate_markup(glued, [literal]) == glued) == is_read, sign
        assert literal in markup_of(separate_markup(glued, [literal])), sign


def test_markup_is_put_apart():
    spans = ["``a``", ":f:`b`", "|xy|", "``a``"]
    assert separate_markup("y``a``:f:`b`z", spans) == "y ``a`` :f:`b` z"
    assert separate_markup("(``a``), |xy|s «``a``»-``a``", spans) == (
        "(``a``), |xy|\\ s «``a``»-``a``"
    )
    assert markup_of(separate_markup("|xy|s, |xy|s", spans)) == ["|xy|", "|xy|"]
    assert separate_markup("``a``sé|xy|", spans) == "``a`` sé |xy|"
    assert separate_markup("b%sc", ["%s"]) == "b%sc"
    assert separate_markup("", spans) == ""
    separated = separate_markup("y``a````a``z", spans)
    assert markup_of(separated) == ["``a``", "``a``"]
    target = "<https://a.org/x>`_"
    assert separate_markup(f"y`b c {target}z", [target]) == f"y `b c {target} z"
    assert separate_markup(f"(`b {target}).", [target]) == f"(`b {target})."
    assert markup_of(separate_markup(f"y`b {target}z", [target])) == [target]


def test_texts_with_the_same_placeholders():
    assert have_same_spans("%d file", "%d files", ["c-format"])
    assert not have_same_spans("One file", "%d files", ["fuzzy"])
    assert have_same_spans("%1 of %2", "of %2: %1", ["kde-format"])
    assert have_same_spans("a file", "files", [])
