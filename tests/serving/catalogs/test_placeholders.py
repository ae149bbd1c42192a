"""Placeholders of every format are kept by a model that knows three."""

import itertools
import pathlib
import random
import re

import polib
import pytest
import re2

from tests.data.text.test_span_formats import PLACEHOLDERS
from tests.growth import check_linear
from tests.serving.catalogs import catalogs
from tests.serving.catalogs.catalogs import HEADER, quoted, write
from tfcopy.data.text.segments import mask
from tfcopy.data.text.span_patterns import ORDERED, spans_of
from tfcopy.runtime import remote_model


def catalog(entries):
    """A catalogue of pairs of flags and a source."""
    return HEADER + "".join(
        f'#, {flags or "max-length:99"}\nmsgctxt "{number}"\n'
        f'msgid {quoted(text)}\nmsgstr ""\n\n'
        for number, (flags, text) in enumerate(entries)
    )


def check_without_fuzzy(path):
    text = pathlib.Path(path).read_text()
    new = path.replace(".po", ".done.po")
    write(pathlib.Path(new), re.sub(r"#, fuzzy(?:, )?", "#, ", text))
    catalogs.check_with_msgfmt(path)
    catalogs.check_with_msgfmt(new)


def answers(path):
    return [entry.msgstr for entry in polib.pofile(path)]


@pytest.mark.parametrize("name", sorted(PLACEHOLDERS))
def test_placeholders_of_a_flag_are_kept(tmp_path, fill, mangled, name):
    mangled()
    spans = PLACEHOLDERS[name].split()
    flag = f"{name}-format"
    texts = [f"word {x}, more {x}" for x in spans if x[0] != "'"]
    texts.append(f"all {' and '.join(spans)} of them")
    path = write(tmp_path / "a.po", catalog((flag, x) for x in texts))
    status, output, error = fill(path, "--strict")
    assert (status, error) == (0, "")
    assert output == f"{path}: {len(texts)} entries filled.\n"
    check_without_fuzzy(path)
    for text, answer in zip(texts, answers(path), strict=True):
        assert answer != text
        assert spans_of(answer, [flag]) == spans_of(text, [flag])


KINDS = [
    *("Throw ${count} away", "Hello %{name}, #{other}", "__count__ users"),
    *("Hello {{ user.name }}, you", "In %name% and %(count)ds of %dMB"),
    *("At {0:%H %M} or {a:>{b}}", "See http://a.org/b_(c), mail a@b.org."),
    *("<a href='x' title=\"a b\">Open</a> the <b>file</b> &amp; close",),
    *("Field %1 and %L2 of %@ at $HOME", "A :attr by @user"),
    *("See `the guide <https://example.org/x>`_ or [it](https://e.org)",),
    *("Use ``a b`` in :func:`x` of |release| [1]_",),
]


@pytest.mark.parametrize(
    "protect", [("rst", "printf", "brace"), ("html", "rst"), ("rst",)]
)
def test_spans_without_a_flag_are_kept(tmp_path, fill, mangled, protect):
    mangled(protect=protect)
    names = ["links", "rst", "html", "placeholders"]
    path = write(tmp_path / "a.po", catalog(("", x) for x in KINDS))
    status, output, _ = fill(path, "--strict")
    assert output == f"{path}: {len(KINDS)} entries filled.\n"
    assert status == 0
    for text, answer in zip(KINDS, answers(path), strict=True):
        assert answer != text
        assert spans_of(answer, names) == spans_of(text, names)
        assert answer.count("`") == text.count("`")
        assert answer.count("[") == text.count("[")


def test_the_branches_of_messages_of_icu_are_translated(
    tmp_path, fill, mangled
):
    mangled()
    texts = [
        "You have {count, plural, one {# file} other {# files}}.",
        "{who, select, male {He {n, plural, offset:1 =0 {has none} other "
        "{has # and {x}}}} other {They {y}}}",
        "{n, plural, one {broken}",
        "{n, selectordinal, few {#rd} other {#th}} of {a, b}",
    ]
    path = write(tmp_path / "a.po", catalog(("", x) for x in texts))
    fill(path)
    found = answers(path)
    assert found[0] == "YOU HAVE {count, plural, one {# FILE} other {# FILES}}."
    assert found[1] == (
        "{who, select, male {HE {n, plural, offset:1 =0 {HAS NONE} other "
        "{HAS # AND {x}}}} other {THEY {y}}}"
    )
    # No message: it has no end.
    assert "# tfcopy: unmatched }" in pathlib.Path(path).read_text()
    assert found[3].startswith("{n, selectordinal, few {# RD} other {# TH}} OF")


