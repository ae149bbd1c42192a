"""A model of a folder in other processes, and in folders of any name."""

import json
import multiprocessing
import os
import pathlib
import pickle
import shutil
from types import SimpleNamespace

import pytest

from tests.serving.servables import echo_model
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.signatures import ModelError

NAMES = ["a[b]", "a[b", "a\\b", "a*b", "a?b", "{a,b}", "a b\n", "-a", "a\udcff"]

DEMO = pathlib.Path(__file__).parents[2] / "docs/demo/europarl_ps"


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return echo_model.load(tmp_path_factory.mktemp("echo"))


def answer(model):
    return model.ask("single", {"text": ["a"]})["text"].tolist()


def fails(work, *arguments):
    """Returns the error of work that fails in a forked process."""
    reading, writing = multiprocessing.Pipe(duplex=False)

    def run():
        try:
            work(*arguments)
        except ModelError as error:
            writing.send(str(error))

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    try:
        assert reading.poll(30)
        return reading.recv()
    finally:
        process.kill()
        process.join()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_process_is_told_that_it_would_hang(model):
    message = f"was started in process {os.getpid()}, before this one was fork"
    assert message in fails(answer, model)
    assert message in fails(LocalModel, model.name)
    assert answer(model) == [b"a"]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_process_forked_while_litert_answers_is_told():
    pytest.importorskip("ai_edge_litert")
    model = LocalModel(DEMO, engine="litert", at_once=2)
    expected = model.translate(["a"])
    with model.engine._programs():
        message = f"LiteRT was answering in process {os.getpid()}, before"
        assert message in fails(model.translate, ["a"])
        assert model.translate(["a"]) == expected
    with multiprocessing.get_context("fork").Pool(1) as processes:
        assert (
            processes.apply_async(model.translate, (["a"],)).get(60) == expected
        )


def test_a_pickled_model_is_loaded_again(model, monkeypatch, tmp_path):
    data = pickle.dumps(model)
    monkeypatch.chdir(tmp_path)
    again = pickle.loads(data)
    assert again is not model and again.name == os.path.abspath(model.name)
    assert answer(again) == [b"a"]


def test_whatever_fails_is_one_line(model, monkeypatch):
    def fail(*_):
        raise RuntimeError("first\nsecond")

    monkeypatch.setattr(model, "engine", SimpleNamespace(answer=fail))
    with pytest.raises(ModelError, match=r"cannot answer \(first second\)[.]$"):
        answer(model)


@pytest.mark.parametrize("name", NAMES)
def test_a_folder_may_have_any_name(model, tmp_path, name):
    shutil.copytree(model.name, tmp_path / name / "1")
    # As a pattern, some names match this one as well.
    shutil.copytree(tmp_path / name, tmp_path / "axb")
    os.remove(tmp_path / "axb" / "1" / "variables" / "variables.index")
    assert answer(LocalModel(tmp_path / name)) == [b"a"]


@pytest.mark.parametrize(
    "content, message",
    [
        ([], "it holds no object but list"),
        ({"format": 2}, "of another release of tfcopy .format 2; this one"),
        ({"format": "1"}, "of another release"),
        ({"texts": "text"}, '"texts" must be a list. Received: "text"'),
        ({"texts": [1]}, r'"texts\[0\]" must be text. Received: 1'),
        ({"examples": ["a"]}, r'"examples\[0\]" must be an object'),
        ({"max_source_length": "9"}, '"max_source_length" must be an integer'),
        ({"max_source_length": True}, '"max_source_length" must be an integer'),
        ({"source_tokenizer": []}, '"source_tokenizer" must be an object'),
        (
            {"source_tokenizer": {"protect": {}}},
            '"source_tokenizer.protect" must be a list',
        ),
    ],
)
def test_settings_of_another_type_are_told(model, tmp_path, content, message):
    shutil.copytree(model.name, tmp_path / "1")
    path = tmp_path / "1" / "assets.extra" / "tfcopy.json"
    path.parent.mkdir()
    path.write_text(json.dumps(content))
    with pytest.raises(ModelError, match=f"tfcopy.json is .*{message}"):
        LocalModel(tmp_path)


def test_settings_that_are_null_are_not_there(model, tmp_path):
    shutil.copytree(model.name, tmp_path / "1")
    path = tmp_path / "1" / "assets.extra" / "tfcopy.json"
    path.parent.mkdir()
    path.write_text('{"format": 1, "search": null, "task": "a"}')
    assert LocalModel(tmp_path).config == {"format": 1, "task": "a"}
