"""Perplexities of next words."""

import numpy as np
import pytest

from tfcopy.experiments.definitions import next_word_systems
from tfcopy.tokens import PAD, UNK


def test_perplexities_are_of_the_words_they_are_named_after():
    # The scores of a class are the logarithms of its probability.
    p = np.array([[0.5, 0.25, 0.125], [0.25, 0.5, 0.5]])
    target = np.array([[4, UNK, 5], [5, 4, PAD]])
    read = np.array([[2, 4, UNK], [2, UNK, PAD]])
    logits = np.log(np.full((2, 3, 6), 1e-9))
    for place in np.ndindex(2, 3):
        logits[(*place, target[place])] = np.log(p[place])
        logits[(*place, 0)] = np.log(1 - p[place] - 4e-9)
    logits[1, 2] = 0
    batch = {
        "target_ids": target.astype("int32"),
        "text_ids": read.astype("int32"),
    }
    scores, costs = next_word_systems.score([(batch, logits.astype("f4"))])

    def perplexity(*values):
        return pytest.approx(np.exp(-np.mean(np.log(values))), rel=1e-4)

    assert scores == {
        "perplexity": perplexity(0.5, 0.25, 0.125, 0.25, 0.5),
        "after_oov": perplexity(0.125, 0.5),
        "after_known": perplexity(0.5, 0.25, 0.25),
        "known_targets": perplexity(0.5, 0.125, 0.25, 0.5),
    }
    assert list(map(len, costs)) == [3, 2]


def test_no_perplexity_of_no_word():
    batch = {
        "target_ids": np.array([[4]], "int32"),
        "text_ids": np.array([[2]], "int32"),
    }
    scores, _ = next_word_systems.score([(batch, np.zeros((1, 1, 6), "f4"))])
    assert scores["after_oov"] is None
    assert scores["perplexity"] == pytest.approx(6)