def test_what_changes_its_order_is_numbered(tmp_path, fill, mangled):
    mangled(order=lambda words: words[::-1])
    entries = {
        ("c-format", "as %s in %d"): "%2$d IN %1$s AS",
        ("c-format", "as %s in %s"): "%2$s IN %1$s AS",
        ("php-format", "as %s in %05d"): "%2$05d IN %1$s AS",
        ("python-brace-format", "as {} in {:d}"): "{1:d} IN {0} AS",
        ("objc-format", "as %@ in %d"): "%2$d IN %1$@ AS",
        ("c-format", "as %2$s in %1$d"): "%1$d IN %2$s AS",
        ("qt-format", "as %1 in %2"): "%2 IN %1 AS",
        ("python-format", "as %(a)s in %(b)s"): "%(b)s IN %(a)s AS",
        ("python-format", "as %s only"): "ONLY %s AS",
        # These cannot have numbers.
        ("python-format", "as %s in %d"): "",
        ("python-format", "as %s in %s"): "",
        ("lua-format", "as %s in %d"): "",
        ("c-format", "as %*d in %s"): "",
    }
    path = write(tmp_path / "a.po", catalog(entries))
    status, output, _ = fill(path, "--strict")
    assert answers(path) == [*entries.values()] and status == 1
    why = "its placeholders would be in another order"
    assert f"left as they are: 4 {why}." in output
    assert pathlib.Path(path).read_text().count(why) == 4
    check_without_fuzzy(path)


def test_what_cannot_have_numbers_is_asked_in_its_order(
    tmp_path, fill, mangled
):
    """A model that must copy says placeholders such as %1s in their order."""

    def in_turn(words):
        turns = iter([x for x in words if ordered.fullmatch(x)])
        words = words[::-1]
        return [next(turns) if ordered.fullmatch(x) else x for x in words]

    ordered = re2.compile(ORDERED)
    mangled(order=in_turn)
    entries = {
        ("python-format", "as %s in %d"): "%s IN %d AS",
        ("python-format", "as %s in %s"): "%s IN %s AS",
        ("python-format", "as %s in %s of <b>"): "<b> OF %s IN %s AS",
        ("lua-format", "as %s in %% %d"): "%s %% IN %d AS",
        ("c-format", "as %*d in %s"): "%*d IN %s AS",
        # Those that can have numbers may change places.
        ("c-format", "as %s in %d"): "%2$d IN %1$s AS",
        ("lisp-format", "as ~d in %9s at ~s"): "",  # %9s is text
    }
    path = write(tmp_path / "a.po", catalog(entries))
    fill(path)
    assert answers(path) == [*entries.values()]
    check_without_fuzzy(path)


@pytest.mark.parametrize("known", [("printf",), ()])
@pytest.mark.parametrize("name", ["elisp", "librep", "gfc-internal", "c"])
def test_mixed_with_numbers_the_order_is_what_msgfmt_takes(
    tmp_path, fill, mangled, name, known
):
    """Of formats in which one with a number tells the next one its own."""
    chance = random.Random(name)

    def shuffled(words):
        return chance.sample(words, len(words))

    own = [*PLACEHOLDERS[name].split(" "), "%1$s", "%2$s", "%d"]
    own = [x for x in own if spans_of(x, [f"{name}-format"]) == [x]]
    model = mangled(order=shuffled)
    model.config["source_tokenizer"]["protect"] = list(known)
    model.names = ["printf", f"{name}-format"]
    entries = [
        (f"{name}-format", " and ".join(chance.choices(own, k=count)))
        for count in (2, 3, 4)
        for _ in range(40)
    ]
    path = write(tmp_path / "a.po", catalog(entries))
    assert fill(path)[0] == 0
    done = [x for x in answers(path) if x]
    # What stays as it is, or is numbered.
    assert len(done) > 60
    assert len([x for x in done if re.search(r"%[34]\$", x)]) > 5
    check_without_fuzzy(path)


