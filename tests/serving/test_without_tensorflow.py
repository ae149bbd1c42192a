"""Commands that answer, where TensorFlow and Keras are not installed."""

import json
import signal
import subprocess
import sys
import urllib.request

import pytest

pytestmark = pytest.mark.long

# Runs a module, or else a line of Python.
PROGRAM = """
import importlib.machinery, runpy, sys
heavy = {"tensorflow", "tensorflow_text", "keras", "keras_hub"}
finder = importlib.machinery.PathFinder
find = finder.find_spec
def find_light(name, *rest):
    return None if name in heavy else find(name, *rest)
state, what, *sys.argv[1:] = sys.argv[1:]
if state == "missing":
    finder.find_spec = find_light
try:
    if what.startswith("tfcopy."):
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    else:
        exec(what)
except SystemExit as end:
    assert not end.code, end.code
assert not heavy & set(sys.modules)
"""
CATALOG = """
msgid ""
msgstr "Content-Type: text/plain; charset=UTF-8\\n"

#, python-format
msgid "%s is open"
msgstr ""
"""


@pytest.fixture(params=["missing", "installed"])
def run(request):
    """Function of a module or a line, and arguments, to its output.

    TensorFlow must not be imported even if it is installed.
    """

    def run(what, *arguments, text=""):
        done = subprocess.run(
            command(request.param, what, *arguments),
            input=text,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert not done.stderr
        return done.stdout

    return run


def command(state, what, *arguments):
    return [sys.executable, "-c", PROGRAM, state, what, *map(str, arguments)]


def test_ask(run, int8_export):
    text = "the session of Łukasz\n\n%s is\n"
    assert run("tfcopy.serving.ask", int8_export, text=text) == text


def test_load(run, int8_export):
    line = (
        "import tfcopy; model = tfcopy.load(sys.argv[1]); "
        "print([x.text for x in model.translate(['a %s'] * 40)])"
    )
    assert run(line, int8_export) == f"{['a %s'] * 40}\n"


def test_translate_po(run, int8_export, tmp_path):
    path = tmp_path / "a.po"
    path.write_text(CATALOG)
    run("tfcopy.serving.translate_po", int8_export, path)
    assert 'msgstr "%s is open"' in path.read_text()


def test_evaluate(run, int8_export, tmp_path):
    path = tmp_path / "a"
    path.write_text("the session of Łukasz is open .\n" * 3)
    flags = ["--source", path, "--reference", path, "--json"]
    flags += ["--engine", "litert"]
    scores = run("tfcopy.serving.evaluate", int8_export, *flags)
    found = json.loads(scores)[int8_export]
    assert found["bleu"]["score"] == pytest.approx(100)
    assert found["copied_words"]["recall"] == 100


def test_batch(run, int8_export, tmp_path):
    path = tmp_path / "a"
    path.write_text("the session\n%s\n")
    flags = ["--input", path, "--output", tmp_path / "out"]
    run("tfcopy.serving.batch", int8_export, *flags)
    (answers,) = (tmp_path / "out").glob("a*")
    assert answers.read_text() == path.read_text()


def test_demo(run):
    assert run("tfcopy.serving.demo", "--help").startswith("usage: ")


@pytest.mark.parametrize("state", ["missing", "installed"])
def test_serve(state, int8_export):
    process = subprocess.Popen(
        command(state, "tfcopy.serving.serve", "--port=0", int8_export),
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdout.readline() == "Loading a model ...\n"
        address = process.stdout.readline().split()[3]
        request = urllib.request.Request(
            f"{address}/translate",
            json.dumps({"q": "a %s", "source": "en", "target": "fr"}).encode(),
            {"content-type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert json.load(answer)["translatedText"] == "a %s"
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0


def test_evaluate_compares_the_engines_that_are_installed(
    int8_export, tmp_path
):
    path = tmp_path / "a"
    path.write_text("the session\n")
    flags = ["--source", path, "--reference", path, "--json"]
    arguments = ["tfcopy.serving.evaluate", int8_export, *flags]
    done = subprocess.run(
        command("missing", *arguments), capture_output=True, check=True
    )
    assert [*json.loads(done.stdout)] == [int8_export]


@pytest.mark.parametrize(
    ("module", "arguments", "missing"),
    [
        ("tfcopy.recipes.europarl_ps", [], "keras"),
        ("tfcopy.serving.export", ["{tmp_path}"], "tensorflow"),
        (
            "tfcopy.serving.ask",
            ["{model}", "--engine=tensorflow"],
            "tensorflow",
        ),
        ("tfcopy.serving.ask", ["gs://bucket/model"], "tensorflow"),
        (
            "tfcopy.data.build_vocabulary",
            ["--input", __file__, "--output", "{tmp_path}/words"],
            "tensorflow",
        ),
    ],
)
def test_commands_name_the_extra_that_they_need(
    module, arguments, missing, int8_export, tmp_path
):
    names = {"model": int8_export, "tmp_path": tmp_path}
    # A run, as far as `export` looks before its imports.
    run = {"recipe": "europarl_ps", "config": {}}
    (tmp_path / "config.json").write_text(json.dumps(run))
    (tmp_path / "nmt/checkpoints").mkdir(parents=True)
    (tmp_path / "nmt/checkpoints/checkpoint-1.npz").touch()
    (tmp_path / "nmt/servable.json").write_text("{}")
    arguments = [x.format(**names) for x in arguments]
    done = subprocess.run(
        command("missing", module, *arguments), capture_output=True, text=True
    )
    told = [x for x in done.stderr.splitlines() if "pip install" in x]
    assert len(told) == 1
    assert f'{missing} is not installed: pip install -e ".[train]"' in told[0]
