"""Entries are filled; all other lines stay as they are."""

import polib
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests import beside
from tests.growth import SHORT, check_linear
from tests.serving.catalogs.catalogs import HEADER, check_with_msgfmt, write
from tfcopy.data.corpora.catalog_lines import entries_of, lines_of, unescape
from tfcopy.serving.catalogs.entries import Skipped, Suggestion, fill_text

TEXTS = st.text(
    st.sampled_from('aé漢 "\\\n\t%{}`#~msgid')
    | st.characters(codec="utf-8", exclude_categories=["Cc"]),
    max_size=200,
)
# Lines before an entry, and the flags among them.
COMMENTS = ["# by hand", "#", "#. extracted", "#: a.c:1", "#, c-format"]
COMMENTS += ['#| msgid "before"', "", "#, no-wrap"]
STATES = ("open", "translated", "fuzzy", "obsolete", "plural", "half")


@settings(deadline=None, max_examples=100)
@given(text=TEXTS)
def test_strings_are_what_others_read(text):
    lines = lines_of("msgstr", text)
    parts = [line.removeprefix("msgstr ") for line in lines]
    assert all(part[0] == part[-1] == '"' for part in parts)
    assert unescape("".join(part[1:-1] for part in parts)) == text
    for line in lines:
        is_one_word = " " not in line.removeprefix("msgstr ").strip('" ')
        assert len(line) <= 79 or is_one_word


def test_strings_are_wrapped_as_gettext_does():
    assert lines_of("msgstr", "a\tb\n") == ['msgstr "a\\tb\\n"']
    assert lines_of("msgstr[1]", "a\n\n b") == [
        *('msgstr[1] ""', '"a\\n"', '"\\n"', '" b"')
    ]
    words = " ".join(["word"] * 16)
    assert lines_of("msgstr", words[:70]) == [f'msgstr "{words[:70]}"']
    assert lines_of("msgstr", words) == [
        *('msgstr ""', f'"{words[:75]}"', '"word"')
    ]


def filled_text(text, outcomes):
    return fill_text("a.po", text, outcomes)


ENTRY, FILLED = beside.read(__file__, "entry.po", "filled_entry.po")
KEY = ("menu", "Open %s")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("is_last", [False, True])
def test_an_entry_is_filled(end, is_last):
    before, after = HEADER + ENTRY, HEADER + FILLED
    if is_last:
        before, after = before[:-1], after[:-1]
    before, after = (x.replace("\n", end) for x in (before, after))
    suggestion = Suggestion({0: "Abrir"}, -3.2109, ("%s",))
    text = filled_text(before, {KEY: suggestion})
    assert text == after
    assert filled_text(text, {KEY: Suggestion({0: "Otro"}, 0.0)}) == text


def test_of_several_lines_of_flags_the_last_says_fuzzy(tmp_path):
    """Of the others gettext knows nothing when it checks the format."""
    flags = "#, no-wrap\n#, c-format\n"
    before = f'{HEADER}{flags}msgid "a"\nmsgstr ""\n'
    after = filled_text(before, {(None, "a"): Suggestion({0: "%"}, 0.0)})
    assert "#, no-wrap\n#, fuzzy, c-format\nmsgid" in after
    check_with_msgfmt(write(tmp_path / "a.po", after))


def test_what_is_left_is_told_once():
    key = (None, "a")
    before = HEADER + 'msgid "a"\nmsgstr ""'
    remark = "# tfcopy: left as it is: too long\n"
    after = filled_text(before, {key: Skipped("too long")})
    assert after == HEADER + remark + 'msgid "a"\nmsgstr ""'
    assert filled_text(after, {key: Skipped("too long")}) == after
    other = filled_text(after, {key: Skipped("\x1bwhy")})
    assert other == after.replace("too long", " why")
    assert filled_text(after, {key: Suggestion({0: "b"}, 0.0)}) == HEADER + (
        '# tfcopy: score 0.00\n#, fuzzy\nmsgid "a"\nmsgstr "b"'
    )


