"""The command that fills catalogues."""

import contextlib
import difflib
import os
import pathlib
import random
import re

import polib
import pytest

from tests.serving.catalogs import catalogs
from tests.serving.catalogs.catalogs import (
    BODY,
    FILLED,
    HEADER,
    ShoutingModel,
    write,
)
from tfcopy.runtime import remote_model
from tfcopy.runtime.signatures import Signature
from tfcopy.serving import translate_po


def test_a_catalogue_is_filled(tmp_path, fill, model):
    path = write(tmp_path / "a.po", HEADER + BODY)
    os.chmod(path, 0o640)
    status, output, error = fill(path)
    assert (status, error) == (0, "")
    assert output == f"{path}: 4 entries filled, 2 of them with lost spans.\n"
    assert (tmp_path / "a.po").read_text() == HEADER + FILLED
    assert os.stat(path).st_mode & 0o777 == 0o640
    catalogs.check_with_msgfmt(path)
    assert len(model.asked) == len(set(model.asked)) == 6
    before = os.stat(path)
    assert fill(path) == (0, f"{path}: nothing to fill.\n", "")
    assert os.stat(path) == before and len(model.asked) == 6


def test_a_file_keeps_its_attributes(tmp_path, fill, monkeypatch):
    path = write(tmp_path / "a.po", HEADER + BODY)
    with contextlib.suppress(OSError):
        os.setxattr(path, "user.tfcopy", b"x")
    names = os.listxattr(path)
    os.chmod(path, 0o4750)
    os.utime(path, (0, 0))
    os.link(path, tmp_path / "b.po")
    owners = []
    monkeypatch.setattr(os, "chown", lambda _, *ids: owners.append(ids))
    _, output, error = fill(path)
    assert output.splitlines()[1:] == [
        f"{path}: hard links to the earlier file (1) keep its content."
    ]
    status = os.stat(path)
    assert (status.st_mode & 0o7777, error) == (0o4750, "")
    assert status.st_mtime > 0 and os.listxattr(path) == names
    assert owners == [(status.st_uid, -1), (-1, status.st_gid)]
    assert (tmp_path / "b.po").read_text() == HEADER + BODY

    def refuse(_, user, group):
        if user >= 0:
            raise PermissionError

    monkeypatch.setattr(os, "chown", refuse)
    path = write(tmp_path / "c.po", HEADER + BODY)
    assert fill(path)[1].endswith(f"{path}: the file has another owner now.\n")


def test_a_read_only_file_is_not_changed(tmp_path, fill):
    path = write(tmp_path / "a.po", HEADER + BODY)
    os.chmod(path, 0o444)
    status, output, error = fill(path)
    assert (status, output) == (2, "") and f"{path}: the file is read" in error
    other = tmp_path / "b.po"
    for _ in range(2):
        assert fill(path, "--output", other)[0] == 0
    assert other.read_text() == HEADER + FILLED
    path = str(other)
    os.chmod(path, 0o444)
    assert fill(path) == (0, f"{path}: nothing to fill.\n", "")


@pytest.mark.parametrize("ending", ["po", "xlf"])
def test_no_pipe_is_waited_for(tmp_path, fill, ending):
    pipe = tmp_path / f"pipe.{ending}"
    os.mkfifo(pipe)
    file = write(tmp_path / "a.po", HEADER + BODY)
    for arguments in ([pipe], [file, "--output", pipe]):
        status, output, error = fill(*arguments)
        assert (status, output) == (2, "") and f"{pipe}: a pipe or" in error


