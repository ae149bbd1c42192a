"""Spans that Python finds are those that TensorFlow finds."""

import itertools
import re

import pytest
import tensorflow as tf
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.growth import SHORT, check_linear
from tfcopy.data.text.blanks import to_ascii
from tfcopy.data.text.protected_tokenizer import cut_out
from tfcopy.data.text.span_patterns import (
    KINDS,
    PATTERNS,
    check_flag,
    find_lost_spans,
    replace_spans,
    spans_of,
)

PARTS = ["``a b``", ":func:`é`", "`x`", "](u(v))", "<b>", "&amp;", "%(n)s"]
PARTS += ["%5.2f", "{0!r}", "{{", "http://a.b/c,", "é@b.org", "<a", "`", " "]
PARTS += ["%ld%%", "%2$#@é-b@", "%arg%%", "@a@b.c", "%to%"]
PARTS += ["|x|", "[1]_", "%dé", "100% of", "\u2003", "Ł", "}", "__"]


# Those that most models know come first.
NAMES = [*KINDS, *sorted(PATTERNS.keys() - KINDS)]
LETTERS = "ab1 _:`%{}<>[]()|.@/#&;!-\\\\\"'*$dsé\u2003\x1f\u200bŁ"
# Each begins many spans, or none that ends.
HOSTILE = ["a", "`", ":", "%", "{", "<", " ", "\\", "|", "a@b.", ":a", "%0"]
HOSTILE += ["](", "`a ", "http://.", "{{}", "<a &", "``a` {%<|:"]


@pytest.mark.few(7)
@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=60)
@given(
    text=st.lists(st.sampled_from(PARTS), max_size=8).map("".join)
    | st.text(LETTERS, max_size=30)
)
@example(text="|1\u200b1|")
@example(text="%\u200b%")
def test_python_finds_what_tensorflow_finds(name, text):
    _, spans = cut_out(tf.constant([text]), (name,))
    found = spans_of(text, (name,))
    assert found == [x.decode() for x in spans.numpy()]
    # A blank that is kept is `\s` to patterns, but no space.
    text = to_ascii(" ".join(text.split()))
    by_re = re.finditer(PATTERNS[name], text, re.ASCII)
    found = [to_ascii(x) for x in found]
    assert found == [match[0] for match in by_re]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", NAMES)
