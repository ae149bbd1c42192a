"""The programs of the tutorials, run as they stand on the page."""

import os
import pathlib
import re
import shutil

import keras
import pytest

import tfcopy
from tests.docs.test_walks import write_pairs
from tests.serving.conftest import random_export, random_served  # noqa: F401

PAGES = pathlib.Path(__file__).parents[2] / "docs" / "tutorials"
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs the programs of a page one after the other; gives their names."""
    monkeypatch.chdir(tmp_path)

    def run(page):
        keras.utils.set_random_seed(0)
        path, names = PAGES / f"{page}.md", {}
        text = path.read_text()
        found = list(PROGRAM.finditer(text))
        assert found
        for match in found:
            # So that an error tells the line of the page.
            lines = "\n" * text.count("\n", 0, match.start(1))
            exec(compile(lines + match[1], path, "exec"), names)
        return names

    return run


@pytest.mark.long
def test_your_own_pairs(run, capsys):
    write_pairs(pathlib.Path(), "my", 200, 0)
    losses = run("your_own_pairs")["history"].history
    assert losses["loss"][1] < losses["loss"][0]
    assert losses["val_loss"][1] < losses["val_loss"][0]
    # The translator's answer, and the same one of the export.
    *_, first, second = capsys.readouterr().out.splitlines()
    assert first.rpartition(" ")[0] == second


@pytest.mark.long
def test_your_own_decoder(run, capsys):
    names = run("your_own_decoder")
    assert names["right"][names["is_unknown"]].mean() > 0.9
    first, second = names["history"].history["loss"]
    assert second < first and second < 1
    assert "unknown words right: " in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*T5MultiHeadAttention:UserWarning")
@pytest.mark.filterwarnings("ignore:.*shuffle=True. was passed")
@pytest.mark.filterwarnings("ignore:(?s).*softmax over axis -1")
def test_a_pretrained_network(run, capsys):
    write_pairs(pathlib.Path(), "my", 600, 0)
    names = run("a_pretrained_network")
    assert os.path.isfile("small_t5/model.weights.h5")
    assert names["new"] > 0 and "to copy with" in capsys.readouterr().out
    with tfcopy.load("savedmodels/small") as served:
        assert isinstance(served.translate(["The session."])[0].text, str)


def test_a_new_head(run):
    assert run("a_new_head")["head"].count_params() > 0


@pytest.mark.long
def test_serving(run, random_export, tmp_path, capsys):  # noqa: F811
    target = tmp_path / "savedmodels" / "europarl_ps" / "1"
    os.makedirs(target.parent)
    shutil.copytree(random_export, target)
    run("../serving")
    assert "hypotheses; the best copies" in capsys.readouterr().out


@pytest.mark.slow
def test_the_notebook(tmp_path):
    # Late: only developers who run slow tests need them.
    import nbclient
    import nbformat

    notebook = nbformat.read(PAGES / "copying.ipynb", nbformat.NO_CONVERT)
    stored = [cell.get("outputs") for cell in notebook.cells]
    nbclient.NotebookClient(
        notebook, timeout=300, resources={"metadata": {"path": tmp_path}}
    ).execute()
    printed = [
        output["text"]
        for cell in notebook.cells
        for output in cell.get("outputs", ())
        if output.get("name") == "stdout"
    ]
    assert int(re.search(r"unknown words right: (\d+)%", printed[0])[1]) > 90
    pictures = [
        [output.get("data", {}).keys() for output in outputs or ()]
        for outputs in stored
    ]
    assert any("image/png" in keys for own in pictures for keys in own)


def test_no_tutorial_is_forgotten():
    tested = {name[5:] for name in globals() if name.startswith("test_")}
    tested.add("a_projects_catalogues")  # by `test_walks.py`
    assert {path.stem for path in PAGES.glob("*.md")} <= tested
