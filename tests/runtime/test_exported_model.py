"""`tfcopy.load` and what it opens, of a folder and of a server."""

import itertools
import os
import shutil

import numpy as np
import pytest
import tensorflow as tf

import tfcopy
from tests.serving.servables.echo_model import serve
from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.loading import load
from tfcopy.runtime.signatures import ModelError, Signature

TEXTS = ["the session of Łukasz .", "", "北京 😀"]


@pytest.fixture(scope="module")
def model(copier_export):
    with load(os.path.dirname(copier_export), batch_size=2) as model:
        yield model


@pytest.fixture(scope="module")
def server(copier_model):
    server = serve(copier_model)
    yield server
    server.stop()


def test_texts_are_translated_in_their_order(model):
    answers = model.translate(iter(TEXTS))
    assert [x.text for x in answers] == TEXTS
    assert all(isinstance(x, tfcopy.Translation) for x in answers)
    assert answers[0].score <= 0 and answers[1].score == 0
    assert model.translate([]) == []
    assert model.inputs == ["text"] and model.translates


def test_answers_tell_what_was_copied(model):
    (first, *_), (blank,), _ = model.n_best(TEXTS, 2)
    assert first.text == TEXTS[0] and first.tokens == TEXTS[0].split()
    assert first.source_tokens[:5] == first.tokens
    assert first.copied_from[3] == 3
    assert len(first.generate_probs) == 5
    assert blank.text == "" and blank.tokens == []
    assert [len(x) for x in model.n_best(TEXTS, 1)] == [1, 1, 1]


def test_all_is_told_on_request(model, copier_model):
    outputs = model.analyse(TEXTS[:1])[0]
    asked = copier_model.ask("analyse", {"text": TEXTS[:1]})
    assert outputs.keys() == asked.keys()
    for name, array in asked.items():
        np.testing.assert_array_equal(outputs[name], array[0])
    answer = model.answer([{"text": TEXTS[0]}])[0]
    assert answer["text"] == TEXTS[0] and isinstance(answer["score"], float)


def test_a_server_answers_as_a_folder_does(model, server):
    address = server.address
    with load(address, "echo", batch_size=2, retries=0) as remote:
        for one, other in zip(model.n_best(TEXTS), remote.n_best(TEXTS)):
            assert [x.text for x in one] == [x.text for x in other]
            assert [x.copied_from for x in one] == [
                x.copied_from for x in other
            ]
        with pytest.raises(ModelError, match="expected a text"):
            remote.translate([1])
        assert load(f"{address}/echo", retries=0).name == remote.name
    with pytest.raises(ModelError, match="which model of the server"):
        load(address)
    with pytest.raises(ModelError, match="nothing"):
        load(address, "nothing", retries=0)


@pytest.mark.parametrize(
    "texts, message",
    [
        ("The session is closed.", "Expected a list, even of one text. Rec"),
        (b"bytes", "Expected a list, even of one text"),
        ({"text": "x"}, "Expected a list, even of one text"),
        ([["a"]], "element 0: expected a text. Received: .*of type list"),
        (["a", None], "element 1: expected a text"),
        (None, "Expected a list, even of one text"),
        (3, "Expected a list, even of one text"),
        ({"a", "b"}, "Expected a list, even of one text"),
        ([{"question": "a"}], "element 0: expected a text"),
    ],
)
def test_what_is_no_list_of_texts_is_refused(model, texts, message):
    for method in (model.translate, model.n_best, model.answer, model.analyse):
        with pytest.raises(ModelError, match=message):
            method(texts)


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "1", True, None])
def test_numbers_that_make_no_sense_are_refused(model, wrong, copier_export):
    places = {os.path.dirname(copier_export): None, "localhost:1": "echo"}
    names = ["batch_size"]
    names += ["version"] if wrong not in (None, 0) else []
    for where, name in itertools.product(places, names):
        with pytest.raises(
            ModelError, match=f"`{name}` must be a whole number"
        ):
            load(where, places[where], **{name: wrong})
    if wrong is not None:
        with pytest.raises(ModelError, match="`count` must be a whole number"):
            model.n_best(TEXTS, count=wrong)


