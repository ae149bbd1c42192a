"""Answers are found, scored, and their contexts counted."""

import types

import numpy as np
import pytest

from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.experiments.definitions import answering_systems


def test_answers_are_cut_out_of_their_contexts():
    words = "a bit of Text".split()
    question = types.SimpleNamespace(
        text=lambda first, last: " ".join(words[first:last]),
        references=["text", "bit of"],
    )
    questions = [question] * 2
    starts, ends = np.full((2, 2, 5), -9.0, "float32")
    starts[0, 1] = starts[1, 3] = 5
    ends[0, 3] = ends[1, 2] = 5
    ends[1, 4] = 4
    batch = {"start": np.array([1, 3]), "end": np.array([3, 4])}
    answers = answering_systems.answer(
        [(batch, {"start": starts, "end": ends})], questions, 30
    )
    assert [x.text for x in answers] == ["bit of", "Text"]
    assert [x.independent for x in answers] == ["bit of", ""]
    assert [x.span for x in answers] == [(1, 3), (3, 4)]
    assert [x.log_prob for x in answers] == [
        pytest.approx(0, abs=1e-4),
        pytest.approx(-np.log1p(np.e), abs=1e-4),
    ]
    assert answering_systems.score(answers, questions) == {
        "exact_match": 100.0,
        "f1": 100.0,
        "independent_exact_match": 50.0,
        "independent_f1": 50.0,
        "interval": [34.24, 100.0],
    }


def test_a_context_is_counted_once_for_all_of_its_questions():
    texts = WordTexts.from_examples(
        ({"context": context, "question": question}, {})
        for context, question in (
            (["a", "cat"], ["who"]),
            (["a", "cat"], ["what"]),
            (["a", "dog"], ["who"]),
        )
    )
    assert answering_systems.count_once(texts) == {
        "a": 2,
        "cat": 1,
        "dog": 1,
        "who": 2,
        "what": 1,
    }