def test_of_plural_forms_the_missing_ones_are_filled():
    entry = 'msgid "f"\nmsgid_plural "g"\nmsgstr[0] "uno"\nmsgstr[1] ""\n""\n'
    suggestion = Suggestion({1: "x\ny"}, -1.0)
    text = filled_text(HEADER + entry, {(None, "f"): suggestion})
    assert text.removeprefix(HEADER) == (
        '# tfcopy: score -1.00\n#, fuzzy\nmsgid "f"\nmsgid_plural "g"\n'
        'msgstr[0] "uno"\nmsgstr[1] ""\n"x\\n"\n"y"\n'
    )


@st.composite
def catalogs(draw):
    """A catalogue, the keys of its open entries and the lines it may lose."""
    text, keys, lost = HEADER, [], []
    for number in range(draw(st.integers(1, 6))):
        state = draw(st.sampled_from(STATES))
        comments = draw(
            st.lists(st.sampled_from(COMMENTS), max_size=4, unique=True)
        )
        source = f"{number}: {draw(TEXTS).replace(chr(0), '')}"
        lines = [*lines_of("msgid", source)]
        if state in ("plural", "half"):
            one = "x" if state == "half" else ""
            lines += ['msgid_plural "p"', f'msgstr[0] "{one}"', 'msgstr[1] ""']
        else:
            done = state not in ("open", "plural")
            lines += lines_of("msgstr", source if done else "")
        if state == "fuzzy":
            comments.append("#, fuzzy")
        # gettext takes the previous message only right before the message.
        comments.sort(key=lambda x: x.startswith("#|"))
        if state == "obsolete":
            comments = ["#, fuzzy"]
            lines = [f"#~ {line}" for line in lines]
        is_open = state in ("open", "plural", "half")
        if is_open:
            keys.append((None, source))
            lost += [
                x for x in lines if x.startswith("msgstr") and "x" not in x
            ]
            lost += [x for x in comments if x.startswith("#,")]
        text += "".join(f"{line}\n" for line in [*comments, *lines])
        text += draw(st.sampled_from(["\n", "\n\n", ""]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    text = text[: -draw(st.integers(0, 1)) or None]
    return text.replace("\n", end), keys, lost


@settings(deadline=None, max_examples=60)
@given(catalog=catalogs(), answer=TEXTS)
def test_nothing_but_open_entries_changes(tmp_path_factory, catalog, answer):
    text, keys, lost = catalog
    entries = entries_of("a.po", text.split("\n"))
    assert [x.key for x in entries if x.is_open] == keys
    suggestion = Suggestion({0: answer or "-", 1: "-"}, -1.0)
    outcomes = {entry.key: suggestion for entry in entries}
    after = filled_text(text, outcomes)
    # All other lines are there, in their order.
    rest = (line.strip() for line in after.split("\n"))
    for line in map(str.strip, text.split("\n")):
        assert line in {*lost, ""} or line in rest, line
    path = write(tmp_path_factory.mktemp("po") / "a.po", after)
    if "\r" in text:
        assert after.count("\n") == after.count("\r\n")
    check_with_msgfmt(path)
    read = {x.msgid: x for x in polib.pofile(path) if not x.obsolete}
    for _, source in keys:
        found = read[source]
        forms = found.msgstr_plural or {0: found.msgstr}
        assert found.fuzzy
        for number, form in forms.items():
            assert form in (suggestion.forms[number], "x")
    assert filled_text(after, outcomes) == after


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("flag", "part"),
    [
        *(("fuzz", x) for x in ["a", ":a", "`", " ", "a  b", "\\\\", '\\"']),
        ("c-format", "a\\n"),
    ],
)
def test_long_entries_take_no_longer_than_they_are(tmp_path, fill, flag, part):
    def write_entry(size):
        text = part * (size // len(part))
        body = f'#, {flag}\nmsgid "b{text}."\nmsgstr ""\n'
        return write(tmp_path / "a.po", HEADER + body)

    check_linear(fill, write_entry, SHORT)
    assert "# tfcopy: " in (tmp_path / "a.po").read_text()


@pytest.mark.parametrize(
    "largest", [1 << 14, pytest.param(1 << 16, marks=pytest.mark.long)]
)
def test_many_lines_take_no_longer_than_they_are(largest):
    string = f'"{"ab" * 39}"'
    check_linear(
        lambda lines: entries_of("a.po", lines),
        lambda size: ['msgid ""', *[string] * size, 'msgstr ""'],
        (largest >> 8, largest >> 4, largest),
    )
