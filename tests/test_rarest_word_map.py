"""The map of the rarest-word task, at tiny sizes."""

import json

import pytest
import tensorflow as tf

from benchmarks import rarest_word_map
from benchmarks.rarest_word_map import Place

TINY = """--units 4 --embedding_dim 4 --updates 2 --eval_every 1
--num_test 50 --num_validation 50 --batch_size 50 --q_values 0.01
--train_sizes 500 --systems [softmax]""".split()


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


@pytest.mark.slow
def test_a_map_is_made_once_and_added_to(tmp_path, capsys, monkeypatch):
    flags = ["--folder", str(tmp_path), *TINY]
    assert rarest_word_map.main(flags) == 0
    with open(tmp_path / "results.json") as file:
        runs = json.load(file)["runs"]
    places = [(run["q"], run["train_size"], run["seed"]) for run in runs]
    assert places == [(0.002, None, 0), (0.01, None, 0), (0.002, 500, 0)]
    image = tf.io.decode_png((tmp_path / "map.png").read_bytes())
    assert image.shape[1] == 1_500  # three panels
    assert sorted(x.name for x in tmp_path.iterdir()) == [
        "map.png",
        "results.json",
    ]

    added = []

    def train(place, *_):
        added.append(place)
        return scores(1.0, [1], [1.0])

    monkeypatch.setattr(rarest_word_map, "train", train)
    assert rarest_word_map.main([*flags, "--seeds", "0", "1"]) == 0
    assert [place.seed for place in added] == [1, 1, 1]
    assert rarest_word_map.main([*flags, "--updates", "3"]) == 1
    assert "--updates is 2 there and 3 here" in capsys.readouterr().err
