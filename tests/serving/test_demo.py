"""The command, and the models that it finds."""

import json
import os
import shutil
import signal
import subprocess
import sys
import urllib.request

import pytest
import tensorflow as tf

from tfcopy.runtime.exported_model import ExportedModel
from tfcopy.runtime.signatures import ModelError, Signature
from tfcopy.serving import demo
from tfcopy.serving.demo import Models, answer
from tfcopy.serving.web.site import facts_of, text_names

TEXTS = ["the session .", "Łukasz 北京", "", "the session .", "x" * 400]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("savedmodels")
    model = tf.Module()
    model.echo = tf.function(
        lambda text: {"text": text},
        [tf.TensorSpec([None], tf.string, "text")],
        autograph=False,
    )
    path = folder / "copier" / "3"
    names = ("serving_default", "analyse")
    tf.saved_model.save(model, path, dict.fromkeys(names, model.echo))
    (path / "assets.extra").mkdir()
    config = json.dumps({"examples": [{"text": text} for text in TEXTS]})
    (path / "assets.extra" / "tfcopy.json").write_text(config)
    (folder / "empty").mkdir()
    for path in ("copier/20", "other/1"):
        (folder / path).mkdir(parents=True)
        (folder / path / "saved_model.pb").write_bytes(b"oops")
    return folder


def error(capsys, *arguments):
    """The line that the command ends with."""
    assert demo.main([str(x) for x in arguments]) == 2
    output, error = capsys.readouterr()
    assert error.startswith("demo: ") and error.count("\n") == 1
    assert not output
    return error


def test_errors_say_what_is_wrong(
    capsys, folder, tmp_path, monkeypatch, without
):
    assert "no such folder" in error(capsys, tmp_path / "none")
    assert "no exported models in it" in error(capsys, tmp_path)
    assert "expected an address" in error(capsys, folder, "--host", "")
    line = error(capsys, folder, "--host", "no.such.host.invalid")
    assert "cannot listen on no.such.host.invalid, port 7860 (" in line
    module = "tfcopy.serving.http_server.listening"
    monkeypatch.delitem(sys.modules, module, raising=False)
    without("uvicorn")
    line = error(capsys, folder)
    assert 'uvicorn is not installed: pip install -e ".[demo]"' in line


@pytest.mark.parametrize("port", ["-1", "65536", "a"])
def test_a_port_is_a_number(capsys, port):
    with pytest.raises(SystemExit):
        demo.main(["--port", port])
    assert (
        f"--port must be a port. Received: {port}." in capsys.readouterr().err
    )


@pytest.mark.slow
def test_the_command_serves_until_ctrl_c(folder):
    process = subprocess.Popen(
        [sys.executable, "-m", "tfcopy.serving.demo", str(folder), "--port=0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        first, address, *_ = process.stdout.readline().split()
        assert first == "Open" and address.startswith("http://127.0.0.1:")
        with urllib.request.urlopen(address) as answer:
            assert "<title>tfcopy</title>" in answer.read().decode()
        process.send_signal(signal.SIGINT)
        assert process.communicate() == ("", "")
        assert process.returncode == 0
    finally:
        process.kill()
        process.communicate()


def test_models_are_found_wherever_the_folder_points(folder, tmp_path):
    names = ["copier, version 20", "copier, version 3"]
    choices = Models(folder).choices()
    assert list(choices) == [*names, "other, version 1"]
    assert choices[names[1]] == os.path.join(folder, "copier", "3")
    assert list(Models(folder / "copier").choices()) == names
    assert Models(folder / "copier" / "3").choices() == {
        "3": os.path.join(folder, "copier", "3")
    }
    (tmp_path / "assets.extra").mkdir()
    (tmp_path / "assets.extra" / "search.tflite").touch()
    assert [*Models(tmp_path).choices()] == [tmp_path.name]


def test_the_last_models_stay_loaded(folder):
    models = Models(folder, kept=1)
    model = models.load("copier, version 3")
    assert models.load("copier, version 3") is model
    for choice in ("other, version 1", "copier, version 20"):
        with pytest.raises(ModelError, match="cannot be loaded"):
            models.load(choice)
    assert models.load("copier, version 3") is model
    with pytest.raises(ModelError, match="no such model in"):
        models.load("copier, version 4")


def examples_of(model):
    return facts_of(model)["examples"]


def test_examples_are_those_that_the_export_remembers(folder):
    model = Models(folder).load("copier, version 3")
    texts = ["the session .", "Łukasz 北京"]
    assert examples_of(model) == [{"text": text} for text in texts]


def test_exports_of_before_have_no_examples():
    assert examples_of(_Asked(["text"], {})) == []


def test_examples_of_several_texts_stay_together():
    names = ["context", "question"]
    first = {"context": "a", "question": "c"}
    second = {"question": "d", "context": "b"}
    more = {**first, "dictionary": ["x\ty"]}
    half = {"context": "a"}
    config = {"texts": names, "examples": [first, second, more, half]}
    assert examples_of(_Asked(names, config)) == [first, second]


class _Asked(ExportedModel):
    """A model of some texts, and what its export remembers; keeps the last."""

    name = "model"

    def __init__(self, names, config, **more):
        inputs = dict.fromkeys(names, 1)
        self.signatures = {
            "serving_default": Signature(inputs, ()),
            "analyse": Signature(inputs | more, ()),
        }
        self.config = config
        self.asked = None

    def _ask_batch(self, signature, arrays):
        self.asked = signature, {k: x.tolist() for k, x in arrays.items()}
        return {"label": ["yes"]}


@pytest.fixture
def model():
    texts = ["premise", "hypothesis"]
    return _Asked(sorted(texts), {"texts": texts}, dictionary=2)


def test_a_model_is_asked_with_its_texts_and_the_dictionary(model):
    facts = facts_of(model)
    assert facts["texts"] == ["premise", "hypothesis"]
    assert facts["lines"] == "dictionary"
    texts = {"premise": "Ł", "hypothesis": "b\ud800", "other": "c"}
    assert answer(model, texts, ["wug\ta bird"]) == {"label": "yes"}
    assert model.asked == (
        "analyse",
        {
            "premise": ["Ł".encode()],
            "hypothesis": [b"b?"],
            "dictionary": [[b"wug\ta bird"]],
        },
    )


def test_another_model_is_refused():
    with pytest.raises(ModelError, match="not a model exported by tfcopy"):
        text_names(_Asked([], {}))


def test_versions_may_begin_with_zeros(folder, tmp_path):
    shutil.copytree(folder / "copier" / "3", tmp_path / "copier" / "003")
    (tmp_path / "copier" / "١").mkdir()  # a number, but not to the server
    choices = Models(tmp_path).choices()
    path = str(tmp_path / "copier" / "003")
    assert choices == {"copier, version 3": path}
    assert Models(tmp_path).load("copier, version 3").name == path
    shutil.copytree(tmp_path / "copier" / "003", tmp_path / "copier" / "3")
    with pytest.raises(ModelError, match="copier: 0*3 and 0*3 are the same"):
        Models(tmp_path)
