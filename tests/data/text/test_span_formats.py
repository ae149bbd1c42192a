"""The formats are what `msgfmt --check-format` takes them for."""

import os
import random
import shutil
import subprocess

import pytest
import re2

from tfcopy.data.text.span_formats import (
    FORMATS,
    SUFFIX,
    find_arguments,
    find_format,
    find_ordered,
)
from tfcopy.data.text.span_patterns import spans_of

HAS_MSGFMT = shutil.which("msgfmt") is not None
HEADER = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"

"""
# Each format's own placeholders, and what they may stand beside.
PLACEHOLDERS = {
    "c": "%s %d %5.2f %*d %1$s %<PRId64> %'d %ldKB %dMB %s_%s %%",
    "objc": "%@ %1$@ %s %%",
    "c++": "{} {0} {:5d} {0:>{1}} {{x}}",
    "python": "%s %(count)ds %(first_name)s %5.2f %ss %%",
    "python-brace": "{0} {name} {a.b[c]} {x:%H:%M} {x:>{w}} {n!r:>5}",
    "java": "{0} {0,number,#.##} {1,choice,0#no{2}|1#one} '{0}' it''s "
    "'x' {0} '{'",
    "java-printf": "%s %1$tY %,d %<s %-<5d %n %%",
    "csharp": "{0} {0,-10:N2} {{0}}",
    "javascript": "%s %j %.2f %%",
    "scheme": "~a ~5d ~{~a~} ~~",
    "lisp": "~a ~5d ~{~a~} ~~",
    "elisp": "%s %1$S %d %%",
    "librep": "%s %1$S %d %%",
    "rust": "{} {0} {name} {x:>5} {{x}}",
    "go": "%v %[1]d %+v %6.2f %%",
    "ruby": "%s %<price>.2f %-5<n>s %-5.1<n>f %{name} %-5{x} %%",
    "sh": "$name ${name} $_x",
    "sh-printf": "%s %5d %%",
    "awk": "%s %1$s %5d %%",
    "lua": "%q %s %.3f %%",
    "object-pascal": "%s %0:d %-5.2f %%",
    "modula2": "%s %5d %%",
    "d": "%s %1$d %%",
    "smalltalk": "%1 %2",
    "qt": "%1 %L2 %10",
    "qt-plural": "%n %Ln",
    "kde": "%1 %2 %10",
    "kde-kuit": "%1 %2",
    "boost": "%1% %|2$5| %|-s| %s %%",
    "tcl": "%s %1$d %ld %%",
    "perl": "%s %vd %1$s %-5d %%",
    "perl-brace": "{name} {x_1}",
    "php": "%s %1$s %'*10d %%",
    "gcc-internal": "%s %qs %+D %1$s %<x%> %%",
    "gfc-internal": "%s %C %L %1$d %%",
    "ycp": "%1 %2 %%",
}
# gettext 0.21 does not know them; it ignores flags that it does not know.
NEWER = {"c++", "rust", "go", "sh-printf", "modula2", "d"}
BITS = "% { } ~ $ 0 1 2 5 : . * - + # ( ) < > | [ ] l s d x n o q D @ L v t f"
BITS = [*BITS.split(), " ", "'", "%%", "{{", "}}", "''", "PRId64", "name", "é"]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def told_by_msgfmt(folder, name, pairs):
    """Returns its message about each pair of `msgid` and `msgstr`."""
    text, lines = HEADER, []
    for number, (source, target) in enumerate(pairs):
        text += f'#, {name}{SUFFIX}\nmsgctxt "{number}"\n'
        text += f"msgid {quoted(source)}\n"
        lines.append(text.count("\n") + 1)
        text += f"msgstr {quoted(target)}\n\n"
    path = folder / f"{name}.po"
    path.write_text(text)
    done = subprocess.run(
        ["msgfmt", "--check-format", "--output-file=/dev/null", path],
        capture_output=True,
        text=True,
        env={**os.environ, "LC_ALL": "C.UTF-8"},
    )
    told = [line.split(":", 2) for line in done.stderr.split("\n")]
    told = {x[1]: x[2] for x in told if x[0] == str(path)}
    return [told.get(str(line), "") for line in lines]


def texts_of(name, count=150):
    chance = random.Random(name)
    own = PLACEHOLDERS[name].split(" ")
    # Java's quotes would reach over words.
    bits = [x for x in BITS if x != "'" or name != "java"]
    for _ in range(count):
        words = [
            chance.choice(own)
            if chance.random() < 0.6
            else "".join(chance.choices(bits, k=chance.randint(1, 4)))
            for _ in range(chance.randint(1, 4))
        ]
        yield f"w {' '.join(words)} e"


needs_msgfmt = pytest.mark.skipif(
    not HAS_MSGFMT, reason="gettext is not installed."
)


@needs_msgfmt
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - NEWER))
def test_spans_are_all_that_msgfmt_checks(tmp_path, name):
    texts = [*PLACEHOLDERS[name].split(" "), *texts_of(name)]
    plain = told_by_msgfmt(tmp_path, name, [("w e", x) for x in texts])
    # Of others it checks nothing.
    texts = [x for x, told in zip(texts, plain) if "not a valid" not in told]
    span = re2.compile(FORMATS[name].span)
    found = [[x[0] for x in span.finditer(text)] for text in texts]
    alone = [(text, " x ".join(own)) for text, own in zip(texts, found)]
    # The spans are enough for it, and without them there are none.
    assert not any(told_by_msgfmt(tmp_path, name, alone))
    without = [("w e", span.sub(" ", text)) for text in texts]
    assert not any(told_by_msgfmt(tmp_path, name, without))
    lost = told_by_msgfmt(tmp_path, name, [(text, "w e") for text in texts])
    for text, own, told in zip(texts, found, lost):
        assert own or not told, text
    assert sum(map(bool, lost)) > 20


@needs_msgfmt
@pytest.mark.parametrize("name", sorted(FORMATS.keys() - NEWER))
def test_numbers_stand_for_the_order(tmp_path, name):
    """Two placeholders that change places are refused, unless numbered."""
    own = [
        x
        for x in PLACEHOLDERS[name].split()
        if find_ordered(x, [name + SUFFIX])
    ]
    own = [
        x for x in own if spans_of(x, (name + SUFFIX,)) == [x] and "*" not in x
    ]
    if not own:
        return
    other = {"object-pascal": "%d", "lua": "%d", "lisp": "~d", "scheme": "~d"}
    one, two = own[0], other.get(name, "%c" if own[0][0] == "%" else "~d")
    row = FORMATS[name]
    source = f"{one} a {two}"
    pairs = [(source, f"{two} a {one}"), (source, f"{one} b {two}")]
    if row.numbered:
        numbered = [row.insert_number(x, i) for i, x in enumerate((one, two))]
        pairs.append((source, f"{numbered[1]} a {numbered[0]}"))
        assert "*" not in one and row.insert_number("%*d", 0) is None
    else:
        assert row.insert_number(one, 0) is None
    swapped, *others = told_by_msgfmt(tmp_path, name, pairs)
    assert not any(others)
    # Python takes strings for anything.
    assert swapped or name in ("python", "gfc-internal")


@pytest.mark.parametrize("name", FORMATS)
def test_placeholders_are_spans(name):
    assert (
        find_format(name + SUFFIX) is FORMATS[name]
        and find_format(name) is None
    )
    for text in PLACEHOLDERS[name].split():
        assert spans_of(f"é {text} z", (name + SUFFIX,)), text
    own = PLACEHOLDERS[name].split()[0]
    assert spans_of(own, (name + SUFFIX,)) == [own]
    assert spans_of("100 % é", (name + SUFFIX,)) == []


def test_some_are_told_apart_by_their_order_alone():
    spans = ["%s", "%1$s", "%(x)s", "%%", "%5.2f", "{}", "{0}", "{:d}", "~a"]

    def ordered(name):
        return [x for x in spans if find_ordered(x, ["fuzzy", name])]

    assert ordered("c-format") == ["%s", "%5.2f"]
    assert ordered("python-brace-format") == ["{}", "{:d}"]
    assert ordered("scheme-format") == ["~a"]
    assert ordered("qt-format") == ordered("sh-format") == []
    assert FORMATS["c"].insert_number("%-5s", 1) == "%2$-5s"
    assert FORMATS["python-brace"].insert_number("{:d}", 1) == "{1:d}"
    assert FORMATS["go"].insert_number("%v", 0) == "%[1]v"
    assert FORMATS["boost"].insert_number("%|-5|", 0) == "%|1$-5|"
    assert FORMATS["object-pascal"].insert_number("%s", 0) == "%0:s"
    assert FORMATS["c"].insert_number("%1$s", 0) is None
    assert FORMATS["go"].insert_number("%+6.2f", 1) == "%+6.2[2]f"
    assert FORMATS["go"].insert_number("%[1]d", 1) is None
    assert not find_ordered("%-5{x}", ["ruby-format"])


def test_a_number_tells_those_behind_it_theirs_in_some_formats():
    spans = ["%2$s", "%d", "%%", "%1$s", "%*d", "%c"]
    assert find_arguments(spans, ["elisp-format", "fuzzy"]) == [
        *((1, "%2$s"), (2, "%3$d"), None, (0, "%1$s"), (1, None), (3, "%4$c")),
    ]
    # Elsewhere those without numbers are counted by themselves.
    assert find_arguments(spans[:4], ["perl-format"]) == [
        *(None, (0, "%1$d"), None, None),
    ]
    assert find_arguments(["%2$s", "%1$d"], ["elisp-format"]) == [None, None]
    assert find_arguments(["%[2]d", "%v"], ["go-format"])[1] == (2, "%[3]v")


def test_a_placeholder_may_take_the_argument_before_it_again():
    names = ["java-printf-format"]
    spans = ["%s", "%n", "%-<5s", "%d", "%<x", "%1$s", "%<s"]
    assert find_arguments(spans, names) == [
        *((0, "%1$s"), None, (0, "%1$-5s"), (1, "%2$d"), (1, "%2$x"), None),
        (0, "%1$s"),
    ]
    assert find_arguments(["%<s"], names) == [(None, None)]
