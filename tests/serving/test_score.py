"""The command `python -m tfcopy.serving.score`."""

import dataclasses
import json
import math
import os

import pytest

from tests.serving.servables.translators import random_translator
from tests.serving.test_export_command import make_run
from tfcopy.serving import score
from tfcopy.serving.servables import storage
from tfcopy.training.checkpoints import Checkpoints

SOURCES = ["the session", "is open ."]


@pytest.fixture(scope="module")
def translator():
    made = random_translator()
    options = dataclasses.replace(made.options, length_penalty=0.0)
    return made.copy(options=options)


@pytest.mark.long
def test_the_score_of_an_answer_is_that_of_the_search(translator):
    answers = translator.translate_all(SOURCES)
    pairs = [(x, y.text) for x, y in zip(SOURCES, answers)]
    scores = score.scores_of(translator, pairs)
    for answer, found in zip(answers, scores, strict=True):
        if len(answer.tokens) == translator.options.max_length:
            continue  # It was cut off: its score has no end.
        assert found.log_probability == pytest.approx(answer.score, abs=1e-4)
        assert found.words == len(answer.tokens) + 1


@pytest.mark.long
def test_pairs_keep_their_order_whatever_their_lengths(translator):
    pairs = [(f"the {'x ' * i}", "x " * (1 + i % 3)) for i in range(5)]
    pairs.insert(2, ("the", " "))
    together = list(score.scores_of(translator, pairs, 2))
    assert together[2] is None
    for i in (0, 1, 3, 5):
        (alone,) = score.scores_of(translator, [pairs[i]])
        assert together[i].words == alone.words
        assert together[i].log_probability == pytest.approx(
            alone.log_probability, abs=1e-4
        )


def test_sources_end_as_they_do_for_the_search(translator):
    pairs = [("the session", "x the")]
    (ended,) = score.scores_of(translator, pairs)
    (bare,) = score.scores_of(translator.copy(append_eos=False), pairs)
    assert abs(ended.log_probability - bare.log_probability) > 0.1


def test_a_model_that_cannot_be_asked_is_refused(translator):
    class Ensemble:
        model = object()

    with pytest.raises(ValueError, match="nothing but ids"):
        list(score.scores_of(Ensemble(), [("a", "b")]))


def test_the_command_scores_a_run(translator, tmp_path, capsys):
    run = make_run(tmp_path / "logs" / "own")
    storage.save(
        translator, run / "pointer_softmax", warmup_texts=["x"], details={}
    )
    checkpoints = Checkpoints(run / "pointer_softmax" / "checkpoints")
    checkpoints.save_best(translator.model.get_weights(), {})
    (tmp_path / "source").write_text("the session\nx\n")
    (tmp_path / "target").write_text("x the\n\n")
    flags = ["--source", tmp_path / "source", "--target", tmp_path / "target"]
    flags = [str(run), *map(str, flags)]
    assert score.main(flags) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert float(first) < 0 and second == ""
    assert score.main([*flags, "--json"]) == 0
    out, err = capsys.readouterr()
    found = json.loads(out.splitlines()[0])
    assert found["log_probability"] == pytest.approx(float(first), abs=1e-4)
    perplexity = math.exp(-found["log_probability"] / found["words"])
    assert f"3 words, perplexity {perplexity:.4g}" in err
    (tmp_path / "target").write_text("x\n")
    assert score.main(flags) == 2
    assert "has 2 lines" in capsys.readouterr().err
    for text, status, told in (("", 2, "source is empty"), ("\n \n", 0, "")):
        for name in ("source", "target"):
            (tmp_path / name).write_text(text)
        assert score.main(flags) == status
        out, err = capsys.readouterr()
        assert told in err and out == "\n" * text.count("\n")
    ends = []
    for lines in (b"\xef\xbb\xbfthe session\r\nx\r\n", b"x the\n\n"):
        end, other = os.pipe()
        os.write(other, lines)
        os.close(other)
        ends.append(f"/dev/fd/{end}")
    flags = ["--source", ends[0], "--target", ends[1]]
    assert score.main([str(run), *flags]) == 0
    assert float(capsys.readouterr().out.split()[0]) == float(first)
