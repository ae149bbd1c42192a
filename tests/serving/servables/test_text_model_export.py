import json
import os

import numpy as np
import pytest
import tensorflow as tf

from tests.serving.servables.text_models import (
    ask,
    assert_close,
    assert_same,
    eager,
    make,
    make_definitions,
    texts_of,
)
from tfcopy.serving import saved_model
from tfcopy.serving.saved_model import export

EXAMPLES = [{"text": "a wug"}, {"text": "a cat", "dictionary": ["a\tb", "c"]}]
EDITED = {"wug": ["a big person"]}


@pytest.fixture(scope="module")
def served():
    return make("language", "mean", num_words=3)[0]


@pytest.fixture(scope="module")
def folder(served, tmp_path_factory):
    folder = tmp_path_factory.mktemp("savedmodels") / "demo"
    return export(served, folder, warmup_texts=EXAMPLES)


@pytest.fixture(scope="module")
def loaded(folder):
    return tf.saved_model.load(folder).signatures


@pytest.mark.long
def test_an_edited_definition_changes_what_depends_on_it_alone(loaded, served):
    definitions = make_definitions(**EDITED)
    edited = make("language", "mean", definitions, num_words=3)[0]
    texts = texts_of(served, ["the zebra runs .", "a wug", "", "Wugs fly", "a"])
    both = eager(served), eager(edited)
    before, after = (ask(x, texts) for x in both)
    for row, is_same in enumerate([True, False, True, False, True]):
        if is_same:
            assert_same(after, before, row)
        else:
            x, y = (
                found["next_probabilities"][row] for found in (after, before)
            )
            assert np.abs(x - y).max() > 1e-3
        alone = {name: x[row : row + 1] for name, x in texts.items()}
        old, new = (ask(x, alone) for x in both)
        if is_same:
            assert_same(new, old)
        assert_close(new, {name: x[row : row + 1] for name, x in after.items()})
    # A request does the same to the export.
    lines = [f"wug\t{x}" for x in EDITED["wug"]]
    found = ask(loaded["with_dictionary"], texts, [lines] * 5)
    assert_close(found, {name: after[name] for name in found})


def test_what_is_exported_answers_alike(served, loaded):
    assert set(loaded) == {"serving_default", "with_dictionary", "analyse"}
    texts = texts_of(served)
    dictionary = [["zebra\tfly"], [], ["old\tbig", "x"], []]
    expected = ask(eager(served), texts, dictionary)
    found = ask(loaded["analyse"], texts, dictionary)
    assert found.keys() == expected.keys()
    assert_close(found, expected)
    plain = ask(loaded["with_dictionary"], texts, dictionary)
    assert set(plain) == {
        *("next_words", "next_probabilities", "log_probability", "perplexity")
    }
    assert_close(plain, {name: expected[name] for name in plain})
    none = ask(loaded["with_dictionary"], texts)
    assert_close(none, ask(loaded["serving_default"], texts))
    assert plain["next_words"].shape == (4, 3)


def test_the_folder_holds_all_there_is_to_know(served, folder):
    for name in ("text", "definition"):
        path = os.path.join(folder, "assets", f"{name}_vocabulary.txt")
        with open(path) as file:
            size = len(file.read().split())
        assert size == served.config[f"{name}_vocabulary_size"]
    with open(os.path.join(folder, "assets.extra", "tfcopy.json")) as file:
        config = json.load(file)
    assert config["recipe"] == "demo"
    assert config["task"] == "language_model"
    assert config["texts"] == ["text"]
    assert config["max_length"] == 1000 and config["num_words"] == 3
    assert config["num_headwords"] == len(make_definitions().headwords)
    assert config["definition_tokenizer"]["mode"] == "moses"


def test_warm_up_records_have_all_inputs(folder):
    path = os.path.join(folder, "assets.extra", saved_model.FILE_NAME)
    records = [x.numpy() for x in tf.data.TFRecordDataset(path)]
    texts, lines = ["a wug", "a cat"], [["", ""], ["a\tb", "c"]]
    assert records == [
        saved_model.prediction_log(
            "serving_default", {"text": texts[:1]}, "demo"
        ),
        saved_model.prediction_log("serving_default", {"text": texts}, "demo"),
        *(
            saved_model.prediction_log(
                name, {"dictionary": rows, "text": texts[:n]}, "demo"
            )
            for name in ("with_dictionary", "analyse")
            for n, rows in ((1, [[""]]), (2, lines))
        ),
    ]
    assert b"dictionary" in records[2] and b"a\tb" in records[3]
