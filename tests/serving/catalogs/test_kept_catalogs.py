"""Catalogues as projects keep them, and as `msgfmt` accepts them."""

import pathlib
import re
import subprocess

import pytest

from tests.serving.catalogs import catalogs
from tests.serving.catalogs.catalogs import HEADER, quoted, write
from tfcopy.data.corpora.gettext_catalogs import read_catalog

PLURALS = {
    "ja": "nplurals=1; plural=0;",
    "es": "nplurals=2; plural=(n != 1);",
    "fr": "nplurals=2; plural=(n > 1);",
    "ru": "nplurals=3; plural=n%10==1 && n%100!=11 ? 0 : n%10>=2 && n%10<=4 && "
    "(n%100<10 || n%100>=20) ? 1 : 2;",
    "pl": "nplurals=3; plural=n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<10 || "
    "n%100>=20) ? 1 : 2;",
    "sl": "nplurals=4; plural=n%100==1 ? 0 : n%100==2 ? 1 : n%100==3 || "
    "n%100==4 ? 2 : 3;",
    "ga": "nplurals=5; plural=n==1 ? 0 : n==2 ? 1 : n<7 ? 2 : n<11 ? 3 : 4;",
    "ar": "nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && "
    "n%100<=10 ? 3 : n%100>=11 && n%100<=99 ? 4 : 5;",
}
# The form that is made from "One file"; where "1 of %d" has all spans, too.
OF_ONE = {"es": 0, "pl": 0, "ga": 0, "ar": 1}


def header_of(language):
    header = HEADER.replace("es_AR", language)
    return header.replace("nplurals=2; plural=(n != 1);", PLURALS[language])


@pytest.mark.parametrize("language", PLURALS)
def test_plural_forms_are_those_of_the_formula(
    tmp_path, fill, mangled, language
):
    mangled()
    count = int(re.search(r"\d", PLURALS[language])[0])
    entries = {
        ("c-format", "One file", "%d files"),
        ("c-format", "%d file", "%d files"),
        # Python refuses a text without what it was given.
        ("python-format", "One page", "%d pages"),
        ("python-format", "One word", "%(n)d words"),
    }
    body = "".join(
        f'#, {flag}\nmsgid "{one}"\nmsgid_plural "{many}"\n'
        + "".join(f'msgstr[{i}] ""\n' for i in range(count))
        + "\n"
        for flag, one, many in sorted(entries)
    )
    path = write(tmp_path / "a.po", header_of(language) + body)
    assert fill(path, "--language", language, "--strict")[0] == 0
    text = pathlib.Path(path).read_text()
    done = write(tmp_path / "b.po", text.replace("#, fuzzy, ", "#, "))
    catalogs.check_with_msgfmt(done)
    forms = {x.singular: x.translations for x in read_catalog(path).entries[1:]}
    for one, many in (("ONE FILE", "%d FILES"), ("ONE WORD", "%(n)d WORDS")):
        expected = [many] * count
        if language in OF_ONE:
            expected[OF_ONE[language]] = one
        assert [
            *forms[one.title().replace("F", "f").replace("W", "w")].values()
        ] == expected
    assert set(forms["One page"].values()) == {"%d PAGES"}
    same = [*forms["%d file"].values()]
    place = 1 if language == "ar" else 0
    assert [i for i, x in enumerate(same) if x == "%d FILE"] == (
        [] if language == "ja" else [place]
    )


@pytest.mark.parametrize(
    "formula",
    ["", "plural=", "plural=(n", "plural=n/0", "plural=9", "plural=n**9"],
)
def test_without_a_formula_the_first_form_is_that_of_one(
    tmp_path, fill, formula
):
    header = HEADER.replace("plural=(n != 1);", formula)
    body = 'msgid "a"\nmsgid_plural "b %d"\nmsgstr[0] ""\nmsgstr[1] ""\n'
    path = write(tmp_path / "a.po", header + body)
    assert fill(path)[0] == 0
    (entry,) = read_catalog(path).entries[1:]
    assert entry.translations == {0: "A", 1: "B %d"}


def test_what_msgfmt_accepts_is_filled(tmp_path, fill):
    body = (
        '#.Default: "Welcome"\n#,c-format\nmsgid "front %d"\nmsgstr ""\n\n'
        '#:a.c:1\n#|msgid "was"\nmsgid"two"" strings"\nmsgstr""\n'
        '#~msgid "gone"\n#~msgstr ""\n'
    )
    path = write(tmp_path / "a.po", HEADER + body)
    catalogs.check_with_msgfmt(path)
    status, output, _ = fill(path)
    assert (status, output) == (0, f"{path}: 2 entries filled.\n")
    catalogs.check_with_msgfmt(path)
    text = pathlib.Path(path).read_text()
    assert "\n#, fuzzy, c-format\n" in text and 'msgid"two"" strings"' in text
    entries = read_catalog(path).entries[1:]
    assert [x.translations[0] for x in entries] == ["FRONT %d", "TWO STRINGS"]


