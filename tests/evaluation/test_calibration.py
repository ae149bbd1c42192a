"""Probabilities that answers are right, and a sentence about a model."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tfcopy.evaluation import calibration

ANSWERS = st.lists(
    st.tuples(st.floats(-50, 0), st.booleans()), min_size=50, max_size=150
)


def _promised(points, scores):
    """Returns the confidence of texts of one part each."""
    confidence = calibration.confidence_of({"scores": {"calibration": points}})
    return [confidence([x]) for x in scores]


@given(ANSWERS)
def test_a_better_score_is_never_less_likely_right(answers):
    scores, right = zip(*answers)
    points = calibration.fit(scores, right)
    found = _promised(points, sorted(scores))
    assert found == sorted(found) and all(0 <= x <= 1 for x in found)
    shares = [y for _, y in points]
    # Two more answers move a share by at most this.
    moved = 2 / 12 + 1e-4
    assert min(shares) - moved <= np.mean(right) <= max(shares) + moved
    assert 0 < min(shares) and max(shares) < 1


def test_shares_are_those_that_were_drawn():
    rng = np.random.default_rng(0)
    scores = -rng.exponential(2.0, 20_000)
    right = rng.random(20_000) < np.exp(scores)
    points = calibration.fit(scores, right)
    assert len(points) <= 20
    drawn = (-0.1, -0.5, -1.0, -3.0)
    assert _promised(points, drawn) == pytest.approx(np.exp(drawn), abs=0.06)
    assert calibration.confidence_of({})([-1.0]) is None


@pytest.mark.parametrize("count", [100, 300, 2_000])
@pytest.mark.few(2)
def test_no_more_is_promised_than_is_right(count):
    rng, excess = np.random.default_rng(0), []
    for _ in range(100):
        scores = -rng.gamma(1.5, 2.0, count)
        share = 1 / (1 + np.exp(1.2 - 0.9 * scores))  # 5.7 % on average
        points = calibration.fit(scores, rng.random(count) < share)
        excess.append(np.mean(_promised(points, scores) - share))
    assert 0 < np.mean(excess) < 0.015


def test_each_pool_is_pulled_to_the_share_of_the_others():
    scores = range(-60, 0)
    right = [False] * 30 + [True, False] * 10 + [True] * 10
    # Added are two answers, of which 21 of 32, 11 of 42 and 11 of 52 are right.
    assert calibration.fit(scores, right) == [
        [-45.5, round((0 + 2 * 21 / 32) / 32, 4)],
        [-20.5, round((10 + 2 * 11 / 42) / 22, 4)],
        [-5.5, round((10 + 2 * 11 / 52) / 12, 4)],
    ]


@pytest.mark.parametrize("count", [1, 3, 49])
def test_a_few_answers_make_no_curve(count):
    assert calibration.fit(range(-count, 0), [True] * count) == []


def test_nothing_is_promised_for_sure():
    scores = range(-50, 0)
    for right, share in ((True, 51 / 52), (False, 1 / 52)):
        ((_, found),) = calibration.fit(scores, [right] * 50)
        assert found == pytest.approx(share, abs=1e-4)


def test_equal_scores_are_equally_likely_right():
    right = [False] * 30 + [True] * 30
    assert calibration.fit([-1.0] * 60, right) == [[-1.0, 0.5]]
    assert calibration.fit([-1.0] * 60, right[::-1]) == [[-1.0, 0.5]]


def test_only_finite_scores_count():
    scores = [-3.0, -1.0] * 25 + [np.nan, -np.inf]
    right = [False, True] * 25 + [True, True]
    (low, _), _, (high, _) = calibration.fit(scores, right)
    assert (low, high) == (-3.0, -1.0)
    assert calibration.fit(scores[2:], right[2:]) == []
    assert calibration.fit([], []) == []


def test_all_parts_of_a_text_must_be_right():
    points = [[-2.0, 0.2], [0.0, 0.8]]
    confidence = calibration.confidence_of({"scores": {"calibration": points}})
    assert confidence([-1.0, -2.0, 0.0]) == 0.08  # 0.5 * 0.2 * 0.8
    assert confidence([]) == 0.8
    assert confidence([-1.0, np.nan]) is None


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
    assert calibration.quality(model) == (
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
    assert calibration.confidence_of(model)([-1.0]) is None


def test_the_curve_is_level_beyond_its_ends():
    points = [[-2.0, 0.2], [-1.0, 0.5]]
    assert _promised(points, [-9.0, -0.1, np.nan]) == [0.2, 0.5, None]


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
