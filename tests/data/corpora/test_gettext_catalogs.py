"""Catalogues as a corpus, and what can be wrong with them."""

import os

import pytest

from tests import beside
from tests.data.real_corpora import documentation_pairs
from tfcopy.data.corpora import gettext_catalogs, text_pairs
from tfcopy.data.corpora.corpus import CorpusError, is_blank

HEADER = """msgid ""
msgstr ""
"Content-Type: text/plain; charset=UTF-8\\n"
"Language: es_AR\\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\\n"

"""
(ENTRIES,) = beside.read(__file__, "entries.po")
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
        # At the edges of a line, filling keeps those of the source.
        ("\u00a0a\u202f\\nb", "c\u3000\\n\u00a0d", [("a", "c"), ("b", "d")]),
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
    parts = gettext_catalogs._hold_out(files, [*files])
    assert [len(part) for part in parts] == [378, 21, 21]


def test_of_large_files_entries_are_held_out(tmp_path):
    """What is held out of one file is held out of the other, too."""
    for folder in ("one", "other"):
        for i in range(3):
            write(tmp_path / folder / f"{i}.po", numbered(60 * i, 60 * i + 60))
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
    assert read(write(tmp_path / "a.po", ENTRIES), "es") == PAIRS


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
    assert targets(tmp_path, "pt_AO") == (["pt"], 12)


@pytest.mark.parametrize(
    ("language", "expected"),
    [("pt", [0, 1]), ("pt-BR", [0, 2]), ("pt_AO", [0, 1, 3])],
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
    found, others = gettext_catalogs.find_catalogs(
        tmp_path, language, one_code=True
    )
    assert sorted(found) == sorted(str(paths[i]) for i in expected)
    assert len(found) + len(others) == len(paths)


@pytest.mark.parametrize("language", ["es", "es_MX"])
def test_of_several_countries_the_nearest_one_is_read(tmp_path, language):
    for code in ("es", "es_MX", "es-AR"):
        for number in range(12):
            write(
                tmp_path / code / "LC_MESSAGES" / f"{number}.po",
                in_language(code.replace("-", "_"), f"Open {number}"),
            )
    assert targets(tmp_path, language) == ([language], 96)
    corpus = gettext_catalogs.load(tmp_path, target_language=language)
    sources = {
        name: [source for source, _ in split]
        for name, split in corpus.splits.items()
    }
    assert not set(sources["train"]) & {*sources["test"]}
    assert not set(sources["train"]) & {*sources["validation"]}
    assert {name: len(x) for name, x in sources.items()} == {
        "train": 40,
        "validation": 4,
        "test": 4,
    }


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        *(("sr@latin", "sr@Latn sr@latin"), ("sr", "sr")),
        *(("zh", "zh_CN zh_Hans"), ("zh_Hans", "zh_CN zh_Hans")),
        *(("zh_CN", "zh_CN zh_Hans"), ("zh_HK", "zh_HK zh_Hant")),
        *(("zh_TW", "zh_Hant zh_TW"), ("uz", "uz")),
        *(("uz@cyrillic", "uz@cyrillic"), ("az_IR", "az_IR"), ("az", "az")),
        *(("pa_PK", "pa_PK"), ("ms@jawi", "ms@jawi")),
    ],
)
def test_scripts_are_never_mixed(tmp_path, capsys, language, expected):
    """A header names less than its path, or nothing."""
    programs = {"zh_Hans": "iso", "zh_Hant": "iso", "sr@Latn": "xdg"}
    for number, code in enumerate(
        "sr sr@Latn sr@latin zh_CN zh_HK zh_Hans zh_Hant zh_TW uz uz@cyrillic "
        "az az_IR pa pa_PK ms ms@jawi".split()
    ):
        name = programs.get(code, "git")
        text = in_language("", f"Open {number}").replace('"none"', f'"{code}"')
        if "@" in code:
            field = f'"Language: {code.partition("@")[0]}\\n"\n\n'
            text = text.replace("\n\n", f"\n{field}", 1)
        write(tmp_path / code / "LC_MESSAGES" / f"{name}.po", text)
    assert targets(tmp_path, language)[0] == expected.split()
    told = "catalogues for" in capsys.readouterr().out
    assert told == (" zh_" in f" {expected}")


@pytest.mark.parametrize(
    ("own", "language"),
    [
        ("zh_TW", "zh_CN"),
        ("zh_TW", "zh"),
        ("sr", "sr@latin"),
        ("uz", "uz@Cyrl"),
    ],
)
def test_a_catalogue_in_another_script_is_refused(tmp_path, own, language):
    path = write(tmp_path / "a.po", in_language(own))
    with pytest.raises(CorpusError, match=f"in '{own}'.*'{language}'"):
        gettext_catalogs.read_catalog(path).header.check_language(language)
    with pytest.raises(CorpusError, match=f"in '{own}'.*'{language}'"):
        gettext_catalogs.find_catalogs(tmp_path, language, one_code=True)