def test_a_header_may_be_last_or_missing(tmp_path, fill):
    body = 'msgid "a"\nmsgstr ""\n\n'
    path = write(tmp_path / "a.po", body + HEADER)
    assert fill(path)[0] == 0
    assert 'msgstr "A"' in pathlib.Path(path).read_text()
    assert fill(path, "--language", "fr")[0] == 2
    path = write(tmp_path / "b.po", body)
    status, _, error = fill(path)
    assert status == 2 and "expected a header" in error
    assert fill(path, "--language", "es")[0] == 0
    assert 'msgstr "A"' in pathlib.Path(path).read_text()


def test_other_charsets_stay(tmp_path, fill, mangled):
    model = mangled()
    header = HEADER.replace("UTF-8", "ISO-8859-2").replace(
        "Translators", "Łódź"
    )
    body = 'msgid "a"\nmsgstr ""\n\nmsgid "b"\nmsgstr ""\n'
    path = tmp_path / "a.po"
    path.write_bytes((header + body).encode("iso-8859-2"))
    model.answer = {"a": "ąę", "b": "漢"}.get
    status, output, _ = fill(path)
    assert status == 0 and "1 ISO-8859-2 lacks letters of its transl" in output
    text = path.read_bytes().decode("iso-8859-2")
    assert 'msgstr "ąę"' in text and "# Łódź." in text
    assert text.endswith('msgid "b"\nmsgstr ""\n')
    catalogs.check_with_msgfmt(str(path))
    for charset, reason in (
        ("KLINGON", "line 10: the header names the charset KLINGON"),
        ("UTF-16", "line 10: the header names the charset UTF-16"),
        ("ASCII", "line 1: not ASCII"),
    ):
        write(path, header.replace("ISO-8859-2", charset) + body)
        status, _, error = fill(path)
        assert status == 2 and f"{path}, {reason}" in error


def test_what_is_not_wrapped_stays_so(tmp_path, fill):
    long = "word " * 30 + "end"
    body = f"msgid {quoted(long)}\nmsgstr "
    path = write(tmp_path / "a.po", f'{HEADER}{body}""\n')
    assert fill(path, "--max_words", "100")[0] == 0
    text = pathlib.Path(path).read_text()
    assert text.endswith(body + quoted(long.upper()) + "\n")
    again = subprocess.run(
        ["msgcat", "--no-wrap", path], capture_output=True, text=True
    )
    assert again.stdout == text
    entry = f'#, no-wrap\nmsgid ""\n"{long[:75]}"\n"{long[75:]}"\nmsgstr '
    path = write(tmp_path / "b.po", f'{HEADER}{entry}""\n')
    assert fill(path, "--max_words", "100")[0] == 0
    assert quoted(long.upper()) in pathlib.Path(path).read_text()


def test_names_of_translators_are_left_to_them(tmp_path, fill, model):
    names = ["translator-credits", "Your names", "NAME OF TRANSLATORS"]
    names += [
        "_: translators name",
        "CREDIT_FOR_TRANSLATORS",
        "translator_credits",
    ]
    body = "".join(f'msgid "{x}"\nmsgstr ""\n\n' for x in names)
    path = write(tmp_path / "a.po", HEADER + body)
    status, output, _ = fill(path)
    assert output == (
        f"{path}: 0 entries filled; left as they are: 6 for translators' "
        "names.\n"
    )
    assert pathlib.Path(path).read_text() == HEADER + body and not model.asked


def test_a_template_is_no_catalogue(tmp_path, fill):
    body = 'msgid "a"\nmsgstr ""\n'
    path = write(tmp_path / "a.pot", HEADER + body)
    status, _, error = fill(path, "--language", "es")
    assert status == 2 and "a.pot is a template. `msginit` makes" in error
    new = tmp_path / "es.po"
    assert fill(path, "--output", new)[0] == 0
    assert 'msgstr "A"' in new.read_text()
    assert pathlib.Path(path).read_text() == HEADER + body
    write(tmp_path / "a.pot", HEADER.replace("UTF-8", "CHARSET") + body)
    status, _, error = fill(path, "--output", tmp_path / "new.po")
    assert status == 2 and "as templates do; `msginit` makes a cat" in error


@pytest.mark.parametrize("output", [False, True])
def test_of_a_folder_the_language_is_taken(tmp_path, fill, output):
    body = 'msgid "a"\nmsgstr ""\n'
    folder = tmp_path / "locale"
    texts = {
        "es/LC_MESSAGES/django.po": HEADER + body,
        "fr/LC_MESSAGES/django.po": HEADER.replace("es_AR", "fr") + body,
        # Its path tells the language.
        "app/es/LC_MESSAGES/django.po": body,
        # What is in another language need not be readable.
        "de/LC_MESSAGES/django.po": "nothing",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True)
        write(folder / name, text)
    flags = ["--output", tmp_path / "new"] if output else []
    status, told, error = fill(folder, "--language", "es", *flags)
    assert (status, error) == (0, "")
    first, *filled = told.splitlines()
    assert first == f"{folder}: of 4 catalogues 2 in es."
    assert len(filled) == 2
    for name, text in texts.items():
        now = (folder / name).read_text()
        assert (now == text) == (output or "es/" not in name)
        assert (tmp_path / "new" / name).exists() == (output and "es/" in name)
    status, _, error = fill(folder, "--language", "ja")
    assert status == 2 and "Expected a catalogue in 'ja'" in error
    status, _, error = fill(folder, model="h:1/x")
    assert status == 2 and "--language: the catalogues of a folder" in error
