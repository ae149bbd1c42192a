"""The exported system, and the share of the gap that definitions close."""

import types

import pytest

from tfcopy.experiments.definitions import definition_pictures
from tfcopy.experiments.definitions.definition_flags import WordSources
from tfcopy.experiments.definitions.definition_pictures import choose_example


@pytest.mark.parametrize(
    "better, worse, expected",
    [
        # Those that only the better one has right gain 0.5, 3 and 3.
        (["r-1", "r-1", "w-0.1", "r-1"], ["w-1.5", "w-4", "r-9", "w-4"], 1),
        # Probabilities of zero in one, and in both.
        (["r-1", "r-inf", "r-1"], ["w-2", "w-inf", "w-inf"], 2),
        (["r-1", "w-1"], ["r-9", "r-9"], None),
    ],
)
def test_the_question_that_gains_most_is_chosen(better, worse, expected):
    answers = {
        name: [
            types.SimpleNamespace(text=x[0], log_prob=float(x[1:]))
            for x in values
        ]
        for name, values in (("SD", better), ("S", worse))
    }
    questions = [types.SimpleNamespace(references=["r"])] * len(better)
    assert choose_example(questions, answers, "S", "SD") == expected


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

    assert definition_pictures.gap_closed(
        {
            "baseline": results(90, 40, 30),
            "mean": results(10, 45, 90),
            "vectors": results(90, 60, 80),
        },
        "baseline",
        "vectors",
        "f1",
    ) == {"mean": 120.0}


def test_no_gap_without_its_ends_or_its_width():
    groups = {x: {"f1": 50} for x in ("plain", "seen", "unseen")}
    same = dict.fromkeys(SOURCES, {"groups": groups})
    ends = "baseline", "vectors", "f1"
    assert definition_pictures.gap_closed(same, *ends) == {}
    del same["vectors"]
    assert definition_pictures.gap_closed(same, *ends) == {}
