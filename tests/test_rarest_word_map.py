"""The bands of the map of the rarest-word task."""

from benchmarks import rarest_word_map
from benchmarks.rarest_word_map import Place


def scores(error, updates=(), pointed=()):
    return {
        "targets": {"pointed": {"error_rate": error}},
        "history": {"updates": list(updates), "pointed": list(pointed)},
    }


FOUND = {
    Place("softmax", None, 0.002, None, 0): scores(40, [1, 2], [90, 40]),
    Place("softmax", None, 0.002, None, 1): scores(20, [1, 2], [80, 20]),
    Place("softmax", None, 0.01, None, 0): scores(None),
    Place("softmax", None, 0.002, 500, 0): scores(70),
    Place("pointer_softmax", "dense", 0.01, None, 0): scores(5),
}


def test_seeds_become_a_band():
    by_q = rarest_word_map.lines(FOUND, lambda p: not p.train_size and [p.q])
    assert by_q["softmax"] == ([0.002], [30], [20], [40])
    assert by_q["pointer_softmax, dense"] == ([0.01], [5], [5], [5])
    found = rarest_word_map.learning_curves(FOUND, 0.002, None)
    assert found["softmax"] == ([1, 2], [85, 30], [80, 20], [90, 40])
    assert found["pointer_softmax, dense"] == ([], [], [], [])
