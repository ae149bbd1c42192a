import functools
import json
import types

import pytest
import tensorflow as tf

from tests.serving.servables.text_models import make, plain
from tfcopy.runtime.ask_texts import read_glossary
from tfcopy.runtime.signatures import ModelError
from tfcopy.serving import ask, evaluate
from tfcopy.serving.saved_model import export

PAIRS = [
    {"premise": "the zebra", "hypothesis": "a cat"},
    {"premise": "", "hypothesis": "zebras \ud800", "id": 7},
    {"premise": "a wug", "hypothesis": "old", "dictionary": ["old\tbig"]},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("savedmodels")
    export(make("entailment", "mean")[0], folder / "entailment")
    export(plain("language"), folder / "language")
    return folder


@pytest.fixture(scope="module")
def load():
    """Loading takes seconds: each model is loaded once."""
    return functools.cache(tf.saved_model.load)


@pytest.fixture
def asked(monkeypatch, told, load):
    """Returns the function of input and arguments to status, output, error."""
    monkeypatch.setattr(tf.saved_model, "load", load)
    return lambda lines, *arguments: told(ask.main, arguments, lines)


def lines_of(pairs):
    return "".join(json.dumps(pair) + "\n" for pair in pairs).encode()


@pytest.mark.long
def test_objects_are_answered_with_a_dictionary(asked, folder, tmp_path):
    model = folder / "entailment"
    status, labels, error = asked(lines_of(PAIRS), model)
    assert (status, error) == (0, "")
    status, output, _ = asked(lines_of(PAIRS), model, "--json")
    answers = [json.loads(line) for line in output]
    assert [answer["label"] for answer in answers] == labels
    assert sum(answers[0]["probabilities"]) == pytest.approx(1, abs=1e-5)
    # Its own dictionary is part of a line.
    bare = [{**PAIRS[2], "dictionary": []}]
    _, (other,), _ = asked(lines_of(bare), model, "--json")
    assert json.loads(other) != answers[2]
    path = tmp_path / "my.tsv"
    path.write_text("# mine\n\nzebra\tbark\tn\nwug\tfly\nold\tbig\n")
    _, output, _ = asked(lines_of(PAIRS), model, "--json", "--dictionary", path)
    changed = [json.loads(line) for line in output]
    assert all(x != y for x, y in zip(changed, answers))


@pytest.mark.long
def test_lines_of_one_text_are_read_as_they_are(asked, folder):
    lines = b"the cat\n\n\xff{\n"
    status, output, error = asked(lines, folder / "language")
    assert (status, error) == (0, "")
    _, objects, _ = asked(lines, folder / "language", "--json")
    for line, answer in zip(output, map(json.loads, objects), strict=True):
        assert line.split(" ") == answer["next_words"]
        assert answer["perplexity"] >= 1
    assert json.loads(objects[1])["log_probability"] == 0


@pytest.mark.long
def test_errors_say_what_is_wrong(asked, folder, tmp_path):
    def error(lines, *arguments):
        status, output, error = asked(lines, *arguments)
        assert (status, output) == (2, [])
        assert error.startswith("ask: ") and error.count("\n") == 1
        return error

    entailment, language = folder / "entailment", folder / "language"
    good = lines_of(PAIRS)
    for line in (b"the zebra", b'{"premise": "a"}', b"[1]", b"\xff", b""):
        message = error(good + line + b"\n", entailment)
        assert "line 4: expected a JSON object" in message
    bad = lines_of([{**PAIRS[0], "dictionary": "old\tbig"}])
    assert '"dictionary" must be a list' in error(bad, entailment)
    assert "models that translate" in error(good, entailment, "--n_best", 2)
    path = tmp_path / "my.tsv"
    missing = error(good, entailment, "--dictionary", path)
    assert "my.tsv" in missing and "cannot read" in missing
    path.write_text("zebra\tbark\nwug\n")
    message = error(good, entailment, "--dictionary", path)
    assert "my.tsv, line 2: expected headword<TAB>definition" in message
    path.write_text("zebra\tbark\n")
    message = error(b"a\n", language, "--dictionary", path)
    assert "reads no --dictionary" in message


@pytest.mark.long
def test_only_translations_are_evaluated(folder, capsys):
    flags = ["--source", __file__, "--reference", __file__]
    assert evaluate.main([str(folder / "language"), *flags]) == 2
    assert capsys.readouterr().err == f"evaluate: {folder / 'language'}: " + (
        "the model does not translate.\n"
    )


def test_a_glossary_may_be_csv(tmp_path):
    model = types.SimpleNamespace(
        name="m",
        signatures=["with_glossary"],
        config={"source_language": "en", "target_language": "fr"},
    )
    path = tmp_path / "a.csv"
    path.write_bytes("\ufeffen-US;fr-FR\r\nhash  table;é\u00a0!\r\n".encode())
    assert read_glossary(model, str(path)) == ["hash table\té\u00a0!".encode()]
    path.write_text("a,b\nc\n")
    with pytest.raises(
        ModelError, match="--glossary: .*a.csv, line 2: expected"
    ):
        read_glossary(model, str(path))
