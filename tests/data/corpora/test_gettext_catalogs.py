"""Catalogues as a corpus, and what can be wrong with them."""

import os

import pytest

from tests.data.real_corpora import documentation_pairs
from tfcopy.data.corpora import gettext_catalogs, text_pairs
from tfcopy.data.corpora.corpus import CorpusError, is_blank

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


def read(path, language=None):
    """The translated pairs of a catalogue."""
    catalog = gettext_catalogs.read_catalog(path)
    catalog.header.check_language(language)
    pairs = gettext_catalogs._pairs(catalog)
    return [pair for pair in pairs if not is_blank(pair)]


def test_translated_entries_are_pairs(tmp_path):
    path = write(tmp_path / "a.po", HEADER + ENTRIES)
    assert read(path, "es") == PAIRS
    assert read(path) == PAIRS
    with pytest.raises(CorpusError, match="line 1: the catalogue is in 'es_AR"):
        read(path, "fr")


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (
            r"Options:\n  -a\tAll\n  -b\tBack\n",
            r"Opciones:\n  -a\tTodo\n  -b\tAtrás",
            [("Options:", "Opciones:"), ("-a", "-a"), ("All", "Todo")]
            + [("-b", "-b"), ("Back", "Atrás")],
        ),
        (r"a\n\nb", r"c\nd", [("a b", "c d")]),
        (r"a\nb c", r"d e\nf", [("a", "d e"), ("b c", "f")]),
        (r"a\tb", r"c\nd", [("a b", "c d")]),
        (r"a\n  b\n", r"c \nd", [("a", "c"), ("b", "d")]),
        (r"a\nb", "c", [("a b", "c")]),
        (r"a\nb", "", []),
        (  # Blanks that carry meaning stay.
            "a\u00a0:  b",
            "«\u00a0a\u00a0»\u202f:\u2003 ត្រូវ\u200bតែ 北\u3000京",
            [("a\u00a0: b", "«\u00a0a\u00a0»\u202f: ត្រូវ\u200bតែ 北\u3000京")],
        ),
    ],
)
def test_lines_that_a_translation_keeps_are_pairs(
    tmp_path, source, target, expected
):
    entry = f'msgid "{source}"\nmsgstr "{target}"\n'
    assert read(write(tmp_path / "a.po", HEADER + entry)) == expected


def test_a_line_of_many_messages_counts_once(tmp_path):
    entries = "".join(
        f'msgid "Name {i}\\nOptional."\nmsgstr "Nombre {i}\\nOpcional."\n\n'
        for i in range(9)
    )
    pairs = read(write(tmp_path / "a.po", HEADER + entries))
    assert pairs.count(("Optional.", "Opcional.")) == 1 and len(pairs) == 10


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
    parts = gettext_catalogs._held_out(files, [*files])
    assert [len(part) for part in parts] == [378, 21, 21]


def test_of_large_files_entries_are_held_out(tmp_path):
    """In one country what is held out in the other is, too."""
    for country in ("es", "es_MX"):
        for i in range(3):
            text = numbered(60 * i, 60 * i + 60).replace("es_AR", country)
            write(tmp_path / country / f"{i}.po", text)
    corpus = gettext_catalogs.load(tmp_path, target_language="es")
    found = {name: list(split) for name, split in corpus.splits.items()}
    sizes = {name: len(pairs) for name, pairs in found.items()}
    assert sizes == {"train": 324, "validation": 18, "test": 18}
    sources = {name: {x for x, _ in pairs} for name, pairs in found.items()}
    assert {name: len(x) for name, x in sources.items()} == {
        "train": 162,
        "validation": 9,
        "test": 9,
    }
    assert len(set.union(*sources.values())) == 180


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
    bad(tmp_path / "b.mo", b"\xde\x12\x04\x95\0\0\0\0", "damaged compiled")
    (tmp_path / "b.mo").unlink()
    with pytest.raises(CorpusError, match=r"no \.po file there"):
        gettext_catalogs.load(tmp_path, target_language="es")
    write(tmp_path / "empty.po", "")
    with pytest.raises(CorpusError, match="no sentence pair there"):
        gettext_catalogs.load(tmp_path, target_language="es")


def test_a_catalogue_without_a_header_is_read(tmp_path):
    path = write(tmp_path / "a.po", ENTRIES)
    assert read(path, "es") == PAIRS


def test_real_catalogues_are_read():
    paths = sorted((documentation_pairs() / "po").glob("*.po"))
    assert len(paths) == 5
    for path in paths:
        pairs = read(path, "es")
        assert len(pairs) > 10
        assert all(source and target for source, target in pairs)


def in_language(language, source="Open"):
    header = HEADER.replace("es_AR", language)
    if not language:
        header = HEADER.replace('"Language: es_AR\\n"\n', "")
    return header + "".join(
        f'msgid "{source} {i}"\nmsgstr "{language or "none"}"\n\n'
        for i in range(4)
    )


def targets(folder, language="es"):
    corpus = gettext_catalogs.load(folder, target_language=language)
    found = {y for split in corpus.splits.values() for _, y in split}
    return sorted(found), corpus.train.left_out.get("other_language", 0)


