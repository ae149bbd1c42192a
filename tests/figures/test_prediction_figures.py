import numpy as np
import pytest

pytest.importorskip("matplotlib")

from tests.figures.test_attention_figures import (
    BLUE,
    assert_nothing_is_cut_off,
    count,
)
from tfcopy import figures  # noqa: E402

ORANGE = (255, 127, 14)
LABELS = {"contradiction": 0.123, "neutral": 0.5, "entailment": 0.377}


def align(defined=((False,) * 3, (False,) * 2), truth="neutral"):
    return figures.alignment_figure(
        ["un", "新$", "dog"],
        ["a", "x" * 40],
        np.array([[0.2, 0.3, 0.5], [1, 0, 0]]),
        defined,
        LABELS,
        truth,
    )


def test_words_with_definitions_are_blue():
    plain = align()
    marked = align(((True, False, True), (False, False)))
    assert count(plain, BLUE) == 0 and count(marked, BLUE) > 5
    for image in (plain, marked):
        assert_nothing_is_cut_off(image)


def draw(known=(True, True, False), probabilities=(0.5, 1e-9, 0.01), **options):
    words = ["The", "W" * 30, "wug"]
    likely = [["a 5 %", "$ 3 %"], ["新" * 40], []]
    return figures.next_words_figure(words, probabilities, known, likely)


def test_words_that_are_not_known_are_orange():
    assert count(draw(), ORANGE) > 200 and count(draw(), BLUE) > 200
    assert count(draw(known=(True,) * 3), ORANGE) == 0


def test_nothing_is_cut_off():
    assert_nothing_is_cut_off(draw())