def test_signs_that_begin_a_placeholder_are_doubled(
    tmp_path, fill, model, mangled
):
    model = mangled()
    answer = model.answer
    model.answer = lambda text: answer(text) + " 100% d'un {x} ~"
    texts = [
        ("c-format", "a %d"),
        ("python-brace-format", "a {0}"),
        ("java-format", "a {0}"),
        ("scheme-format", "a ~a"),
        ("", "a"),
    ]
    path = write(tmp_path / "a.po", catalog(texts))
    fill(path)
    assert answers(path) == [
        "A %d 100%% d'un {x} ~",
        "A {0} 100% d'un {{x}} ~",
        "A {0} 100% d''un {x} ~",
        "A ~a 100% d'un {x} ~~",
        "A 100% d'un {x} ~",
    ]


def test_what_an_answer_adds_or_mixes_up_is_told(tmp_path, fill, mangled):
    changes = {
        "%s of": lambda words: [words[0], *words],
        "<b>": lambda words: words[::-1],
        "`": lambda words: [*words, "`"],
    }

    def order(words):
        return next(y for x, y in changes.items() if kind == x)(words)

    mangled(protect=("printf", "html", "rst"), order=order)
    found = []
    for kind, text in (
        ("%s of", "%s of %d"),
        ("<b>", "<b>a</b>"),
        ("`", "a b"),
    ):
        path = write(tmp_path / "a.po", catalog([("", text)]))
        status, output, _ = fill(path, "--strict")
        assert status == 1
        assert re.search("1 of them with (?:lost|other)", output)
        text = pathlib.Path(path).read_text()
        found.append(re.findall("# tfcopy: (?!score)(.*)", text))
    assert found == [["+ %s"], ["</b> before <b>"], ["unmatched `"]]


def test_a_server_is_asked_what_its_model_keeps(
    tmp_path, fill, mangled, monkeypatch
):
    model = mangled()
    model.config = {}
    model.__class__.__enter__ = lambda self: self
    model.__class__.__exit__ = lambda *_: None
    monkeypatch.setattr(remote_model, "RemoteModel", lambda *_, **__: model)
    text = catalog([("kde-format", "a %1"), ("", "b ${x}")])
    for flags, expected in (
        ([], ["A 1", "B {x}"]),
        (["--model_protect", "rst", "brace"], ["A %1", "B ${x}"]),
    ):
        path = write(tmp_path / "a.po", text)
        assert fill(path, *flags, model="http://h:1/x")[0] == 0
        assert answers(path) == expected
        assert ("lost %1" in pathlib.Path(path).read_text()) == (not flags)
    status, _, error = fill(path, "--model_protect", "(")
    assert status == 2 and "--model_protect: '('" in error


def test_what_a_flag_says_is_none_is_none(tmp_path, fill, mangled):
    mangled()
    entries = [
        ("no-c-format", "save 100%sure %1"),
        ("no-python-format, c-format", "save %d"),
        ("kde-format", "save 5%% %1"),
        ("python-brace-format", "a {x, plural, one {b} other {c}}"),
    ]
    path = write(tmp_path / "a.po", catalog(entries))
    status, output, _ = fill(path)
    text = pathlib.Path(path).read_text()
    assert status == 0 and text.count("# tfcopy: lost") == 0
    assert answers(path)[1:3] == ["SAVE %d", "SAVE 5 %% %1"]


def test_spans_side_by_side_are_found_again():
    """In answers in which a model writes no blank between them."""
    names = ["html", "options", "placeholders"]
    spans = ["%s", "%d", ":attr", "@user", "{0}", "--help", "-v", "<b>", "%1"]
    for pair in itertools.product(spans, repeat=2):
        question = mask("{} a {}".format(*pair), names, ["brace"])
        said = question.text.replace(" a ", "")
        answer = question.translation({question.text: said})
        assert spans_of(answer, names) == [*pair]
        assert answer.replace(" ", "") == "".join(pair)


@pytest.mark.parametrize("part", ["<x id='{}'/>a", "[a](b{}) ", "`a <b{}>`_ "])
def test_many_spans_take_no_longer_than_they_are(part):
    names = ("links", "rst", "html")

    def work(text):
        question = mask(text, names, ("placeholders",))
        assert question.translation({x: x for x in question.all}) == text

    def make(size):
        return "".join(part.format(i) for i in range(size // 16))

    check_linear(work, make, (1 << 13, 1 << 17))
