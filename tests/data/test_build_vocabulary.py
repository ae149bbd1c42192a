"""The command that counts words: its files are those that recipes count."""

import gzip
import os

import pytest

from tfcopy.data.build_vocabulary import main
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.tokens import SPECIAL_TOKENS


@pytest.fixture
def texts(tmp_path):
    """Two files, one gzipped, in which words are counted together."""
    one, two = tmp_path / "a.en", tmp_path / "b.en.gz"
    one.write_text("The house, the House\nUse {x} now\n", encoding="utf-8")
    two.write_bytes(gzip.compress("the\nzwölf\n".encode()))
    return [str(one), str(two)]


def words(path):
    found = Vocabulary.load(path).words
    assert found[:4] == SPECIAL_TOKENS
    return list(found[4:])


def start(*arguments):
    try:
        return main(list(map(str, arguments)))
    except SystemExit as error:
        return error.code


def test_most_frequent_words_come_first(texts, tmp_path, capsys):
    path = tmp_path / "new" / "words.txt"
    assert start("--input", *texts, "--output", path, "--size", 6) == 0
    assert words(path) == ["the", ","]
    assert capsys.readouterr().out == (
        f"{path}: 6 words, four of them special, of 11 different ones; they "
        "make 25.00% of the text\n"
    )


def test_words_are_cut_as_the_flags_say(texts, tmp_path):
    path = tmp_path / "words.txt"
    asked = ["--input", *texts, "--output", path]
    assert start(*asked, "--lowercase", "--min_count", 2) == 0
    assert words(path) == ["the", "house"]
    assert start(*asked, "--tokenization", "space", "--min_count", 2) == 0
    assert words(path) == ["the"]
    assert "{" not in words(path)
    assert start(*asked, "--protect", "brace") == 0
    assert "{x}" in words(path) and "{" not in words(path)
    assert start(*asked) == 0
    assert "{x}" not in words(path)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--input", "none.en"], "--input: cannot read none.en"),
        (["--size", "3"], "--size: `max_size` must be at least 4"),
        (["--output", ""], "--output: cannot write"),
        (["--tokenization", "sentencepiece"], "which needs 1 to 1 of these"),
        (["--tokenization", "spaces"], "sentencepiece. Received: spaces."),
        (["--output", "OUT/a.en/x"], "--output: cannot write"),
        (
            ["--protect", "("],
            "build_vocabulary: --protect: '(' is no regular expression",
        ),
        (["--protect", "x*"], "--protect: 'x*' matches the empty string."),
        (["--output", "OUT/a.en"], "is the file of --input as well"),
    ],
)
def test_what_cannot_be_is_told(texts, tmp_path, capfd, arguments, message):
    arguments = [x.replace("OUT", str(tmp_path)) for x in arguments]
    asked = ["--input", *texts, "--output", tmp_path / "words.txt"]
    assert start(*asked, *arguments) == 2
    first, *rest = capfd.readouterr().err.splitlines()
    assert message in first and all("--help" in x for x in rest)
    assert not (tmp_path / "words.txt").exists()


def test_a_pipe_is_read_once(tmp_path):
    end, other = os.pipe()
    os.write(other, b"a b\n")
    os.close(other)
    path = tmp_path / "words.txt"
    assert start("--input", f"/dev/fd/{end}", "--output", path) == 0
    os.close(end)
    assert words(path) == ["a", "b"]


def test_a_text_without_words(tmp_path, capsys):
    (tmp_path / "a.en").write_text("\n \n")
    asked = ["--input", tmp_path / "a.en", "--output", tmp_path / "words.txt"]
    assert start(*asked) == 2
    assert "no word in" in capsys.readouterr().err