def test_the_outcome_has_another_place(tmp_path, fill):
    path = write(tmp_path / "a.po", HEADER + BODY)
    one = tmp_path / "one.po"
    assert fill(path, "--output", one)[0] == 0
    assert one.read_text() == HEADER + FILLED
    (tmp_path / "b").mkdir()
    other = write(tmp_path / "b" / "b.po", HEADER)
    status, output, _ = fill(path, other, "--output", tmp_path / "new")
    assert status == 0 and "new/b.po: nothing to fill" in output
    assert (tmp_path / "new" / "a.po").read_text() == HEADER + FILLED
    assert (tmp_path / "new" / "b.po").read_text() == HEADER
    assert pathlib.Path(path).read_text() == HEADER + BODY
    # What a translator has made of it since then stays.
    reviewed = one.read_text().replace("FORGET  AND", "Olvida")
    one.write_text(reviewed)
    assert fill(path, "--output", one)[1] == f"{one}: nothing to fill.\n"
    assert one.read_text() == reviewed
    write(one, HEADER + 'msgid "done"\nmsgstr "hecho"\n')
    status, _, error = fill(path, "--output", one)
    assert status == 2 and f"{one} exists and is not {path}" in error
    again = write(tmp_path / "b" / "a.po", HEADER)
    status, _, error = fill(path, again, "--output", tmp_path / "new")
    assert status == 2 and "would both be" in error
    status, _, error = fill(path, again, "--output", one)
    assert status == 2 and "Expected a folder for 2" in error


def test_wrong_flags_are_told(tmp_path, fill, capfd):
    path = write(tmp_path / "a.po", HEADER + BODY)
    assert "a folder" not in fill(path, "--language", "es")[2]
    status, _, error = fill(path, "--language", "de")
    assert status == 2 and "in 'es_AR', by its header. Exp" in error
    status, _, error = fill(tmp_path / "none.po")
    assert (
        status == 2 and "cannot read " in error and "none.po (No such" in error
    )
    for pattern, reason in (("(", "is no regular expr"), ("x*", "matches the")):
        status, _, error = fill(path, "--protect", "rst", pattern)
        assert status == 2 and error.count("\n") == 1
        assert error.startswith(
            f"translate_po: --protect: {pattern!r} {reason}"
        )
    for wrong in (["--label", "x"], ["--max_words", "0"]):
        with pytest.raises(SystemExit, match="2"):
            fill(path, *wrong)
        assert wrong[0] in capfd.readouterr().err


def test_spans_are_those_of_the_flag_or_the_export(tmp_path, fill, model):
    text = HEADER + 'msgid "forget {n} of %d at a@b.c and <a>"\nmsgstr ""\n'
    for protect in (None, ["printf"]):
        model.config["source_tokenizer"] = {"protect": protect}
        for flags, lost in (
            ([], "{n}, %d, a@b.c, <a>"),
            (["--protect", "html", "<a>"], "<a>"),
        ):
            path = write(tmp_path / "a.po", text)
            fill(path, *flags)
            assert f"# tfcopy: lost {lost}\n" in pathlib.Path(path).read_text()
    path = write(tmp_path / "c.po", text)
    fill(path, "--protect", "printf")
    assert "# tfcopy: lost %d\n" in pathlib.Path(path).read_text()


def test_a_glossary_is_sent(tmp_path, fill, model):
    text = "read close " + "me " * 9  # perhaps more than the model reads
    body = f'msgid "{text.strip()}"\nmsgstr ""\n\nmsgid "close"\nmsgstr ""\n'
    path = write(tmp_path / "a.po", HEADER + body)
    terms = write(tmp_path / "terms.tsv", "close\tcerrar\n")
    flags = [path, "--glossary", terms]
    status, _, error = fill(*flags)
    assert status == 2 and "reads no --glossary" in error
    inputs = {"text": 1, "glossary": 2}
    model.signatures["with_glossary"] = Signature(inputs, ("text", "score"))
    assert fill(*flags)[0] == 0
    answers = [entry.msgstr for entry in polib.pofile(path)]
    assert answers == ["READ cerrar" + " ME" * 9, "cerrar"]
    write(tmp_path / "terms.tsv", "close\n")
    write(tmp_path / "a.po", HEADER + body)
    status, _, error = fill(*flags)
    assert status == 2 and "terms.tsv, line 1: expected phrase" in error


def test_a_server_is_asked(tmp_path, fill, monkeypatch):
    made = []

    class Server(ShoutingModel):
        def __init__(self, *arguments, **options):
            super().__init__()
            self.config = {}
            made.append((arguments, options))

        def __enter__(self):
            return self

        def __exit__(self, *_):
            made.append("closed")

    monkeypatch.setattr(remote_model, "RemoteModel", Server)
    path = write(tmp_path / "a.po", HEADER + BODY)
    flags = ["--version", "3", "--deadline", "7"]
    assert fill(path, *flags, model="http://h:1/x")[0] == 0
    (arguments, options), closed = made
    assert arguments == ("http://h:1", "x") and closed == "closed"
    assert options["version"] == 3 and options["deadline"] == 7
    assert pathlib.Path(path).read_text() == HEADER + FILLED


