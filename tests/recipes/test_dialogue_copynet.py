"""The whole command on few dialogues, and what can be wrong in it."""

import functools
import json
import os
import types

import pytest
import tensorflow as tf

from tests.recipes import exporting, starting
from tests.recipes.starting import results
from tfcopy.data import Tokenizer
from tfcopy.data.generated import dialogue
from tfcopy.experiments.pairs import copynet_systems
from tfcopy.recipes import dialogue_copynet
from tfcopy.runtime.translation_records import Translation

SIZES = {"num_train": 200, "num_test": 180}
TINY = """--units 8 --embedding_dim 8 --updates 2 --eval_every 2
--batch_size 16 --num_beams 2 --max_target_length 8 --systems [copynet]
--num_train 200 --num_test 180""".split()

start = functools.partial(starting.start, dialogue_copynet, TINY)


finished = starting.finished(start, "--datasets", "[DS-II]")


@pytest.fixture(scope="module")
def finished_both(tmp_path_factory, finished):
    """A run that went on with the other set, which is the first one."""
    folder = tmp_path_factory.mktemp("both") / "copy"
    starting.go_on(start, finished, folder)
    return folder


def served(folder):
    """Returns the exported model and its settings."""
    path = results(folder)["savedmodel"]
    model = tf.saved_model.load(path)
    with open(os.path.join(path, "assets.extra", "tfcopy.json")) as file:
        return model, json.load(file)


# === What it writes ===


def test_results_hold_what_was_agreed(finished):
    found = starting.check_report(finished, "pairs", "ceilings")
    assert found["recipe"] == "dialogue_copynet" and found["preset"] == "demo"
    assert found["config"]["num_train"] == 200
    assert found["paper"]["copynet"]["DS-II"] == {"top1": 50.5, "top10": 64.8}
    check_scores(found["systems"]["copynet"], "DS-II")


def check_scores(scores, *names):
    assert list(scores) == [*names, "top1", "top10"]
    expected = """parameters updates top1 top10 top1_interval
        perplexity seconds_training target_tokens_per_second"""
    for name in names:
        assert set(expected.split()) <= set(scores[name])
        assert scores[name]["updates"] == 2


@pytest.mark.long
def test_each_set_has_scores_and_words_of_its_own(finished_both):
    scores = results(finished_both)["systems"]["copynet"]
    check_scores(scores, "DS-I", "DS-II")
    # Other words, so another size of the vocabulary.
    assert scores["DS-I"]["parameters"] != scores["DS-II"]["parameters"]


@pytest.mark.long
def test_ceilings_are_those_of_the_test_sets(finished_both):
    for name, ceiling in results(finished_both)["ceilings"].items():
        made = dialogue.load(name, **SIZES)
        assert ceiling == {"top1": round(made.ceiling_top1, 2)}
    assert list(results(finished_both)["ceilings"]) == ["DS-I", "DS-II"]


def test_export_answers_and_says_what_it_is(finished):
    model, details = served(finished)
    scores = results(finished)["systems"]["copynet"]["DS-II"]
    assert details["system"] == "copynet" and details["dataset"] == "DS-II"
    assert details["top1"] == scores["top1"]
    texts = tf.constant(["hello, i am Stefan.", "", "🦄 𠮷 \xff"])
    answers = model.signatures["serving_default"](text=texts)["text"].numpy()
    assert answers[0].decode() and answers[2].decode() and not answers[1]


# === Scores ===


def data_of(references):
    return types.SimpleNamespace(
        test=[(f"source {i}", text) for i, text in enumerate(references)],
        tokenizers=(None, Tokenizer()),
    )


def test_the_command_rebuilds_what_was_exported(finished, capsys):
    exporting.check_rebuilt(finished)
    assert "DS-II/copynet, which the run exported" in capsys.readouterr().out


@pytest.mark.long
def test_a_system_of_both_sets_must_be_named_whole(finished_both, capsys):
    run = finished_both / "logs" / "demo"
    assert exporting.export(run, "--system", "copynet") == 2
    assert "several end in this name" in capsys.readouterr().err


def test_scores_of_known_answers():
    """Right at the first, the second, the eleventh place, and never."""
    candidates = [
        ["hi, Bo!", "no"],
        ["no", "yes"],
        ["no", *(f"other {i}" for i in range(9)), "why?"],
        ["no"],
    ]
    asked = []
    found = [[Translation(x, 0.0) for x in texts] for texts in candidates]
    translator = types.SimpleNamespace(
        n_best_all=lambda texts: asked.append(list(texts)) or found
    )
    # Blanks that no tokens have are none of the answer's business.
    data = data_of([" hi,  Bo!", "yes", "why?", "never"])
    answers, scores = dialogue_copynet.answer(translator, data)
    assert [x.text for x in answers] == ["hi, Bo!", "no", "no", "no"]
    assert asked == [[f"source {i}" for i in range(4)]]
    assert scores["top1"] == 25 and scores["top10"] == 50
    assert scores["top1_interval"] == pytest.approx([4.56, 69.94])


# === Dialogues of one's own ===


@pytest.mark.slow
def test_own_dialogues_in_characters(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(copynet_systems, "train", lambda *_: {"updates": 0})
    pairs = [(f"i am Élan{i}, ok?", f"hi Élan{i}!") for i in range(60)]
    pairs += [("long " * 300, "too long")]
    files = [tmp_path / name for name in ("a.src", "a.tgt")]
    for file, lines in zip(files, zip(*pairs)):
        file.write_text("\n".join(lines) + "\n", "utf-8")
    arguments = ["--train", f"[{files[0]}, {files[1]}]"]
    arguments += ["--tokenization", "characters", "--systems", "[rnnsearch]"]
    assert start(tmp_path, *arguments, "--max_source_length", "12") == 0
    output = capsys.readouterr().out
    assert "paper" not in output.replace("The paper: ", "")  # a claim
    assert results(tmp_path)["paper"] == {}
    found = results(tmp_path)
    assert list(found["systems"]["rnnsearch"]) == ["own", "top1", "top10"]
    assert found["ceilings"] == {}
    model, details = served(tmp_path)
    assert details["system"] == "rnnsearch" and details["dataset"] == "own"
    answer = model.signatures["analyse"](text=tf.constant(["i am Élan!" * 9]))
    tokens = [word.decode() for word in answer["source_tokens"].numpy()[0]]
    assert tokens == list("i▁am▁Élan!i▁")
    words = [word.decode() for word in answer["tokens"].numpy()[0, 0] if word]
    known = set("".join(map("".join, pairs)).replace(" ", "▁"))
    assert words and set(words) <= known
