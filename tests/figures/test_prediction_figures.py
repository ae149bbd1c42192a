import numpy as np
import pytest

pytest.importorskip("matplotlib")

from tests.figures.test_attention_figures import (
    BLUE,
    assert_nothing_is_cut_off,
    count,
)
from tfcopy import figures  # noqa: E402

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
