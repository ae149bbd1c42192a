"""Accelerators are put back, each on a letter of its own."""

import collections
import pathlib
import shutil
import subprocess

import polib
import pytest

from tests.serving.catalogs.catalogs import HEADER, quoted, write
from tfcopy.data.text.accelerators import insert_mark, letter_of, remove_mark


@pytest.mark.parametrize(
    "text, rest, letter",
    [
        ("_Open File", "Open File", "O"),
        ("Open _with…", "Open with…", "w"),
        ("E_xit", "Exit", "x"),
        ("&Save As...", "Save As...", "S"),
        ("Sa&ve", "Save", "v"),
        ("Zoom &100%", "Zoom 100%", "1"),
        ("_Ångström", "Ångström", "Å"),
    ],
)
def test_an_accelerator_is_taken_out(text, rest, letter):
    found = remove_mark(text)
    assert (found.text, found.letter) == (rest, letter)
    assert found.mark == ("&" if "&" in text else "_")


@pytest.mark.parametrize(
    "text",
    "snake_case R&D Q&A AT&T __n__".split()
    + ["a &amp; b", "a & b", "&#65; b"]
    + ["_a _b", "a_", "Tom && J", "http://a.b?c=1&d=2", "%s_%s", "f(_x)_y"]
    + ["word " * 15 + "_x", "_a\nb", "", "${_x}", "`link`_ here", "a&b;"]
    + ["M%?n?AIL&ail?", "messages&no messages"],
)
def test_what_is_none_is_left(text):
    assert remove_mark(text) == (text, "", "")


def test_translations_have_it_anywhere():
    assert (
        letter_of("ce_rrar", "_") == "r" and letter_of("文件(_F)", "_") == "F"
    )
    for text in ("cerrar", "_a_b", "a_", "", "_ a"):
        assert letter_of(text, "_") == ""


def test_letters_are_used_once():
    used = collections.Counter("f")
    assert [
        insert_mark(text, "_", letter, used, spans)
        for text, letter, spans in (
            ("Fichier", "F", ()),
            ("Enregistrer sous", "S", ()),
            ("Ouvrir %s", "O", ((7, 9),)),
            ("%s ou", "O", ((0, 2),)),
            ("文件…", "F", ()),
            ("Файл", "F", ()),
            ("…", "F", ()),
        )
    ] == [
        *("F_ichier", "Enregistrer _sous", "_Ouvrir %s", "%s o_u"),
        *("文件(_F)…", "_Файл", "(_F)…"),
    ]
    assert used == collections.Counter("fisouфff")


def entry(text, translation="", comment="#: menu.c:1\n"):
    return f"{comment}msgid {quoted(text)}\nmsgstr {quoted(translation)}\n\n"


@pytest.mark.parametrize("mark", ["_", "&"])
def test_a_menu_has_each_letter_once(tmp_path, fill, mangled, mark):
    model = mangled()
    words = {"Open": "Abrir", "Add": "Agregar", "Quit": "Abandonar"}
    words |= {"Undo": "Anular", "Save %s": "Guardar %s", "Help": "Ayuda &_x"}
    model.answer = lambda text: words[text]
    body = entry(f"{mark}About", f"{mark}Acerca") + "".join(
        entry(mark + x) for x in words
    )
    other = entry(f"{mark}Open", comment='#: b.c:1\nmsgctxt "other"\n')
    path = write(tmp_path / "a.po", HEADER + body + other)
    assert fill(path)[0] == 0
    found = {(x.msgid, x.msgctxt): x.msgstr for x in polib.pofile(path)}
    assert found.pop((f"{mark}Open", "other")) == f"{mark}Abrir"
    letters = [x[x.index(mark) + 1].lower() for x in found.values()]
    assert len(set(letters)) == len(letters) == 7
    assert all(x.count(mark) == 1 for x in found.values())
    saved = found[f"{mark}Save %s", None]
    assert saved.endswith(" %s") and saved.replace(mark, "") == "Guardar %s"
    if shutil.which("msgfmt"):
        text = pathlib.Path(path).read_text().replace("#, fuzzy\n", "")
        done = write(tmp_path / "done.po", text)
        subprocess.run(
            ["msgfmt", "--check", f"--check-accelerators={mark}", done]
            + ["--output-file=/dev/null"],
            check=True,
        )


def test_a_menu_is_written_when_it_is_whole(
    tmp_path, fill, mangled, monkeypatch
):
    """Its letters are the same after an interruption."""
    from tfcopy.serving.catalogs import catalog_filling

    monkeypatch.setattr(catalog_filling, "_INTERVAL", 0.0)
    texts = ["_Ab", "_Abc and more", "_Abcd and much more of it"]
    body = "".join(entry(x) for x in texts) + entry("plain")
    path = write(tmp_path / "a.po", HEADER + body)
    model = mangled()
    model.batch_size = model.at_once = 1
    whole = write(tmp_path / "whole.po", HEADER + body)
    assert fill(whole, "--batch_size", 1)[0] == 0

    def stop(text):
        if "much" in text:
            raise KeyboardInterrupt
        return text.upper()

    answer, model.answer = model.answer, stop
    assert fill(path, "--batch_size", 1)[0] == 130
    assert [x.msgstr for x in polib.pofile(path)] == ["", "", "", "PLAIN"]
    model.answer = answer
    assert fill(path)[0] == 0
    assert pathlib.Path(path).read_text() == pathlib.Path(whole).read_text()
