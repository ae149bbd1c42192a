"""Translations that exist already: which one is found for an entry."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests import beside
from tfcopy.data.corpora.catalog_lines import entries_of
from tfcopy.serving.catalogs.memory import Memory


def entries(text):
    return entries_of("a.po", text.split("\n"))


def memory(*texts):
    made = Memory()
    for number, text in enumerate(texts):
        made.add_entries(entries(text), f"{number}.po")
    return made


def entry(singular, context=None, plural=None, forms=2):
    lines = [f'msgctxt "{context}"'] if context is not None else []
    lines.append(f'msgid "{singular}"')
    if plural is None:
        lines.append('msgstr ""')
    else:
        lines.append(f'msgid_plural "{plural}"')
        lines += [f'msgstr[{i}] ""' for i in range(forms)]
    return entries("\n".join(lines))[0]


(KNOWN,) = beside.read(__file__, "known.po")


def test_the_same_text_is_found_with_its_context_first():
    known = memory(KNOWN)
    assert known.exact(entry("Open")).forms == {0: "Abrir"}
    assert known.exact(entry("Open", "door")).forms == {0: "Abierta"}
    found = known.exact(entry("Open", "menu"))
    assert found.forms == {0: "Abrir"} and found.name == "0.po"
    found = known.exact(entry("%d file", plural="%d files"))
    assert found.forms == {0: "%d archivo", 1: "%d archivos"}


@pytest.mark.parametrize(
    "missing",
    [
        entry("Close"),  # fuzzy
        entry("Save"),  # not translated
        entry("open"),
        entry("%d file"),
        entry("%d file", plural="%d Files"),
        entry("%d file", plural="%d files", forms=3),
    ],
    ids="fuzzy open case singular plural forms".split(),
)
def test_what_is_not_the_same_is_not_found(missing):
    assert memory(KNOWN).exact(missing) is None


def test_what_most_have_counts_then_the_first():
    texts = [f'msgid "Open"\nmsgstr "{x}"\n' for x in "abbc"]
    assert memory(*texts).exact(entry("Open")).forms == {0: "b"}
    assert memory(*texts[:2]).exact(entry("Open")).forms == {0: "a"}


def test_the_nearest_text_is_found():
    known = memory(KNOWN + '\nmsgid "Open a file"\nmsgstr "Abre"\n')
    found = known.find("Open the file", 70)
    assert found.source == "Open a file" and found.forms == {0: "Abre"}
    # 2 * 10 letters of 24 are the same.
    assert found.likeness == pytest.approx(100 * 20 / 24)
    assert known.find("Open the file", 84) is None
    assert Memory().find("a", 1) is None


@given(st.dictionaries(st.text(min_size=1), st.text(min_size=1)), st.text())
def test_each_text_that_was_added_is_found(texts, other):
    known = Memory()
    for source, target in texts.items():
        known._add((None, source, None), {0: target}, "a.tmx")
    for source, target in texts.items():
        asked = entry("x")
        asked.singular = source
        assert known.exact(asked).forms == {0: target}
        assert known.find(source, 100).likeness == 100
    asked = entry("x")
    asked.singular = other
    assert (known.exact(asked) is None) == (other not in texts)


def test_files_of_all_kinds_are_read(tmp_path):
    tmx = tmp_path / "a.tmx"
    tmx.write_text(
        '<tmx><body><tu><tuv lang="en"><seg>Hi</seg></tuv><tuv lang="es">'
        "<seg>Hola</seg></tuv></tu></body></tmx>"
    )
    header = (
        'msgid ""\nmsgstr ""\n"Content-Type: text/plain; charset=UTF-8\\n"\n'
    )
    po = tmp_path / "a.po"
    po.write_text(header + '"Language: es\\n"\n\n' + KNOWN)
    known = Memory()
    for path in (tmx, po):
        known.add_file(path, "en", "es")
    assert known.exact(entry("Hi")).forms == {0: "Hola"}
    assert known.exact(entry("Open")).forms == {0: "Abrir"}
    with pytest.raises(ValueError, match="a.po, line 1: .* is in 'es'"):
        known.add_file(po, "en", "fr")
    with pytest.raises(ValueError, match="a.tmx: no unit in both en and fr"):
        known.add_file(tmx, "en", "fr")