def test_an_export_fills_a_catalogue(tmp_path, copier_export, capfd):
    header = HEADER.replace("es_AR", "en_GB")
    path = write(tmp_path / "a.po", header + 'msgid "a 北京"\nmsgstr ""\n')
    assert translate_po.main([copier_export, path]) == 0
    assert polib.pofile(path)[0].msgstr == "a 北京"


def test_an_export_tells_its_language_for_a_folder(
    tmp_path, copier_export, capfd, monkeypatch, model
):
    for language in ("en", "de"):
        header = HEADER.replace("es_AR", language)
        body = f'msgid "a {language}"\nmsgstr ""\n'
        write(tmp_path / f"{language}.po", header + body)
    assert translate_po.main([copier_export, str(tmp_path)]) == 2
    assert "--language: the catalogues of a f" in capfd.readouterr().err
    model.config = told = {"target_language": "en"}
    monkeypatch.setattr(translate_po, "read_config", lambda folder: told)
    assert translate_po.main([copier_export, str(tmp_path)]) == 0
    assert "of 2 catalogues 1 in en." in capfd.readouterr().out
    assert polib.pofile(str(tmp_path / "en.po"))[0].msgstr == "A EN"
    assert polib.pofile(str(tmp_path / "de.po"))[0].msgstr == ""


def test_only_models_that_translate_are_asked(tmp_path, fill, model):
    path = write(tmp_path / "a.po", HEADER + BODY)
    del model.signatures["analyse"]
    status, _, error = fill(path)
    assert status == 2 and "not a model that translates" in error


@catalogs.needs_msgfmt
def test_half_of_real_catalogues_is_filled(tmp_path, fill):
    folder = os.environ.get("TFCOPY_PYDOCS")
    if not folder:
        pytest.skip("TFCOPY_PYDOCS names no folder of documentation pairs.")
    chance = random.Random(0)
    originals = sorted((pathlib.Path(folder) / "po").glob("*.po"))
    assert len(originals) == 5
    for original in originals:
        text = original.read_text()
        begin = text.index("\n\n")
        halved = text[:begin] + re.sub(
            r'^msgstr ".*"\n(?:".*"\n)*',
            lambda x: chance.choice([x[0], 'msgstr ""\n']),
            text[begin:],
            flags=re.MULTILINE,
        )
        write(tmp_path / original.name, halved)
    paths = sorted(tmp_path.glob("*.po"))
    before = {path: path.read_text() for path in paths}
    assert fill(*paths, "--max_words", 1000)[0] == 0
    for path, text in before.items():
        catalogs.check_with_msgfmt(path)
        new = polib.pofile(str(path))
        old = polib.pofile(text)
        is_open = [not (x.msgstr or x.obsolete or x.fuzzy) for x in old]
        assert sum(is_open) > 3
        assert path.read_text().count("# tfcopy: score") == sum(is_open)
        for was_open, one, other in zip(is_open, old, new, strict=True):
            assert one.msgid == other.msgid
            assert other.fuzzy and other.msgstr if was_open else one == other
        changes = difflib.ndiff(text.split("\n"), path.read_text().split("\n"))
        removed = {line[2:] for line in changes if line.startswith("- ")}
        assert removed <= {'msgstr ""'}


def test_a_language_that_is_given_overrides_a_name(tmp_path, fill, model):
    for name in ("a", "old"):
        write(
            tmp_path / f"{name}.po",
            HEADER.replace("es_AR", "German") + 'msgid "a"\nmsgstr ""\n',
        )
    arguments = (tmp_path / "a.po", "--memory", tmp_path / "old.po")
    status, _, error = fill(*arguments)
    assert status == 2 and "is in 'German', by its header" in error
    assert fill(*arguments, "--language", "de")[0] == 0
    assert 'msgstr "A"' in (tmp_path / "a.po").read_text()
