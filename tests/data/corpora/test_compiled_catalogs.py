"""Compiled catalogues as a corpus, and what can be wrong with them."""

import functools
import os
import pathlib
import shutil
import struct
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcopy.data.corpora import gettext_catalogs
from tfcopy.data.corpora.corpus import CorpusError

HEADER = "Content-Type: text/plain; charset={}\nLanguage: es\n"
_CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0\4")
ENTRY = st.tuples(st.none() | st.text(_CHARACTERS), *3 * [st.text(_CHARACTERS)])


def compiled(texts, order="<"):
    """The content of a catalogue with these sources and translations."""
    strings = [x for pair in zip(*texts.items()) for x in pair]
    start, places = 28 + 8 * len(strings), b""
    for string in strings:
        places += struct.pack(f"{order}2I", len(string), start)
        start += len(string) + 1
    numbers = (0x950412DE, 0, len(texts), 28, 28 + 8 * len(texts), 0, 0)
    return (
        struct.pack(f"{order}7I", *numbers)
        + places
        + b"".join(x + b"\0" for x in strings)
    )


def write(path, texts, charset="UTF-8", order="<"):
    texts = {"": HEADER.format(charset), **texts}
    encoded = {x.encode(charset): y.encode(charset) for x, y in texts.items()}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(compiled(encoded, order))
    return path


def numbered(name, count=20):
    return {f"{name} {i}": f"{name.upper()} {i}" for i in range(count)}


@given(st.lists(ENTRY, unique_by=lambda x: x[:2]), st.sampled_from("<>"))
def test_all_entries_are_read(tmp_path_factory, entries, order):
    texts = {
        ("" if context is None else f"{context}\4")
        + "\0".join(filter(None, (singular, plural))): translation
        for context, singular, plural, translation in entries
        if singular
    }
    folder = tmp_path_factory.mktemp("entries")
    path = write(folder / "a.mo", texts, order=order)
    found = gettext_catalogs.read_catalog(path)
    assert (found.text, found.header.language) == (None, "es")
    read = {
        (x.context, x.singular, x.plural): "\0".join(x.translations.values())
        for x in found.entries[1:]
    }
    assert read == {
        (context, singular, plural or None): translation
        for context, singular, plural, translation in entries
        if singular
    }


@given(st.binary(max_size=60), st.integers(0, 400), st.integers(0, 255))
def test_a_damaged_file_is_named(tmp_path_factory, more, place, byte):
    content = bytearray(compiled({b"": b"x", b"a\0b": b"c\0d", b"e": b"f"}))
    content[place % len(content)] = byte
    cut = bytes(content[: len(content) - place % 50]) + more
    path = tmp_path_factory.mktemp("damaged") / "a.mo"
    path.write_bytes(cut)
    try:
        assert gettext_catalogs.read_catalog(path).entries is not None
    except CorpusError as error:
        assert str(path) in str(error) and "\n" not in str(error)


# As many strings as a file has places, each of which is nearly all of it.
OVERLAPPING = struct.pack("<7I", 0x950412DE, 0, 9, 28, 28, 0, 0) + (
    struct.pack("<2I", 90, 0) * 9
)
NOT_IN_CHARSET = compiled({b"": HEADER.format("UTF-8").encode(), b"a": b"\xe9"})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xde\x12\x04\x95\0\0\0\0", "damaged"),
        (compiled({b"a": b"b"})[:-3], "damaged"),
        (b"\xde\x12\x04\x95" + b"\0\0\2\0" + 20 * b"\0", "damaged"),
        (OVERLAPPING, "damaged"),
        (NOT_IN_CHARSET, "not UTF-8"),
        (compiled({b"": HEADER.format("UTF-7").encode()}), "charset UTF-7"),
    ],
)
def test_what_is_wrong_with_a_file_is_told(tmp_path, content, message):
    (tmp_path / "a.mo").write_bytes(content)
    with pytest.raises(CorpusError, match=message):
        gettext_catalogs.load(tmp_path, target_language="es")


