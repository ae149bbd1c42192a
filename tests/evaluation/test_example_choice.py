import numpy as np
import pytest

from tfcopy.evaluation.example_choice import choose_examples

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
