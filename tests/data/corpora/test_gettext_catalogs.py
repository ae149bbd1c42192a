"""Catalogues as a corpus, and what can be wrong with them."""

import os
import pathlib

import pytest

from tfcopy.data.corpora import gettext_catalogs, text_pairs
from tfcopy.data.corpora.corpus import CorpusError

pytest.importorskip("polib")

HEADER = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: es_AR\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

"""
ENTRIES = """#: a.rst:1
msgid "Open the file"
msgstr "Abrir el archivo"

#, fuzzy
msgid "Close the file"
msgstr "Cerrar"

msgctxt "menu"
msgid "Quit"
msgstr ""

msgid ""
"Two lines, "
"one\\n"
"entry"
msgstr "Dos líneas, una entrada"

msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d archivo"
msgstr[1] "%d archivos"

#~ msgid "Gone"
#~ msgstr "Ido"
"""
PAIRS = [
    ("Open the file", "Abrir el archivo"),
    ("Two lines, one entry", "Dos líneas, una entrada"),
    ("%d file", "%d archivo"),
    ("%d files", "%d archivos"),
]


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def numbered(first, last):
    return HEADER + "".join(
        f'msgid "Word {i}"\nmsgstr "Palabra {i}"\n\n'
        for i in range(first, last)
    )


def test_translated_entries_are_pairs(tmp_path):
    path = write(tmp_path / "a.po", HEADER + ENTRIES)
    assert gettext_catalogs.read(path, "es") == PAIRS
    assert gettext_catalogs.read(path) == PAIRS


def test_what_is_left_out_is_counted(tmp_path):
    plural = 'msgid "a"\nmsgid_plural "b"\nmsgstr[0] "c"\nmsgstr[1] ""\n\n'
    for i in range(9):
        more = ENTRIES.replace("Open the file", f"Open {i}") + plural
        write(tmp_path / f"{i}.po", HEADER + more)
    corpus = gettext_catalogs.load(tmp_path, target_language="es")
    for name, split in corpus.splits.items():
        files = 7 if name == "train" else 1
        duplicates = 0 if name == "train" else 3
        left = len(list(split))
        # Fuzzy, without a translation, and with one form of two.
        assert text_pairs.count_split(split, left) == text_pairs.count_pairs(
            8 * files, (4 * files) - duplicates, duplicates=duplicates
        )
    os.remove(tmp_path / "0.po")
    for i in range(2, 9):
        os.remove(tmp_path / f"{i}.po")
    corpus = gettext_catalogs.load(tmp_path, target_language="es")
    assert [x.num_skipped for x in corpus.splits.values()] == [4, 0, 0]


def test_whole_files_are_held_out(tmp_path):
    for i in range(20):
        write(tmp_path / f"{i % 3}" / f"{i}.po", numbered(10 * i, 10 * i + 10))
    halves = [numbered(10 * i, 10 * i + 5) for i in range(20)]
    entries = "".join(x.removeprefix(HEADER) for x in halves)
    write(tmp_path / "shared.po", HEADER + entries)
    corpus = gettext_catalogs.load(tmp_path, target_language="es")
    found = {
        name: list(corpus.splits[name])
        for name in ("train", "validation", "test")
    }
    sources = {name: {x for x, _ in pairs} for name, pairs in found.items()}
    assert sources["train"]
    assert not sources["train"] & (sources["validation"] | sources["test"])
    again = gettext_catalogs.load(tmp_path, target_language="es")
    assert again.fingerprint == corpus.fingerprint
    os.remove(tmp_path / "shared.po")
    corpus = gettext_catalogs.load(tmp_path, target_language="es")
    sizes = {name: len(list(x)) for name, x in corpus.splits.items()}
    assert sizes == {"train": 180, "validation": 10, "test": 10}
    other = gettext_catalogs.load(tmp_path, target_language="es", seed=1)
    assert other.fingerprint != corpus.fingerprint


def test_a_twentieth_of_many_files_is_held_out():
    files = {f"{i}.po": ["an entry"] for i in range(420)}
    parts = gettext_catalogs._by_file(files, seed=0)
    assert [len(part) for part in parts] == [378, 21, 21]


def test_of_few_files_entries_are_held_out(tmp_path):
    write(tmp_path / "a.po", numbered(0, 60))
    corpus = gettext_catalogs.load(tmp_path, target_language="es")
    sizes = {name: len(list(x)) for name, x in corpus.splits.items()}
    assert sizes == {"train": 54, "validation": 3, "test": 3}


def bad(path, content, message, **options):
    path.write_bytes(content)
    with pytest.raises(CorpusError, match=message) as caught:
        gettext_catalogs.load(path.parent, target_language="es", **options)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_what_cannot_be_read_is_named(tmp_path):
    path = tmp_path / "a.po"
    latin = (HEADER + ENTRIES).encode().replace("í".encode(), b"\xed")
    bad(path, latin, r"a\.po, line 23: not UTF-8")
    broken = HEADER + 'msgid "a"\nmsgstr "b"\nmsgid "c\n'
    bad(path, broken.encode(), r"a\.po, line 9: not a string")
    broken = HEADER + 'msgid "a"\nwhat is this\nmsgstr "b"\n'
    bad(path, broken.encode(), r"a\.po: not a catalogue \(.*line 8")
    bad(path, HEADER.replace("es_AR", "fr").encode(), "is in 'fr'.*'es'")
    path.unlink()
    bad(tmp_path / "b.mo", b"\xde\x12\x04\x95\0\0\0\0", "compiled .*msgunfmt")
    (tmp_path / "b.mo").unlink()
    with pytest.raises(CorpusError, match=r"no \.po file there"):
        gettext_catalogs.load(tmp_path, target_language="es")
    write(tmp_path / "empty.po", "")
    with pytest.raises(CorpusError, match="no sentence pair there"):
        gettext_catalogs.load(tmp_path, target_language="es")


def test_a_catalogue_without_a_header_is_read(tmp_path):
    path = write(tmp_path / "a.po", ENTRIES)
    assert gettext_catalogs.read(path, "es") == PAIRS


def test_real_catalogues_are_read():
    folder = os.environ.get("TFCOPY_PYDOCS")
    if not folder:
        pytest.skip("TFCOPY_PYDOCS names no folder of documentation pairs.")
    paths = sorted((pathlib.Path(folder) / "po").glob("*.po"))
    assert len(paths) == 5
    for path in paths:
        pairs = gettext_catalogs.read(path, "es")
        assert len(pairs) > 10
        assert all(source and target for source, target in pairs)