@pytest.mark.skipif(not shutil.which("msgfmt"), reason="needs GNU gettext")
@pytest.mark.parametrize("endianness", ["big", "little"])
def test_what_msgfmt_writes_is_read(tmp_path, endianness):
    source = tmp_path / "a.po"
    header = HEADER.format("ISO-8859-1").replace("\n", "\\n")
    source.write_text(
        f'msgid ""\nmsgstr "{header}Plural-Forms: nplurals=2; '
        'plural=(n != 1);\\n"\n\n'
        'msgctxt "menu"\nmsgid "_Open"\nmsgstr "_Abrir aquí"\n\n'
        'msgid "One file"\nmsgid_plural "%d files"\n'
        'msgstr[0] "Un archivo"\nmsgstr[1] "%d archivos"\n\n'
        '#, fuzzy\nmsgid "unsure"\nmsgstr "no"\n\nmsgid "open"\nmsgstr ""\n',
        encoding="iso-8859-1",
    )
    path = str(tmp_path / "b.mo")
    order = f"--endianness={endianness}"
    subprocess.run(["msgfmt", order, "-o", path, source], check=True)
    found = gettext_catalogs.read_catalog(path)
    assert found.charset == "ISO-8859-1"
    assert [*gettext_catalogs._pairs(found)] == [
        ("One file", "Un archivo"),
        ("%d files", "%d archivos"),
        ("Open", "Abrir aquí"),
    ]


def test_a_context_ends_at_the_first_sign(tmp_path):
    path = write(tmp_path / "a.mo", {"menu\4a\4b": "c"})
    (entry,) = gettext_catalogs.read_catalog(path).entries[1:]
    assert entry.key == ("menu", "a\4b")


def test_a_file_without_header_is_read(tmp_path):
    path = tmp_path / "a.mo"
    path.write_bytes(compiled({b"a": "ñ".encode()}))
    found = gettext_catalogs.read_catalog(path)
    assert [*gettext_catalogs._pairs(found)] == [("a", "ñ")]
    assert not found.header.is_there


@pytest.fixture
def disk(tmp_path):
    for name in ("git", "bash", "tar", "sed", "grep", "make", "wget", "nano"):
        texts = {**numbered(name), "Usage": "Uso"}
        write(tmp_path / "es" / "LC_MESSAGES" / f"{name}.mo", texts)
    write(tmp_path / "es_MX" / "LC_MESSAGES" / "git.mo", numbered("git", 30))
    write(tmp_path / "es" / "LC_MESSAGES" / "iso_3166-1.mo", numbered("France"))
    damaged = tmp_path / "fr" / "LC_MESSAGES" / "git.mo"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"\xde\x12\x04\x95")
    return tmp_path


def sources(corpus):
    return {
        name: {source.split()[0] for source, _ in split}
        for name, split in corpus.splits.items()
    }


def test_whole_programs_are_held_out(disk, capsys):
    corpus = gettext_catalogs.load(disk, target_language="es", seed=1)
    found = sources(corpus)
    assert corpus.held_out == (*found["test"],)
    assert len(found["test"]) == len(found["validation"]) == 1
    assert not found["test"] & found["validation"] & found["train"]
    assert len(found["train"]) == 6 + 1 and "France" not in found["train"]
    assert [source for source, _ in corpus.train].count("Usage") == 1
    num_texts = sum(len([*x]) for x in corpus.splits.values())
    assert capsys.readouterr().out.splitlines() == [
        f"{disk}: 8 files of 8 programs, {num_texts} texts.",
        f"validation: programs {''.join(found['validation'])}.",
        f"test: programs {''.join(found['test'])}.",
    ]
    # The seed, the order of files and another language change nothing.
    again = gettext_catalogs.load(disk, target_language="es_MX", seed=2)
    assert again.held_out == corpus.held_out
    others = gettext_catalogs.load(disk, target_language="es", names=True)
    assert "France" in set.union(*sources(others).values())


def test_programs_can_be_named(disk):
    corpus = gettext_catalogs.load(
        disk, target_language="es", hold_out=["git", "sed"]
    )
    assert sources(corpus)["test"] == {"git", "sed"} == {*corpus.held_out}
    assert not {"git", "sed"} & (
        sources(corpus)["train"] | sources(corpus)["validation"]
    )
    with pytest.raises(CorpusError, match="names gitt, .* Found: git"):
        gettext_catalogs.load(disk, target_language="es", hold_out=["gitt"])


