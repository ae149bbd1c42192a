"""The exported system, and the share of the gap that definitions close."""

import numpy as np
import pytest

from tfcopy.experiments.definitions import definition_pictures
from tfcopy.experiments.definitions.definition_flags import WordSources
from tfcopy.experiments.definitions.definition_pictures import choose_examples

LOG_P = {
    "SD": [-1.0, -2.0, -0.1, -3.0, -1.0],
    "S": [-1.5, -9.0, -0.2, -1.0, -4.0],
}
CORRECT = {
    "SD": [True, True, False, True, True],
    "S": [False, False, True, True, False],
}


def test_those_are_chosen_that_only_the_better_has_right():
    chosen = choose_examples(LOG_P, CORRECT, "SD", "S")
    assert chosen.tolist() == [1, 4, 0]
    assert choose_examples(LOG_P, CORRECT, "S", "SD").tolist() == [2]


def test_equal_gains_keep_their_order():
    log_p = {"a": np.zeros(4), "b": np.zeros(4)}
    correct = {"a": np.ones(4, bool), "b": np.array([0, 1, 0, 0], bool)}
    assert choose_examples(log_p, correct, "a", "b").tolist() == [0, 2, 3]


def test_probabilities_of_zero_are_ordered():
    nothing = -np.inf
    log_p = {"a": [-1.0, nothing, -1.0], "b": [-2.0, nothing, nothing]}
    correct = {"a": [True] * 3, "b": [False] * 3}
    assert choose_examples(log_p, correct, "a", "b").tolist() == [2, 0, 1]


def test_nothing_may_be_chosen():
    assert choose_examples(LOG_P, CORRECT, "S", "S").tolist() == []


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match="array of 'G'. Received: .*'SD', 'S'"):
        choose_examples(LOG_P, CORRECT, "G", "SD")
    short = {"SD": [True], "S": [False]}
    with pytest.raises(ValueError, match=r"\(1,\), \(5,\)"):
        choose_examples(LOG_P, short, "SD", "S")


SOURCES = {
    "baseline": WordSources(),
    "mean": WordSources("definitions"),
    "lstm": WordSources("definitions", "lstm"),
    "vectors": WordSources("vector"),
}


def test_the_best_system_reads_definitions_if_any_does():
    def best(score, **values):
        results = {
            # The test set does not choose: there the others are better.
            name: {f"dev_{score}": value, score: -value}
            for name, value in values.items()
        }
        choice = definition_pictures.best_system(results, SOURCES, score)
        assert choice.metric == score
        assert choice.scores[choice.system] == values[choice.system]
        return choice.system

    assert best("accuracy", baseline=50, mean=60, lstm=70, vectors=90) == "lstm"
    assert best("perplexity", baseline=50, mean=60, lstm=70) == "mean"
    assert best("accuracy", baseline=50, vectors=90) == "vectors"


def test_a_system_that_reads_more_is_compared_with_another():
    def pair(**values):
        results = {
            name: {"dev_f1": value, "f1": -value}
            for name, value in values.items()
        }
        return definition_pictures.worse_and_better(results, SOURCES, "f1")

    assert pair(baseline=50, mean=60, lstm=70) == ("baseline", "lstm")
    assert pair(lstm=70, mean=60) == ("mean", "lstm")
    assert pair(lstm=70) == pair(baseline=50) == ()


def test_a_gap_is_closed_where_no_word_is_known_from_training():
    def results(plain, seen, unseen):
        scores = {"plain": plain, "seen": seen, "unseen": unseen}
        return {"groups": {name: {"f1": x} for name, x in scores.items()}}

    closed = definition_pictures.gap_closed(
        {
            "baseline": results(90, 40, 30),
            "mean": results(10, 45, 90),
            "vectors": results(90, 60, 80),
        },
        "baseline",
        "vectors",
        "f1",
    )
    assert closed == {"mean": 120.0}


def test_no_gap_without_its_ends_or_its_width():
    groups = {x: {"f1": 50} for x in ("plain", "seen", "unseen")}
    same = dict.fromkeys(SOURCES, {"groups": groups})
    ends = "baseline", "vectors", "f1"
    assert definition_pictures.gap_closed(same, *ends) == {}
    del same["vectors"]
    assert definition_pictures.gap_closed(same, *ends) == {}
