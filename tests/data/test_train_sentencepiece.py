"""That no text is left out of a model unsaid."""

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tfcopy.data import train_sentencepiece

WORDS = st.lists(st.sampled_from(["a", "βγ", "漢字", "👧👧", "é" * 7]))
SHORT = ["".join(random.Random(i).choices("abcdef ", k=30)) for i in range(200)]


def characters(path):
    sentencepiece = pytest.importorskip("sentencepiece")
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return {x for i in range(len(model)) for x in model.id_to_piece(i)}


@pytest.mark.parametrize("flags", [["--vocab_size", "30"], ["--merges", "3"]])
@pytest.mark.parametrize(
    "line", ["αβγ δεζ " * 600, "αβγδεζ" * 1_000, "αβγ δεζ ▅"]
)
def test_lines_that_sentencepiece_drops_are_learned_from(tmp_path, line, flags):
    text = tmp_path / "text"
    text.write_text("\n".join([*SHORT, *[line] * 9]), encoding="utf-8")
    arguments = ["--input", str(text), "--output", str(tmp_path / "model")]
    assert train_sentencepiece.main([*arguments, *flags]) == 0
    assert {*"abcdefαβγδεζ"} <= characters(tmp_path / "model")


@given(WORDS, st.sampled_from(["", " "]), st.integers(6, 40))
@example(["é" * 7] * 9, "", 13)
def test_parts_are_short_and_together_the_line(words, blank, most):
    line = blank.join(words)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train_sentencepiece, "_MOST_BYTES", most)
        parts = list(train_sentencepiece._parts(line))
    assert all(len(part.encode()) <= most for part in parts)
    assert "".join(parts).replace(" ", "") == line.replace(" ", "")
    if blank and all(len(word.encode()) <= most for word in words):
        assert " ".join(parts) == line


def test_a_sample_is_told(tmp_path, capsys):
    pytest.importorskip("sentencepiece")
    for most in (200, 199):
        path = tmp_path / str(most)
        train_sentencepiece.train(SHORT, 20, path, max_lines=most)
    assert capsys.readouterr().err == (
        f"{path}: learned from 199 of 200 lines, drawn at random.\n"
    )


def test_the_same_texts_make_the_same_file(tmp_path):
    """Runs that learned their pieces would have other fingerprints."""
    pytest.importorskip("sentencepiece")
    for name in "ab":
        train_sentencepiece.train_bpe(SHORT, 9, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
