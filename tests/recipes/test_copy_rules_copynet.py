"""The whole command on a few small rules, and what can be wrong in it."""

import collections
import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf

from tests.recipes import exporting, starting
from tests.recipes.starting import results
from tfcopy import tokens
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.experiments.pairs import copynet_systems
from tfcopy.recipes import copy_rules_copynet as recipe

TINY = """--rules_per_type 2 --instances 12 --num_symbols 20
--longest_filling 3 --longest_left 5 --longest_right 2 --test_pairs 4
--embedding_dim 4 --units 6 --updates 2 --eval_every 2 --batch_size 8
--num_beams 2 --max_target_length 6 --position_one_hot 3 --coverage
--systems [enc_dec,copynet]""".split()

start = functools.partial(starting.start, recipe, TINY)


finished = starting.finished(start)


def test_results_hold_what_was_agreed(finished):
    found = starting.check_report(finished, "pairs")
    assert found["recipe"] == "copy_rules_copynet"
    assert found["preset"] == "demo" and found["config"]["units"] == 6
    systems = found["systems"]
    assert list(systems) == ["enc_dec", "copynet"]
    exporting.check_choice(found, list(systems))
    assert list(found["paper"]) == ["enc_dec", "rnnsearch", "copynet"]
    assert found["paper"]["copynet"]["x -> xx"] == {"exact_match": 98.3}
    parameters = [scores["parameters"] for scores in systems.values()]
    assert 0 < parameters[0] < parameters[1]
    for scores in systems.values():
        expected = """parameters updates perplexity exact_match types copy_rate
            seconds_training seconds_translating target_tokens_per_second
            history"""
        assert set(expected.split()) == set(scores)
        assert scores["updates"] == 2
        types = scores["types"]
        assert tuple(types) == recipe.TYPES
        for score in types.values():
            low, high = score["interval"]
            assert 0 <= low <= score["exact_match"] <= high <= 100
            assert low < high and score["pairs"] == 4
        mean = np.mean([score["exact_match"] for score in types.values()])
        assert scores["exact_match"] == pytest.approx(mean, abs=0.01)


def test_export_answers_and_may_copy_any_position(finished):
    served = tf.saved_model.load(results(finished)["savedmodel"]).signatures
    texts = tf.constant(["000 Łukasz 001", "", "🦄 " * 50])
    answer = served["serving_default"](text=texts)
    assert answer["text"].numpy()[1] == b"" and answer["text"].numpy()[0]
    analysis = {k: x.numpy() for k, x in served["analyse"](text=texts).items()}
    np.testing.assert_array_equal(analysis["text"], answer["text"])
    # No end of the source that could be copied.
    words = analysis["source_tokens"][0].tolist()
    assert words[:4] == [b"000", "Łukasz".encode(), b"001", b""]
    assert b"<unk>" not in analysis["tokens"]


def test_the_command_rebuilds_what_was_exported(finished):
    exporting.check_rebuilt(finished)
    run = finished / "logs" / "demo"
    expected = exporting.config_of(results(finished)["savedmodel"])["search"]
    settings = ["--set", "num_beams=3", "forbid_unk=false"]
    settings.append("unfinished_compete=false")
    found = exporting.rebuilt(run, *settings)[1]["search"]
    changes = {"num_beams": 3, "forbid_unk": False, "unfinished_compete": False}
    assert expected != found == {**expected, **changes}


@pytest.mark.slow
@pytest.mark.parametrize("end_mark", [False, True])
def test_the_mark_at_the_end_is_seen_but_not_copied(tmp_path, end_mark):
    config = recipe.Config(
        rules_per_type=2, instances=14, batch_size=8, units=3, embedding_dim=3
    )
    config = dataclasses.replace(config, end_mark=end_mark)
    rules = recipe.load_rules(config)
    tokenizer = Tokenizer(mode="space", language="other")
    data = copynet_systems.prepare(config, rules.corpus, tokenizer, tmp_path)
    last = data.train.source_splits[1:] - 1
    assert (data.train.source_ids[last] == tokens.EOS).all() == end_mark
    marked = data.train.source_copy_ids[last] == tokens.NO_COPY
    assert marked.all() == marked.any() == end_mark
    translator = copynet_systems.build(
        starting.TranslatorsOnly(config), "copynet", data
    )
    read = translator.analyse(tf.constant(["a b"]))["source_tokens"].numpy()
    assert read.tolist() == [[b"a", b"b", b"</s>"][: 2 + end_mark]]


def test_answers_are_counted_by_type():
    class Translator:
        def translate_all(self, sources):
            return [Answer(source) for source in sources]

    class Answer:
        copied_from = [0, -1]

        def __init__(self, text):
            self.text = text

    test = [("a", "a", kind) for kind in recipe.TYPES]
    test += [("a", "b", recipe.TYPES[1]), ("b", "b", recipe.TYPES[1])]
    answers, scores = recipe.answer(Translator(), test)
    assert [answer.text for answer in answers] == ["a"] * 6 + ["b"]
    match = [score["exact_match"] for score in scores["types"].values()]
    assert match == [100, 66.67, 100, 100, 100]
    assert [s["pairs"] for s in scores["types"].values()] == [1, 3, 1, 1, 1]
    assert scores["exact_match"] == 93.33 and scores["copy_rate"] == 50


@pytest.mark.parametrize(("test_pairs", "most"), [(10, 4), (2, 1), (None, 7)])
def test_test_pairs_are_taken_evenly_over_rules(test_pairs, most):
    config = recipe.Config(
        rules_per_type=3, instances=14, test_pairs=test_pairs
    )
    rules = recipe.load_rules(config)
    pairs = list(rules.corpus.test)
    chosen = recipe.choose_test(config, pairs, rules)
    assert len(set(chosen)) == len(chosen) == 5 * (test_pairs or 21)
    rows = [pairs.index((source, target)) for source, target, _ in chosen]
    assert [rules.test_types[i] for i in rows] == [kind for *_, kind in chosen]
    counts = collections.Counter(rules.test_rules[i] for i in rows)
    assert set(counts.values()) <= {most, most - 1}
