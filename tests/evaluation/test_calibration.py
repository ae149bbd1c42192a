"""Probabilities that answers are right, and a sentence about a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcopy.evaluation import calibration

ANSWERS = st.lists(st.tuples(st.floats(-50, 0), st.booleans()), min_size=1)


@given(ANSWERS)
def test_a_better_score_is_never_less_likely_right(answers):
    scores, right = zip(*answers)
    points = calibration.fit(scores, right)
    model = {"scores": {"calibration": points}}
    found = [calibration.confidence_of(model)(x) for x in sorted(scores)]
    assert found == sorted(found) and all(0 <= x <= 1 for x in found)
    shares = [y for _, y in points]
    # Two more answers, one of them right, move a share by at most this.
    moved = 1 / (min(len(answers), 10) + 2) + 1e-4
    assert min(shares) - moved <= np.mean(right) <= max(shares) + moved
    assert 0 < min(shares) and max(shares) < 1


def test_shares_are_those_that_were_drawn():
    rng = np.random.default_rng(0)
    scores = -rng.exponential(2.0, 20_000)
    right = rng.random(20_000) < np.exp(scores)
    points = calibration.fit(scores, right)
    model = {"scores": {"calibration": points}}
    assert len(points) <= 20
    for score in (-0.1, -0.5, -1.0, -3.0):
        found = calibration.confidence_of(model)(score)
        assert found == pytest.approx(np.exp(score), abs=0.06)
    assert calibration.confidence_of({})(-1.0) is None


def test_a_few_answers_make_no_curve():
    scores, right = range(-29, 0), [False] * 14 + [True] * 15
    assert calibration.fit(scores[:14], right[-14:]) == [[-22.5, 0.9375]]
    points = calibration.fit([*scores, 0], [*right, False])
    assert points == [[-24.5, 0.0833], [-14.5, 0.5833], [-4.5, 0.8333]]


@pytest.mark.parametrize(("count", "share"), [(1, 2 / 3), (9, 10 / 11)])
def test_a_few_answers_promise_nothing_for_sure(count, share):
    scores = range(-count, 0)
    ((_, found),) = calibration.fit(scores, [True] * count)
    assert found == pytest.approx(share, abs=1e-4)
    ((_, found),) = calibration.fit(scores, [False] * count)
    assert found == pytest.approx(1 - share, abs=1e-4)


def test_equal_scores_are_equally_likely_right():
    right = [False] * 10 + [True] * 10
    assert calibration.fit([-1.0] * 20, right) == [[-1.0, 0.5]]
    assert calibration.fit([-1.0] * 20, right[::-1]) == [[-1.0, 0.5]]


def test_only_finite_scores_count():
    scores, right = [-3.0, np.nan, -1.0, -np.inf], [False, True, True, True]
    assert calibration.fit(scores, right) == [[-2.0, 0.5]]
    assert calibration.fit(scores[1:2], right[1:2]) == []
    assert calibration.fit([], []) == []


@pytest.mark.parametrize(
    ("share", "name"),
    [(1.0, "likely right"), (0.74, "look"), (0.2, "do not trust"),
     (0.0, "do not trust")],
)  # fmt: skip
def test_a_level_has_a_name(share, name):
    assert calibration.level(share) == name


def test_a_sentence_tells_how_many_were_right():
    scores = {"right": 31.4, "bleu": 21.5, "chrf": 38.64}
    other = {**scores, "right": 28.0}
    model = {"scores": {**scores, "must_copy": other}}
    sentence = calibration.quality(model)
    assert sentence == (
        "Of the translations of texts held out of its catalogues, 31 % were "
        "right as they stood (BLEU 21.5, chrF 38.6). Expect to write most of "
        "them anew."
    )
    model["search"] = {"must_copy": True}
    model["scores"] |= {"held_out": ["git", "bash"], "texts": 1300}
    other["chrf"] = 40.0
    assert calibration.quality(model) == (
        "Of 1,300 translations of programs (git, bash) held out of its "
        "catalogues, 28 % were right as they stood (BLEU 21.5, chrF 40.0)."
    )
    assert calibration.quality({"scores": {"bleu": 3.0}}) is None
    other["texts"] = "x"
    for count in (None, -5, 1, True, 10**4000, "x"):
        model["scores"]["texts"] = count
        assert calibration.quality(model).startswith("Of the translations of")


@pytest.mark.parametrize(
    "points",
    [None, [], [[]], [None], [[-5], [-1]], [[-5, 0.1], [-1]],
     [[-5, 0.1, 3], [-1, 0.9, 3]], [[-1, 0.9], [-5, 0.1]],
     [[-5, 0.9], [-1, 0.1]], [[-5, -0.1], [-1, 1.1]], [[np.nan, 0.5]],
     [[-1, None]], [[-np.inf, 0], [0, 1]]],
)  # fmt: skip
def test_a_damaged_curve_is_none(points):
    model = {"scores": {"calibration": points}}
    assert calibration.confidence_of(model)(-1.0) is None


def test_a_score_that_is_no_number_has_no_probability():
    model = {"scores": {"calibration": [[-1, 0.5]]}}
    assert calibration.confidence_of(model)(-9.0) == 0.5
    assert calibration.confidence_of(model)(np.nan) is None


@pytest.mark.parametrize(
    "more",
    [{"bleu": None}, {"must_copy": {"right": np.nan}}, {"right": np.inf}],
)
def test_a_sentence_needs_all_figures(more):
    figures = {"right": 3.0, "bleu": 2.0, "chrf": 1.0, "must_copy": None}
    model = {"scores": figures, "search": {"must_copy": True}}
    assert "programs" not in calibration.quality(model)
    assert "(a)" in calibration.quality(
        {"scores": {**figures, "held_out": [None, "a"]}}
    )
    assert calibration.quality({**model, "scores": figures | more}) is None
