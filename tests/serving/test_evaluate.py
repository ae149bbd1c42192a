"""The command `python -m tfcopy.serving.evaluate`, and its errors."""

import contextlib
import json
import os

import pytest

from tfcopy.runtime.loading import load
from tfcopy.runtime.translation_records import Translation
from tfcopy.serving import evaluate

SOURCES = ["the session", "Łukasz the x", "x", "the Wug session"]


@pytest.fixture(scope="module")
def texts(random_export, tmp_path_factory):
    """Files of sources, of a model's answers to them, and of others."""
    folder = tmp_path_factory.mktemp("texts")
    with load(random_export) as model:
        answers = [x.text for x in model.translate(SOURCES)]
    for name, lines in (
        ("source", SOURCES),
        ("answers", answers),
        ("other", [f"{x} Wug" for x in answers]),
    ):
        (folder / name).write_text("".join(f"{x}\n" for x in lines))
    return folder


def run(texts, *arguments, source="source", reference="answers"):
    flags = ["--source", texts / source, "--reference", texts / reference]
    return evaluate.main([*map(str, arguments), *map(str, flags)])


@pytest.mark.long
def test_an_export_is_asked_and_compared_with_a_file(
    random_export, texts, capsys
):
    assert not run(texts, random_export, texts / "other", "--json")
    found = json.loads(capsys.readouterr().out)
    own, other = found[str(random_export)], found[str(texts / "other")]
    assert own["bleu"]["score"] == pytest.approx(100)
    assert other["bleu"]["score"] < 100 and other["bleu"]["p"] is not None
    # The last source holds Wug, which is in no vocabulary; no reference does.
    assert other["copied_words"]["precision"] < 100
    assert found.keys() == {str(random_export), str(texts / "other")}
    assert "bs:1000" in other["ter"]["signature"]


@pytest.mark.long
def test_the_table_tells_intervals_and_the_difference(
    random_export, texts, capsys
):
    assert not run(
        texts, texts / "other", random_export, "--metrics", "bleu", "rouge"
    )
    out = capsys.readouterr().out
    assert "BLEU" in out and "rouge1" in out and "p=" in out
    assert f"p: compared with {texts / 'other'}." in out
    assert "nrefs:1|bs:1000" in out
    assert out.endswith(f"\n{random_export}, engines: TensorFlow.\n")


def test_files_may_be_pipes_and_have_any_name(texts, monkeypatch, capsys):
    names = ["signatures", "a\nb", os.fsdecode(b"\xff")]
    content = (texts / "answers").read_bytes()
    ends = content.replace(b"\n", b"\r\n").removesuffix(b"\r\n")
    (texts / names[0]).write_bytes(content)
    (texts / names[1]).write_bytes(b"\xef\xbb\xbf" + ends)
    (texts / names[2]).write_bytes(content)
    monkeypatch.chdir(texts)
    with contextlib.ExitStack() as stack:
        systems = [*names, stack.enter_context(pipe_of(content))]
        flags = ["--source", stack.enter_context(pipe_of(b"a\n\nb\nc\n"))]
        flags += ["--reference", stack.enter_context(pipe_of(content))]
        flags += ["--samples", "9", "--json"]
        assert not evaluate.main([*systems, *flags])
    found = json.loads(capsys.readouterr().out)
    assert list(found) == systems
    assert all(own["chrf"]["score"] == 100 for own in found.values())
    assert not run(texts, *names, "--metrics", "rouge")
    table = capsys.readouterr().out.splitlines()
    assert [x.split("  ")[0] for x in table[1:]] == [
        "signatures",
        "a b",
        "\\udcff",
    ]


@contextlib.contextmanager
def pipe_of(content):
    """The path of a pipe that holds a few bytes."""
    end, other = os.pipe()
    os.write(other, content)
    os.close(other)
    yield f"/dev/fd/{end}"
    os.close(end)


@pytest.mark.parametrize(
    ("flags", "tokenize"), [([], "char"), (["--tokenize", "intl"], "intl")]
)
def test_bleu_is_of_characters_for_japanese(
    texts, flags, tokenize, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(
        evaluate, "read_config", lambda _: {"target_language": "ja_JP"}
    )
    monkeypatch.setattr(evaluate, "find_version", lambda x: str(x))
    monkeypatch.setattr(evaluate, "load", lambda *_, **__: Echo())
    assert not run(texts, texts / "other", tmp_path, *flags, "--json")
    for found in json.loads(capsys.readouterr().out).values():
        assert f"|tok:{tokenize}|" in found["bleu"]["signature"]


class Echo(contextlib.nullcontext):
    """A model that says what it is told."""

    translates = True

    def __enter__(self):
        return self

    def translate(self, texts):
        return [Translation(text, 0.0) for text in texts]


@pytest.mark.parametrize("name", ["nonsense", "", "13A"])
def test_an_unknown_tokenisation_is_refused_at_once(name, capsys):
    flags = ["a", "--source", "b", "--reference", "c", "--tokenize", name]
    with pytest.raises(SystemExit):
        evaluate.main(flags)
    error = capsys.readouterr().err.splitlines()[0]
    assert f"--tokenize: {name!r} is none of none, zh, 13a" in error


def test_files_of_answers_need_a_vocabulary_for_copied_words(texts, capsys):
    assert not run(texts, texts / "other")
    assert "copied" not in capsys.readouterr().out
    words = texts / "vocabulary"
    words.write_text("<pad>\n<unk>\n<s>\n</s>\nthe\n")
    assert not run(texts, texts / "other", "--vocabulary", words)
    assert "copied words: precision" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["{0}/none"], "none: cannot be read"),
        (["{0}/short"], "short has 1 answers to 4 texts"),
        (["{0}/other", "--vocabulary", "{0}/none"], "none"),
        (["{0}/other", "--reference", "{0}/short"], "short has 1. Both"),
    ],
)
def test_errors_are_one_line(texts, arguments, message, capsys):
    (texts / "short").write_text("a\n")
    system, *arguments = [x.format(texts) for x in arguments]
    flags = ["--source", str(texts / "source"), "--reference"]
    flags.append(str(texts / "answers"))
    assert evaluate.main([system, *flags, *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1 and message in lines[0], lines
