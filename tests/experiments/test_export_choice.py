"""The system that is exported is the best one on the validation set."""

import types

import pytest

from tfcopy.experiments import export_choice


def test_the_best_score_chooses():
    choice = export_choice.best("bleu", {"a": 1.0, "b": 3.0, "c": 2.0})
    assert (choice.system, choice.metric) == ("b", "bleu")
    assert choice.scores == {"a": 1.0, "b": 3.0, "c": 2.0}
    errors = export_choice.best("error_rate", choice.scores, lowest=True)
    assert errors.system == "a"


def test_of_equal_systems_the_papers_is_exported():
    scores = {"baseline": 2.0, "worse": 1.0, "papers": 2.0}
    assert export_choice.best("bleu", scores).system == "papers"


def system(*answers):
    """A system that gives these answers."""

    def translate_all(sources):
        assert sources == ("x", "y")
        return [types.SimpleNamespace(text=text) for text in answers]

    return types.SimpleNamespace(
        served=types.SimpleNamespace(translate_all=translate_all)
    )


@pytest.fixture
def pairs(monkeypatch):
    """Validation pairs, of which the first two choose."""
    monkeypatch.setattr(export_choice, "_NUM_EXAMPLES", 2)
    return iter([("x", "1"), ("y", "2"), ("z", "3")])


def share_right(texts, references):
    right = [x == y for x, y in zip(texts, references, strict=True)]
    return 100 * sum(right) / len(right)


def test_the_best_answers_choose(pairs):
    systems = {
        "a": system("1", "0"),
        "b": system("1", "2"),
        "c": system("", ""),
    }
    choice = export_choice.best_answers("match", systems, pairs, share_right)
    assert choice.system == "b"
    assert choice.scores == {"a": 50.0, "b": 100.0, "c": 0.0}


def test_one_system_needs_no_answers(pairs):
    choice = export_choice.best_answers("m", {"a": None}, pairs, share_right)
    assert (choice.system, choice.scores) == ("a", {})
