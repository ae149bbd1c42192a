"""Entries and files that cannot be filled are named, or left."""

import contextlib
import encodings.aliases
import itertools
import pathlib
import re

import polib
import pytest

from tests.serving.catalogs import catalogs
from tests.serving.catalogs.catalogs import BODY, HEADER, write


def test_what_cannot_be_filled_is_left_with_a_comment(tmp_path, fill, model):
    entries = {
        "word " * 10_000: "too long for the model",
        # It has fewer blanks than the model reads words.
        "a,b,c,d,e,f,g,h " + "i " * 19: "too long for the model",
        "mute": "the model has no answer",
    }
    body = "".join(f'msgid "{text.strip()}"\nmsgstr ""\n\n' for text in entries)
    plural = 'msgid "f"\nmsgid_plural "g"\n' + "".join(
        f'msgstr[{number}] ""\n' for number in range(3)
    )
    path = write(tmp_path / "a.po", HEADER + body + plural)
    for _ in range(2):
        status, output, _ = fill(path)
        assert status == 0
        assert output == (
            f"{path}: 0 entries filled; left as they are: 2 too long for the "
            "model, 1 the model has no answer, 1 wrong number of plural forms "
            "for the header.\n"
        )
        found = polib.pofile(path)
        comments = [entry.tcomment for entry in found]
        why = [*entries.values(), "wrong number of plural forms for the header"]
        assert comments == [f"tfcopy: left as it is: {x}" for x in why]
        assert not any(entry.fuzzy for entry in found)
    assert "word " * 10_000 not in model.asked
    catalogs.check_with_msgfmt(path)
    assert fill(path, "--max_words", 50)[1].startswith(f"{path}: 1 entry")
    assert polib.pofile(path)[1].tcomment.startswith("tfcopy: score")


@pytest.mark.parametrize(
    "content, message",
    [
        ("", r"a\.po, line 1: expected a header"),
        ('msgid "a"\nmsgstr ""\n', r"a\.po, line 1: expected a header"),
        ('msgid ""\nmsgstr ""\n', r"a\.po, line 1: the header is empty"),
        (HEADER.replace("UTF-8", "CHARSET"), r"line 2: .*CHARSET"),
        (HEADER.replace("Content-Type", "X"), r"line 2: .*no charset"),
        (HEADER + BODY + '\nmsgid "done"\nmsgstr ""\n', "line 40: .*line 14"),
        (HEADER + 'msgid "a"\nmsgstr[0] ""\n', r"line 15: msgstr\[0\] does"),
        (
            HEADER + 'msgid "a"\nmsgid_plural "b"\nmsgstr[1] ""\n',
            r"line 16: msgstr\[1\] does not belong",
        ),
        (HEADER + 'msgid "a"\n# x\nmsgstr ""\n', "line 14: .*without msgstr"),
        (HEADER + 'msgid "a\nmsgstr ""\n', "line 14: not a string"),
        (HEADER + 'msgid "a"\nwhat\nmsgstr ""\n', "line 15"),
        ("\ufeff\ufeff" + HEADER, "line 1|a.po: not a cat"),
        (HEADER + f'msgid "a"\nmsgstr[{"1" * 5_000}] ""\n', "line 15: not a"),
        (b"\xde\x12\x04\x95\0\0\0\0", "compiled catalogue"),
        ((HEADER + 'msgid "í"').encode("latin1"), "line 14: not UTF-8"),
        (HEADER.replace("es_AR", "fr") + BODY, "line 2: .*'fr'.* 'es'"),
    ],
)
def test_what_is_no_catalogue_is_named(tmp_path, fill, content, message):
    path = tmp_path / "a.po"
    content = content if isinstance(content, bytes) else content.encode()
    path.write_bytes(content)
    good = write(tmp_path / "good.po", HEADER + BODY)
    status, output, error = fill(good, path)
    assert (status, output) == (2, "") and error.count("\n") == 1
    assert re.search(message, error) and str(path) in error
    assert path.read_bytes() == content
    assert pathlib.Path(good).read_text() == HEADER + BODY


def _other_spelling(charset):
    """Bytes of a letter that a charset would write as others."""
    for pair in itertools.product(range(0x81, 0xFF), range(0x40, 0xFF)):
        with contextlib.suppress(UnicodeError):
            if bytes(pair).decode(charset).encode(charset) != bytes(pair):
                return bytes(pair)
    raise ValueError(charset)


@pytest.mark.parametrize(
    "charset, text",
    [
        *((x, _other_spelling(x)) for x in ("big5", "cp932", "cp950")),
        ("ISO-2022-JP", b"a\x1b(Bb"),
        ("utf_8_sig", "í".encode()),
        *((x, b"a") for x in ("UTF-7", "HZ", "raw_unicode_escape", "rot13")),
        ("punycode", b"a"),
    ],
)
def test_a_charset_that_would_change_bytes_is_refused(
    tmp_path, fill, charset, text
):
    header = HEADER.replace("UTF-8", charset).encode()
    content = header + b'msgid "%s"\nmsgstr "%s"\n\nmsgid "b"\nmsgstr ""\n'
    path = tmp_path / "a.po"
    path.write_bytes(content % (text, text))
    status, output, error = fill(path)
    assert (status, output) == (2, "") and error.count("\n") == 1
    assert str(path) in error and "`msgconv --to-code UTF-8`" in error
    assert path.read_bytes() == content % (text, text)


def test_each_charset_is_kept_or_refused(tmp_path, fill):
    body = 'msgid "b"\nmsgstr ""\n'
    done = '# tfcopy: score -0.12\n#, fuzzy\nmsgid "b"\nmsgstr "B"\n'
    statuses = set()
    for charset in {*encodings.aliases.aliases.values(), "idna", "undefined"}:
        header = HEADER.replace("UTF-8", charset)
        path = write(tmp_path / "a.po", header + body)
        status, _, error = fill(path)
        statuses.add(status)
        found = pathlib.Path(path).read_text()
        assert found == header + (body if status else done), charset
        assert bool(status) == (f"{path}, line 10: " in error), error
    assert statuses == {0, 2}


@pytest.mark.parametrize("output", [(), ("--output", "b.po")])
def test_a_byte_order_mark_is_kept(tmp_path, fill, monkeypatch, output):
    monkeypatch.chdir(tmp_path)
    write(pathlib.Path("a.po"), "\ufeff" + HEADER + BODY)
    for _ in range(2):
        assert fill("a.po", *output)[0] == 0
    found = pathlib.Path(output[-1] if output else "a.po")
    assert found.read_text("utf-8") == "\ufeff" + HEADER + catalogs.FILLED


def test_huge_numbers_are_none(tmp_path, fill):
    many = "1" * 5_000
    header = HEADER.replace("nplurals=2", f"nplurals={many}")
    body = f'#, elisp-format\nmsgid "%{many}$s a %s"\nmsgstr ""\n'
    path = write(tmp_path / "a.po", header + body + "\n" + BODY)
    status, output, error = fill(path)
    assert (status, error) == (0, "")
    assert "1 wrong number of plural forms for the header" in output