@pytest.mark.parametrize("option", ["deadline", "retries"])
def test_a_server_is_given_time(option):
    with pytest.raises(ModelError, match=f"`{option}` must be a"):
        load("localhost:1", "echo", **{option: -1})


def test_what_the_model_does_not_read_is_refused(model):
    with pytest.raises(ModelError, match="reads no `glossary`"):
        model.translate(["a"], glossary=["a\tb"])
    for method in (model.answer, model.analyse):
        with pytest.raises(ModelError, match="reads no `dictionary`"):
            method(["a"], dictionary=["a\tb"])


def test_a_model_of_a_folder_of_models(copier_export, tmp_path):
    for name in ("first", "second"):
        shutil.copytree(os.path.dirname(copier_export), tmp_path / name)
    with pytest.raises(ModelError, match="several models.*first, .*second"):
        load(tmp_path)
    assert load(tmp_path, "second").name == str(tmp_path / "second" / "1")


def test_a_wrong_place_is_told(tmp_path):
    for place in (tmp_path / "savedmodel", "savedmodels:x/y"):
        with pytest.raises(ModelError, match="no such folder"):
            load(place)
    with pytest.raises(ModelError, match="no exported model in it"):
        load(tmp_path)
    with pytest.raises(ModelError, match="on a server take deadline, retries"):
        load(tmp_path, deadline=1, retries=0)
    with pytest.raises(ModelError, match="nowhere.*not the address|scheme"):
        load("ftp://nowhere:1", "x")


class Labeller(ExportedModel):
    """Reads a premise and a hypothesis; knows definitions."""

    name = "labeller"
    _texts = {"hypothesis": 1, "premise": 1}
    signatures = {
        "serving_default": Signature(_texts, ("label",)),
        "with_dictionary": Signature({**_texts, "dictionary": 2}, ("label",)),
        "analyse": Signature({**_texts, "dictionary": 2}, ("label", "probs")),
    }

    def _ask_batch(self, signature, arrays):
        assert arrays.keys() == self.signatures[signature].inputs.keys()
        premises = arrays["premise"]
        lines = arrays.get("dictionary", [[]] * len(premises))
        labels = [x + b"|" + b" ".join(y) for x, y in zip(premises, lines)]
        return {"label": np.array(labels, object)}


def test_models_of_several_texts_are_asked_by_their_names():
    model = Labeller()
    pairs = [{"premise": x * 2, "hypothesis": "h"} for x in "ab"]
    assert model.answer(pairs) == [{"label": "aa|"}, {"label": "bb|"}]
    lines = ["wug\tbird"]
    assert model.answer(pairs, dictionary=lines)[1] == {"label": "bb|wug\tbird"}
    for method in (model.answer, model.analyse):
        with pytest.raises(ModelError, match="`dictionary`: expected a list"):
            method(pairs, dictionary=lines[0])
    assert model.analyse(pairs[:1])[0] == {"label": b"aa|"}
    with pytest.raises(ModelError, match="dict of texts, hypothesis and prem"):
        model.answer(["a"])
    with pytest.raises(ModelError, match="does not translate.*use `answer`"):
        model.translate(["a"])


@pytest.mark.parametrize("name", ["serve", "analyse"])
def test_another_model_is_none_of_ours(name, tmp_path):
    module = tf.Module()
    text = [tf.TensorSpec([None], tf.string, "text")]
    module.work = tf.function(lambda text: {"text": text}, text)
    tf.saved_model.save(module, str(tmp_path / "1"), {name: module.work})
    with pytest.raises(ModelError, match="not a model exported by tfcopy"):
        load(tmp_path)
