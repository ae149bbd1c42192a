"""The whole command on tiny graphs, and what can be wrong in it."""

import functools
import types

import numpy as np
import pytest

from tests.recipes import exporting, starting
from tfcopy.experiments.pairs import planning
from tfcopy.recipes import eulerian_pag

TINY = """--units 6 --embedding_dim 4 --summary_units 3 --plan_steps 3
--num_nodes 3 --num_distractors 0 --num_train 40 --num_validation 5
--num_test 4 --updates 4 --eval_every 2 --batch_size 8 --average best
--average_of 2""".split()

start = functools.partial(starting.start, eulerian_pag, TINY)


finished = starting.finished(start, "--systems", "[pag]")


def test_results_hold_what_was_agreed(finished):
    found = starting.check_report(finished, "pairs")
    assert found["paper"] == {
        "baseline": {"exact_match": 90.4},
        "pag": {"exact_match": 100.0},
    }
    scores = found["systems"]["pag"]
    expected = """parameters updates perplexity exact_match interval
        sorted_match accuracy seconds_training target_tokens_per_second"""
    assert set(expected.split()) <= set(scores)
    assert scores["exact_match"] <= scores["sorted_match"]
    assert scores["history"]["updates"] == [2, 4]
    assert scores["averaged"] == {"average": "best", "updates": [2, 4]}
    for name in ("plans.png", "dev_nll.png"):
        assert (finished / "logs" / "demo" / name).exists()


def test_the_command_rebuilds_what_was_exported(finished):
    exporting.check_rebuilt(finished)


def test_scores_of_known_answers():
    test = [("g", "a b c"), ("g", "b c a"), ("g", "c a b")]
    texts = iter(["a b c", "b a c", ""])
    translator = types.SimpleNamespace(
        translate_all=lambda sources: [
            types.SimpleNamespace(text=next(texts)) for _ in sources
        ]
    )
    _, scores = eulerian_pag.answer(translator, test)
    assert scores["exact_match"] == pytest.approx(33.33)
    assert scores["sorted_match"] == pytest.approx(66.67)
    assert scores["accuracy"] == pytest.approx(44.44)


def test_metrics_are_means_over_words():
    batch = {"target_ids": np.array([[5, 6, 3], [5, 3, 0]], "int32")}
    distribution = types.SimpleNamespace(
        replan=np.array([[1, 0, 0], [1, 1, 1]], "float32"),
        commitment_deviation=np.array([[0.5, 0, 0], [0, 0, 9]], "float32"),
    )
    found = planning.plan_metrics(batch, distribution)
    assert float(found["replan_share"]) == pytest.approx(3 / 5)
    assert float(found["commitment_deviation"]) == pytest.approx(0.1)
