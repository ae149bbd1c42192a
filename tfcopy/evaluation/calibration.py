"""Calibration: from scores of answers to probabilities that these are right.

A score, a log-probability, ranks answers, but does not show how many of a
hundred are right. Validation answers do: in bins of equal size by score, with
neighbours pooled until the shares rise. To each pool two answers are added, of
which the same share is right as of all other answers, so that a few answers
promise nothing for sure, and a pool no more than its scores support.

Below the lowest pool's mean score and above the highest's, the curve is level:
it promises no more, and no less, than was measured.

Reference: [Zadrozny and Elkan, 2002](https://doi.org/10.1145/775047.775151).
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

_BINS = 20
_LEAST = 10  # answers in a bin
# With fewer answers, a curve is further from the truth than one share for all.
_FEWEST = 50
# Names of levels, and their least confidence.
LEVELS = {"likely right": 0.75, "look": 0.25, "do not trust": 0.0}
# Of 30 translations of a model with a chrF of 39, 24 had to be written anew.
_LEAST_CHRF = 40


def fit(scores: Sequence[float], right: Sequence[bool]) -> list[list[float]]:
    """Returns points of the curve from scores to shares of right answers.

    Args:
        scores: Score of each answer; answers without a finite one are left out.
        right: Whether the answer equals its reference.

    Returns:
        Pairs of a bin's mean score and its share of right answers, both rising;
        none if there are fewer than 50 answers.
    """
    # Right answers come first among equal scores, so that these make one pool.
    order = np.lexsort((np.logical_not(right), scores))
    order = order[np.isfinite(scores)[order]]
    if len(order) < _FEWEST:
        return []
    answers = np.array([[scores[i], right[i], 1] for i in order])
    total, pools = answers.sum(0), []
    for some in np.array_split(answers, min(_BINS, len(order) // _LEAST)):
        pool = some.sum(0)
        while (
            pools and (_shares(pools[-1], total) >= _shares(pool, total)).any()
        ):
            pool += pools.pop()
        pools.append(pool)
    return [
        [round(x[0] / x[2], 4), round(_shares(x, total)[1], 4)] for x in pools
    ]


def _shares(pool, total):
    """Returns the share of right answers, without and with those added."""
    _, right, count = pool
    _, others_right, others = total - pool
    added = (others_right + 1) / (others + 2)
    return np.array([right / count, (right + 2 * added) / (count + 2)])


def confidence_of(model: Mapping) -> Callable[[Iterable[float]], float | None]:
    """Makes a function from scores to the probability that no edit is needed.

    The scores are those of the parts of a text, which must all be right: the
    product of their probabilities, as if these were independent.

    Args:
        model: The `config` of an export.

    Returns:
        A function, whose result is `None` if the export has no usable curve. A
        text without parts has the probability of the best score, 0.
    """
    points = _points(model)

    def confidence(scores):
        scores = [*scores] or [0.0]
        if points is None or np.isnan(scores).any():
            return None
        return round(float(np.interp(scores, *points.T).prod()), 2)

    return confidence


def _points(model):
    """Returns the points of `fit`, `(N, 2)`, unless they are damaged."""
    try:
        points = np.array(model["scores"]["calibration"], float)
    except (KeyError, TypeError, ValueError):  # missing, null or ragged
        return None
    is_curve = (
        points.ndim == 2
        and points.shape[1] == 2
        and np.isfinite(points).all()
        and (np.diff(points, axis=0) >= 0).all()
        and (points[:, 1] == points[:, 1].clip(0, 1)).all()
    )
    return points if is_curve else None


def level(confidence: float) -> str:
    """Returns the name of the level of a confidence."""
    return next(name for name, least in LEVELS.items() if confidence >= least)


def quality(model: Mapping) -> str | None:
    """Returns sentences about an export's test; `None` if it stores none.

    Args:
        model: The `config` of the export.
    """
    scores = model.get("scores", {})
    searched = {}
    if model.get("search", {}).get("must_copy"):
        searched = scores.get("must_copy") or {}
    figures = [
        searched.get(x, scores.get(x)) for x in ("right", "bleu", "chrf")
    ]
    if not all(x is not None and math.isfinite(x) for x in figures):
        return None
    right, bleu, chrf = figures
    programs = ", ".join(filter(None, scores.get("held_out") or ()))
    count = scores.get("texts")
    is_count = type(count) is int and 1 < count < 10**9
    number = f"{count:,}" if is_count else "the"
    what = f"programs ({programs})" if programs else "texts"
    sentence = (
        f"Of {number} translations of {what} held out of its catalogues, "
        f"{right:.0f} % were right as they stood (BLEU {bleu:.1f}, chrF "
        f"{chrf:.1f})."
    )
    if chrf < _LEAST_CHRF:
        sentence += " Expect to write most of them anew."
    return sentence
