"""Dictionaries of models of texts: of requests, of exports, and none."""

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.servables import text_models
from tests.serving.servables.text_models import (
    ask,
    assert_close,
    eager,
    make,
    make_definitions,
    texts_of,
)
from tfcopy.serving.servables.text_model import AnswerFinder, WordPredictor


@pytest.mark.parametrize(
    "options",
    [
        {"reader": "lstm"},
        {"reader": "mean", "combine": "sum", "exclude_top_k": -1},
    ],
    ids=["lstm", "mean-excluding"],
)
@pytest.mark.slow
def test_a_request_is_as_good_as_another_dictionary(options):
    kept = make("entailment", **options)[0].signature("analyse")
    new = {"zebra": ["a person that can mew", "big"], "red": ["an animal"]}
    other = make("entailment", definitions=make_definitions(**new), **options)
    texts = texts_of(other[0], ["a zebra", "Zebras run"], ["red", "old"])
    if options.get("exclude_top_k"):
        # The other dictionary says nothing of words that are known.
        texts["hypothesis"] = tf.constant(["wug", "old"])
    lines = [f"{k}\t{x}" for k, y in new.items() for x in y]
    expected = ask(other[0].signature("serving_default"), texts)
    assert_close(ask(kept, texts, [lines, lines]), expected)
    before = ask(kept, texts)["probabilities"]
    assert (np.abs(before - expected["probabilities"]) > 1e-3).any(1).all()


def test_a_request_defines_frequent_words_too():
    served = make("entailment", reader="mean", exclude_top_k=-1)[0]
    texts = texts_of(served, ["the dog", "the dog"], ["cat", "cat"])
    found = ask(eager(served), texts, [[], ["Dog\tfly", "dog\tfly"]])
    assert not found["premise_headwords"][0].any()
    assert found["premise_headwords"][1, 1, 0] == b"dog"
    assert (found["probabilities"][0] != found["probabilities"][1]).any()


@pytest.mark.parametrize("name", text_models.MODELS)
def test_a_model_without_definitions_takes_no_dictionary(name):
    for served in (
        text_models.plain(name),
        make(name, reader=None, spelling=True)[0],
    ):
        assert not served.takes_dictionary
        texts = texts_of(served, ["the zebra", ""], ["", "a cat"])
        found = ask(eager(served), texts)
        assert not any("headwords" in key for key in found)
        assert all(len(x) == 2 for x in found.values())


def test_errors_say_what_does_not_fit():
    with pytest.raises(ValueError, match="max_length"):
        make("entailment", max_length=0)
    served, _, features = make("entailment")
    options = dict(served.arguments)
    del options["labels"]
    with pytest.raises(ValueError, match="reads definitions. Expected defin"):
        type(served)(**{**options, "definitions": None})
    fewer = make_definitions()
    number = len(fewer.headwords)
    fewer = type(fewer)(fewer.headwords[1:], fewer.definitions[1:])
    message = f"{number} headwords. Received: {number - 1}"
    with pytest.raises(ValueError, match=message):
        type(served)(**{**options, "definitions": fewer})
    begins = {**options, "features": features.copy(begin=True)}
    with pytest.raises(ValueError, match="end with EOS"):
        AnswerFinder(**begins)
    with pytest.raises(ValueError, match="begin with BOS"):
        WordPredictor(**options)
