"""The whole command on a small vocabulary, and what can be wrong in it."""

import dataclasses
import functools
import os
import re

import numpy as np
import pytest
import tensorflow as tf

from tests.recipes import exporting, starting
from tests.recipes.starting import results
from tfcopy.data.generated.rarest_word_task import RarestWord
from tfcopy.experiments import run as run_module
from tfcopy.experiments.pairs import rarest_word_systems
from tfcopy.recipes import rarest_word_ps as recipe

# Enough updates to learn it.
TINY = """--num_words 12 --num_pointed 3 --length 4 --q 0.1 --units 24
--embedding_dim 16 --learning_rate 0.02 --batch_size 50 --updates 120
--eval_every 40 --num_validation 300 --num_test 400""".split()

start = functools.partial(starting.start, recipe, TINY)


finished = starting.finished(start)


# === What it writes ===


def test_results_hold_what_was_agreed(finished):
    found = starting.check_report(finished, "expected")
    exporting.check_choice(found, ["softmax", "pointer_softmax"])
    for name, score in found["exported_by"]["scores"].items():
        system = found["systems"][name]
        assert score == system["dev_error_rate"]
        at_best = system["history"]["updates"].index(system["best_update"])
        assert score == system["history"]["error_rate"][at_best]
    assert found["recipe"] == "rarest_word_ps"
    assert found["preset"] == "demo" and found["config"]["units"] == 24
    assert found["paper"]["softmax"] == {"error_rate": 48.2}
    assert found["expected"]["pointed_targets"] == pytest.approx(
        0.4689, abs=1e-4
    )
    assert list(found["systems"]) == ["softmax", "pointer_softmax"]
    for scores in found["systems"].values():
        expected = """parameters updates best_update perplexity dev_error_rate
            error_rate
            interval sequences targets copy_rate history seconds_training
            target_tokens_per_second"""
        assert set(expected.split()) == set(scores)
        assert scores["updates"] == 120 and scores["sequences"] == 400
        kinds = scores["targets"]
        assert list(kinds) == ["pointed", "unpointed"]
        assert sum(kind["sequences"] for kind in kinds.values()) == 400
        for score in (scores, *kinds.values()):
            low, high = score["interval"]
            assert 0 <= low <= score["error_rate"] <= high <= 100
        history = scores["history"]
        assert history.pop("updates") == [40, 80, 120]
        assert list(history) == ["error_rate", "pointed", "unpointed"]
        assert all(len(values) == 3 for values in history.values())


def test_both_systems_learn_the_task(finished):
    """Always naming the likeliest word is wrong five times in six."""
    systems = results(finished)["systems"]
    for scores in systems.values():
        assert scores["error_rate"] < 5
        assert all(x["error_rate"] < 8 for x in scores["targets"].values())
        assert scores["history"]["error_rate"][-1] < 5
    # What is pointed at is learnt by pointing.
    assert systems["pointer_softmax"]["copy_rate"] == pytest.approx(
        systems["pointer_softmax"]["targets"]["pointed"]["sequences"] / 4, abs=5
    )
    assert systems["softmax"]["copy_rate"] == 0


def test_picture_shows_both_curves(finished, tmp_path, monkeypatch):
    path = finished / "logs" / "demo" / "error_rate.png"
    image = tf.io.decode_png(tf.io.read_file(str(path)))
    assert image.shape[1] > 900 and len(np.unique(image)) > 10
    monkeypatch.setattr(rarest_word_systems, "figures", None)  # no matplotlib
    rarest_word_systems.draw(results(finished)["systems"], {}, 3, tmp_path)
    assert not os.listdir(tmp_path)


@pytest.mark.slow
def test_limited_set_and_pointing_by_attention(tmp_path, monkeypatch):
    monkeypatch.setattr(run_module, "export", lambda *_, **__: "nowhere/1")
    few = """--systems [pointer_softmax] --train_size 120 --pointer attention
        --updates 5 --eval_every 2 --num_test 50""".split()
    assert start(tmp_path, *few) == 0
    found = results(tmp_path)
    # Of 120 sequences, not of 250,000.
    assert found["expected"] == RarestWord(12, 3, 4, 0.1).expect(1, 120)
    history = found["systems"]["pointer_softmax"]["history"]
    assert history["updates"] == [2, 4, 5]


# === Curves ===


def make_history(folder, says, **options):
    """A `History` on two sequences, of a model that always says one word."""
    task = RarestWord(num_words=12, num_pointed=3, length=4)
    words = np.array([[9, 1, 9, 2], [3, 1, 2, 1]])

    def answer(source_ids):
        ids = tf.fill([len(source_ids)], 4 + says)
        return ids, tf.fill([len(source_ids)], -1)

    data = rarest_word_systems.Data(task, None, words, None)
    return rarest_word_systems.History(folder, answer, data, **options)