def test_what_hold_out_names_is_done_or_refused(tmp_path):
    for name in ("git", "sed"):
        write(tmp_path / "es" / "LC_MESSAGES" / f"{name}.mo", numbered(name))
    message = "--hold_out git leaves 1 of 2 programs. Expected two"
    with pytest.raises(CorpusError, match=message):
        gettext_catalogs.load(tmp_path, target_language="es", hold_out=["git"])
    with pytest.raises(CorpusError, match="leaves 0 of 2 programs"):
        gettext_catalogs.load(
            tmp_path, target_language="es", hold_out=["git", "sed"]
        )


def test_a_program_without_texts_of_its_own_cannot_be_held_out(tmp_path):
    folder = tmp_path / "es" / "LC_MESSAGES"
    for name in ("git", "copy", "again"):
        write(folder / f"{name}.mo", numbered("a"))
    load = functools.partial(
        gettext_catalogs.load, tmp_path, target_language="es"
    )
    with pytest.raises(CorpusError, match="held out for .* training lacks"):
        load(hold_out=["git"])
    for name in ("copy", "again"):
        write(folder / f"{name}.mo", numbered(name))
    assert load(hold_out=["git", "git"]).held_out == ("git",)


def test_names_that_are_no_text_are_shown_as_text(disk, capsys):
    name = os.fsdecode(b"caf\xe9\x1b[2J")
    write(disk / "es" / "LC_MESSAGES" / f"{name}.mo", numbered("coffee"))
    for number in range(30):
        path = disk / "es" / "LC_MESSAGES" / f"{name}{number}.mo"
        path.write_bytes(b"\xde\x12\x04\x95")
    corpus = gettext_catalogs.load(
        disk, target_language="es", hold_out=[name, "git"]
    )
    assert sources(corpus)["test"] == {"coffee", "git"}
    shown = r"caf\udce9 [2J"
    assert corpus.held_out == (shown, "git")
    out = capsys.readouterr().out
    assert f"test: programs {shown}, git." in out and "\x1b" not in out
    assert out.count("Left out: ") == 10
    assert "... and 20 more like this." in out


def test_programs_of_sources_are_held_out_if_they_are_named(tmp_path):
    header = HEADER.format("UTF-8").replace("\n", "\\n")
    for name in ("git/po/es", "bash/po/es", "es/tar", "es/LC_MESSAGES/sed"):
        path = tmp_path / f"{name}.po"
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = [
            f'msgid "{source}"\nmsgstr "{target}"\n'
            for source, target in numbered(name).items()
        ]
        path.write_text(f'msgid ""\nmsgstr "{header}"\n\n' + "\n".join(entries))
    options = {"target_language": "es", "hold_out": ["git"]}
    corpus = gettext_catalogs.load(tmp_path, **options)
    assert sources(corpus)["test"] == {"git/po/es"}
    with pytest.raises(CorpusError, match="Found: bash, git, sed, tar"):
        options["hold_out"] = ["x"]
        gettext_catalogs.load(tmp_path, **options)


def test_of_one_program_entries_are_held_out(tmp_path):
    write(tmp_path / "es" / "LC_MESSAGES" / "a.mo", numbered("a", 60))
    corpus = gettext_catalogs.load(tmp_path, target_language="es")
    sizes = {name: len(list(x)) for name, x in corpus.splits.items()}
    assert sizes == {"train": 54, "validation": 3, "test": 3}
    assert corpus.held_out == ()


def test_what_cannot_be_read_is_left_out_with_a_line(disk, capsys):
    folder = disk / "es" / "LC_MESSAGES"
    (folder / "loop.mo").symlink_to(folder / "loop.mo")
    (folder / "cut.mo").write_bytes(b"\xde\x12\x04\x95")
    (folder / "circle").symlink_to(folder)
    closed = disk / "es" / "closed"
    closed.mkdir()
    closed.chmod(0)
    corpus = gettext_catalogs.load(disk, target_language="es")
    closed.chmod(0o700)
    lines = capsys.readouterr().out.splitlines()
    told = [line for line in lines if "eft out" in line]
    assert [pathlib.Path(x.split(":")[1].strip()).name for x in told[-2:]] == [
        "cut.mo",
        "loop.mo",
    ]
    # Nothing is closed to root.
    assert len(told) == 2 + (os.geteuid() != 0)
    assert len(sources(corpus)["train"]) == 7