@pytest.mark.parametrize(
    "paths",
    [
        {"es.po": "", "fr.po": "", "pt_BR.po": ""},
        {"a/LC_MESSAGES/x.po": "fr", "b/LC_MESSAGES/x.po": "es", "c.po": "de"},
        {"es/LC_MESSAGES/io.po": "", "fr/LC_MESSAGES/io.po": "", "io.po": "de"},
        {"es/io.po": "", "fr/io.po": "", "zh_Hans/new.po": ""},
    ],
)
def test_catalogues_of_other_languages_are_counted(tmp_path, paths):
    for number, (path, language) in enumerate(paths.items()):
        text = in_language(language, f"Open {number}")
        name = language or path.split("/")[0].removesuffix(".po")
        write(tmp_path / path, text.replace('"none"', f'"{name}"'))
    assert targets(tmp_path) == (["es"], 8)


def test_paths_that_name_no_language_are_no_others(tmp_path):
    """`io` and `re` are languages, and modules of Python."""
    for number, name in enumerate(
        ("io.po", "re.po", "library/os.po", "string.po")
    ):
        write(tmp_path / name, in_language("", f"Open {number}"))
    assert targets(tmp_path) == (["none"], 0)


def test_a_country_or_a_script_comes_first(tmp_path):
    for number, language in enumerate(("pt", "pt_BR", "pt_PT", "de")):
        write(
            tmp_path / f"{number}.po", in_language(language, f"Open {number}")
        )
    assert targets(tmp_path, "pt") == (["pt", "pt_BR", "pt_PT"], 4)
    assert targets(tmp_path, "pt-BR") == (["pt", "pt_BR"], 8)
    assert targets(tmp_path, "pt_AO") == (["pt", "pt_BR", "pt_PT"], 4)


@pytest.mark.parametrize(
    ("language", "expected"),
    [("pt", [0, 1]), ("pt-BR", [0, 2]), ("pt_AO", [0, 1, 2, 3])],
)
def test_exactly_a_language_is_taken_where_it_is_there(
    tmp_path, language, expected
):
    """A path may say what its header does not, and the other way round."""
    paths = [
        write(tmp_path / "none.po", in_language("")),
        write(tmp_path / "pt" / "LC_MESSAGES" / "a.po", in_language("pt_PT")),
        write(tmp_path / "x" / "LC_MESSAGES" / "a.po", in_language("pt_BR")),
        write(tmp_path / "pt_PT" / "LC_MESSAGES" / "a.po", in_language("")),
        write(tmp_path / "de" / "LC_MESSAGES" / "a.po", in_language("de")),
    ]
    found, others = gettext_catalogs.of_language(tmp_path, language, exact=True)
    assert sorted(found) == sorted(str(paths[i]) for i in expected)
    assert len(found) + len(others) == len(paths)


def test_a_file_is_held_out_in_all_countries(tmp_path):
    languages = ("es", "es_MX", "es-AR")
    for language in languages:
        for number in range(12):
            write(
                tmp_path / language / "LC_MESSAGES" / f"{number}.po",
                in_language(language.replace("-", "_"), f"Open {number}"),
            )
    corpus = gettext_catalogs.load(tmp_path, target_language="es")
    sources = {
        name: [source for source, _ in split]
        for name, split in corpus.splits.items()
    }
    assert not set(sources["train"]) & {*sources["test"]}
    assert not set(sources["train"]) & {*sources["validation"]}
    assert {name: len(x) for name, x in sources.items()} == {
        "train": 120,
        "validation": 12,
        "test": 12,
    }


def test_of_other_languages_alone_it_is_told(tmp_path):
    write(tmp_path / "fr.po", in_language(""))
    write(tmp_path / "de.po", in_language(""))
    with pytest.raises(CorpusError, match="de.po is in 'de'.*'es'"):
        gettext_catalogs.load(tmp_path, target_language="es")


def test_other_charsets_and_forms_are_read(tmp_path):
    header = HEADER.replace("UTF-8", "CP1252").replace(
        "nplurals=2; plural=(n != 1)", "nplurals=2; plural=(n > 1)"
    )
    body = (
        '#,c-format\n#.x\nmsgid "One"\nmsgid_plural "%d of"\n'
        'msgstr[0] "%d dé"\nmsgstr[1] "%d dés"\n\n'
        'msgid "%d a"\nmsgid_plural "%d b"\n'
        'msgstr[0] "%d ç"\nmsgstr[1] "%d è"\n\n'
        'msgid "translator-credits"\nmsgstr "Ana"\n\n'
        'msgid "_Open…"\nmsgstr "A_brir…"\n\nmsgid "a_b"\nmsgstr "_b"\n'
    )
    path = tmp_path / "a.po"
    path.write_bytes((body + header).encode("cp1252"))
    # The first form is that of 0, too: "One" has no translation.
    assert read(path) == [
        *(("%d of", "%d dés"), ("%d a", "%d ç"), ("%d b", "%d è")),
        *(("Open…", "Abrir…"), ("a_b", "_b")),
    ]


def test_entries_in_other_languages_are_told():
    counts = text_pairs.count_pairs(9, 4, other_language=3)
    assert text_pairs.counts_line("train", counts) == (
        "train: 9 pairs read, 5 left out (2 blank, 3 in another language), "
        "4 left"
    )