def columns(history, updates=100):
    columns = history.columns(updates)
    assert list(columns) == ["updates", "error_rate", "pointed", "unpointed"]
    return list(columns.values())


def test_curves_outlast_an_interruption(tmp_path):
    writer = tf.summary.create_noop_writer()
    for update, says in [(10, 0), (20, 3), (30, 9)]:
        make_history(tmp_path, says)(update, writer)
    history = make_history(tmp_path, 9)
    errors = [100, 50, 50], [100, 100, 0], [100, 0, 100]
    assert columns(history) == [[10, 20, 30], *errors]
    assert columns(history, 20)[0] == [10, 20]
    # Gone back to the checkpoint of update 10.
    history(20, writer)
    expected = [[10, 20], [100, 50], [100, 0], [100, 100]]
    assert columns(history) == expected
    assert columns(make_history(tmp_path, 0)) == expected
    (tmp_path / "history.json").write_text("[{")
    assert columns(make_history(tmp_path, 0))[0] == []


def test_curves_without_a_folder():
    history = make_history(None, 9)
    history(10, tf.summary.create_noop_writer())
    assert columns(history) == [[10], [50], [0], [100]]


# === What it exports ===


@pytest.fixture(scope="module")
def served(finished):
    return tf.saved_model.load(results(finished)["savedmodel"]).signatures


def test_export_answers_as_the_evaluation_does(finished, served):
    words = RarestWord(12, 3, 4, 0.1).draw(400, "test", 0)
    texts = tf.constant([rarest_word_systems.text(row) for row in words])
    answers = served["serving_default"](text=texts)["text"].numpy()
    wrong = answers != [b"w%d" % row.max() for row in words]
    report = results(finished)
    scores = report["systems"][report["exported"]]
    assert round(100 * wrong.mean(), 2) == scores["error_rate"]


def test_the_command_rebuilds_what_was_exported(finished):
    exporting.check_rebuilt(finished)


def test_texts_of_other_lengths_and_words(served):
    sequence = "w1 w11 w2 w0"
    texts = ["w1 w11", f"{sequence} w10 w3", sequence, "w2 Łukasz", "", " "]
    analysis = served["analyse"](text=tf.constant(texts))
    analysis = {k: x.numpy() for k, x in analysis.items()}
    # Cut after four words; nothing is said that is not a word of the task,
    # or of the text.
    assert analysis["text"][1] == analysis["text"][2] == b"w11"
    read = [word for word in analysis["source_tokens"][1].tolist() if word]
    assert b" ".join(read).decode() == sequence
    for i in (0, 3):
        answer, place = analysis["text"][i], analysis["copied_from"][i, 0, 0]
        words = texts[i].encode().split()
        assert place < len(words)
        if place >= 0:
            assert answer == words[place]
        else:
            # The softmax, if it is the better one, generates rare words, too.
            assert re.fullmatch(rb"w(\d|1[01])", answer)
    assert analysis["text"][4:].tolist() == [b"", b""]
    # Five answers, the likeliest first.
    assert analysis["texts"].shape == (6, 5)
    assert (np.diff(analysis["scores"], axis=1) <= 0).all()


# === Counting ===


def test_errors_are_counted_by_kind():
    task = RarestWord(num_words=12, num_pointed=3, length=4)
    words = np.array([[9, 1, 9, 2], [3, 10, 2, 1], [8, 1, 1, 1], [0, 0, 0, 1]])
    scores = rarest_word_systems.errors(np.array([9, 3, 8, 1]), words, task)
    assert scores["error_rate"] == 25 and scores["sequences"] == 4
    kinds = scores["targets"]
    assert kinds["pointed"]["error_rate"] == 50
    assert kinds["pointed"]["interval"] == [9.45, 90.55]  # Wilson's
    assert kinds["unpointed"]["error_rate"] == 0
    assert {kind["sequences"] for kind in kinds.values()} == {2}
    scores = rarest_word_systems.errors(np.array([8]), words[2:3], task)
    assert scores["targets"]["pointed"] == {
        "error_rate": None,
        "interval": None,
        "sequences": 0,
    }


def test_examples_are_of_both_kinds():
    config = recipe.Config(num_words=12, num_pointed=3, length=4, q=0.1)
    examples = rarest_word_systems.prepare(config).examples
    assert len(examples) == 4
    for i, (source, target) in enumerate(examples):
        words = [int(word[1:]) for word in source.split()]
        assert target == f"w{max(words)}" and (max(words) >= 9) == (i < 2)


def test_a_batch_of_tokens_holds_whole_sequences():
    config = recipe.Config(num_words=12, num_pointed=3, length=4)
    config = dataclasses.replace(config, batch_tokens=31)
    assert rarest_word_systems.prepare(config).train.batch(0, 0).shape == (7, 4)