def test_long_texts_take_no_longer_than_they_are(name):
    for part in HOSTILE:
        check_linear(
            lambda text: spans_of(text, (name,)),
            lambda size: part * (size // len(part)),
            SHORT,
        )


def test_spans_are_replaced():
    assert replace_spans("é ``a b`` c", ("rst",), "x") == "é x c"
    assert replace_spans("``a``", (), "x") == "``a``"
    assert spans_of("``a``", ()) == []
    assert spans_of("\ud800 ``a``", ("rst",)) == ["``a``"]


@pytest.mark.parametrize(
    "names, text, spans",
    [
        ("placeholders", "%dMB of %(count)ds, %ss", "%d %(count)d %s"),
        ("placeholders", "%s_%s 100% of it, 100% done", "%s %s"),
        ("placeholders", "%name% and 5%", "%name%"),
        (
            "placeholders",
            "${count} %{name} #{x} {}",
            "${count} %{name} #{x} {}",
        ),
        (
            "placeholders",
            "a {{ user.name }} b {{x|y}}",
            "{{ user.name }} {{x|y}}",
        ),
        ("placeholders", "{t:%d %b} of {a, b} {c d}", "{t:%d %b}"),
        ("html", "<it's> a <b's>, 1 < 2", "<it's> <b's>"),
        ("html", "<link url='%1'>a</link>", "<link url='%1'> </link>"),
        ("tags", "<B>a</B> <br/><hr /> &lt;", "<B> </B> <br/> <hr /> &lt;"),
        ("tags", "<link url='%1'>a</link>", "<link url='%1'> </link>"),
        ("tags", "<file> <a file> <x, y = 1> <host ...>", ""),
        ("flags", "--file=FILE --[no-]color, -v", "--file --[no-]color -v"),
        ("flags", "a-b --- - -1", ""),
        (
            "links",
            "[a](b_(c)) <e@f.gh> http://i.j.",
            "](b_(c)) e@f.gh http://i.j",
        ),
        (
            "placeholders",
            "__n__ $HOME :attr, @user %1 %L2 %@",
            "__n__ $HOME :attr @user %1 %L2 %@",
        ),
        ("placeholders", "a: b, c:d, e@f, $5, 5%", ""),
        # Xcode's; %to% is a name, %ld% none.
        (
            "placeholders",
            "%#@a@ %2$#@b.c@, %arg %arg%%",
            "%#@a@ %2$#@b.c@ %arg %arg%%",
        ),
        ("objc-format", "%#@a@ %2$#@b@ %@ %arg", "%#@a@ %2$#@b@ %@ %arg"),
        *(
            ("placeholders", f"{x}%% of %name%", f"{x} %% %name%")
            for x in ("%lu", "%lf", "%ld", "%zu", "%lli", "%hhx", "%Lf", "%ls")
        ),
        ("placeholders", "%to%, %last%%", "%to% %last%"),
        (
            "placeholders html",
            "<b>@a.b, @a@b</b>@c@d-e.f.",
            "<b> @a @a@b </b> @c@d-e.f",
        ),
        ("rst", "|xy| |a b| a|b", "|xy| |a b|"),
        ("python-brace-format brace", "{{a}} {b}", "{{ }} {b}"),
        ("kde-format printf", "%1% of %2", "%1 %2"),
        ("java-format", "'x' {0} '{' it''s {1}", "'x' {0} '{' '' {1}"),
        (
            "ruby-format",
            "%-5<n>s %<n>5.2f %5<n>.1f %<n>",
            "%-5<n>s %<n>5.2f %5<n>.1f %<n>",
        ),
        (
            "options",
            "--help, --file=NAME (-v) --[no-]color[=WHEN] --a=<n>, --x=./y.c. "
            "well-known --- x-y e-mail --no-op: - -ab --",
            "--help --file=NAME -v --[no-]color[=WHEN] --a=<n> --x=./y.c "
            "--no-op",
        ),
        (
            "numbers",
            "$50 and 1,234.56 or 5%, 12:30. In utf8, 2nd, x1, 20€: 3.",
            "$50 1,234.56 5% 12:30 20€ 3",
        ),
        ("placeholders", "$50 --help", ""),
    ],
)
def test_spans_of_each_kind(names, text, spans):
    assert " ".join(spans_of(text, names.split())) == spans


@pytest.mark.parametrize(
    "pattern, reason",
    [
        ("(", "no regular expression of RE2"),
        (")(", "no regular expression of RE2"),
        ("a(?=b)", "no regular expression of RE2"),
        (r"(a)\1", "no regular expression of RE2"),
        (r"\Qa", "no regular expression of RE2"),
        ("\udcff", "no regular expression of RE2"),
        ("x*", "matches the empty string"),
        (r"\b[a-z]*", "matches the empty string"),
        ("", "matches the empty string"),
        ("(?m)^", "matches the empty string"),
        (r"\s", "matches a blank"),
        (".+", "matches a blank"),
    ],
)
def test_senseless_patterns_are_refused(pattern, reason, capfd):
    for names in ([pattern], ["rst", pattern]):
        with pytest.raises(ValueError, match=f"^--protect: .* {reason}"):
            check_flag(names)
    assert capfd.readouterr().err == ""
    check_flag([*PATTERNS, "^#+", r"\bfoo\b", "(?i)x+", "(?P<n>a)", "(?P<n>b)"])


def test_spans_are_lost_one_by_one():
    source = "``a`` and ``a`` or :mod:`b`, %s"
    assert find_lost_spans(source, source, ("rst",)) == []
    assert find_lost_spans(source, ":mod:`b` y ``a``", ("rst",)) == ["``a``"]
    assert find_lost_spans(source, ":mod: `b`", ("rst", "printf")) == [
        *("``a``", "``a``", ":mod:`b`", "%s")
    ]
    assert find_lost_spans("ab1", "b", (r"[a-z]\d",)) == ["b1"]


def test_every_order_of_names_finds_the_same():
    text = " ".join([*PARTS, ":a:`b %s`", "--x={y}", "$50", "{0:%H:%M}", "s::"])
    for pair in itertools.combinations([*PATTERNS, r"\w+::"], 2):
        assert spans_of(text, pair) == spans_of(text, pair[::-1])
    text = ":func:`x` std:: |%s| %s :attr"
    for names in itertools.permutations(["rst", "placeholders", r"\w+::"]):
        assert spans_of(text, names) == text.split()