@pytest.mark.parametrize(
    ("path", "field", "expected"),
    [
        ("fr/LC_MESSAGES/a.po", "French", "fr"),
        ("ky/LC_MESSAGES/a.po", "Kyrgyz", "ky"),
        ("de/LC_MESSAGES/a.po", "persian", "fa"),
        ("fr/LC_MESSAGES/a.po", "Frankish", "fr"),
        ("fr.po", "Frankish", "fr"),
        ("fr.po", "ll_CC", "fr"),
        ("fr.po", "und", "fr"),
        ("sr@latin.po", "sr", "sr@latin"),
        ("sr@latin.po", "sr_RS", "sr@latin"),
        ("sr/LC_MESSAGES/a.po", "sr@latin", "sr@latin"),
        ("bin/a.po", "LANGUAGE", None),
        ("io.po", "", None),
        ("zh_TW.po", "", "zh_TW"),
    ],
)
def test_a_name_or_the_path_is_the_language(
    tmp_path, capsys, path, field, expected
):
    text = in_language("xx").replace("Language: xx", f"Language: {field}")
    header = gettext_catalogs.read_catalog(write(tmp_path / path, text)).header
    if expected is None:
        assert header.language == field
        return
    header.check_language(expected)
    is_unknown = field in ("Frankish", "ll_CC", "und")
    is_whole = field and not is_unknown and "@" not in path
    place = "header" if is_whole else "header or its path"
    with pytest.raises(CorpusError, match=f"by its {place}. Expected: 'nl'"):
        header.check_language("nl", is_given=True)
    found, _ = gettext_catalogs.find_catalogs(tmp_path, expected)
    assert [*found] == [str(tmp_path / path)]
    told = capsys.readouterr().out
    assert (f"{field!r}, which is no known" in told) == is_unknown


def test_a_folder_completes_a_header_without_a_script(tmp_path):
    path = write(tmp_path / "sr@latin" / "git" / "a.po", in_language("sr_RS"))
    assert [*gettext_catalogs.find_catalogs(tmp_path, "sr@latin")[0]] == [
        str(path)
    ]
    with pytest.raises(CorpusError, match="'sr@latin', by its header or its"):
        gettext_catalogs.find_catalogs(tmp_path, "sr")


def test_po_is_no_language(tmp_path, capsys):
    folder = tmp_path / "po"
    for name in ("fr", "de"):
        write(folder / f"{name}.po", in_language(""))
    found, _ = gettext_catalogs.find_catalogs(tmp_path, "fr")
    assert [*found] == [str(folder / "fr.po")]
    (folder / "fr.po").rename(folder / "a_fr.po")
    gettext_catalogs.find_catalogs(tmp_path, "fr")
    assert "catalogues for fr: without a code (2)." in capsys.readouterr().out


def test_linked_folders_of_languages_are_read_once(tmp_path, capsys):
    root, other = tmp_path / "locale", tmp_path / "other"
    write(root / "fr" / "LC_MESSAGES" / "a.po", in_language("fr"))
    write(other / "LC_MESSAGES" / "a.po", in_language("", "Close"))
    (root / "es").symlink_to(other)
    (root / "es_ES").symlink_to(other)
    (root / "fr_FR").symlink_to(root / "fr")
    (root / "de").symlink_to(tmp_path)
    (other / "es").symlink_to(other)
    (root / "shared").symlink_to(other.parent)
    found, others = gettext_catalogs.find_catalogs(root, "es")
    assert [*found] == [str(root / "es" / "LC_MESSAGES" / "a.po")]
    assert len(others) == 1
    told = capsys.readouterr().out.splitlines()
    assert [x.split(":")[0] for x in told] == [f"{root}/de", f"{root}/shared"]


def test_only_regular_files_of_bounded_size_are_read(tmp_path):
    os.mkfifo(tmp_path / "a.po")
    bad_place = "a.po: a pipe or a device"
    with pytest.raises(CorpusError, match=bad_place):
        gettext_catalogs.load(tmp_path, target_language="es")
    (tmp_path / "a.po").unlink()
    (tmp_path / "a.po").symlink_to("/dev/zero")
    with pytest.raises(CorpusError, match=bad_place):
        gettext_catalogs.load(tmp_path, target_language="es")
    (tmp_path / "a.po").unlink()
    with open(tmp_path / "a.po", "wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(CorpusError, match="at most 268,435,456 bytes"):
        gettext_catalogs.load(tmp_path, target_language="es")


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
