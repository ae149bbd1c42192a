import json
import os

import numpy as np
import pytest
import tensorflow as tf

from tests.python_process import run_python
from tests.serving.servables import translators
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.tensorflow_engine import find_operations, read_saved_model
from tfcopy.serving import saved_model
from tfcopy.serving.saved_model import export
from tfcopy.serving.servables import storage

# What a served graph needs of TensorFlow to work with text: no op of
# tensorflow-text or of Python, which the servers may lack.
TEXT_OPERATIONS = {
    *("HashTableV2", "LookupTableFindV2", "ReduceJoin"),
    *("InitializeTableFromTextFileV2", "StaticRegexFullMatch"),
    *("StaticRegexReplace", "StringJoin", "StringLength", "StringSplitV2"),
    *("StringStrip", "UnicodeTranscode", "UnsortedSegmentJoin"),
}

# Loads models and answers with TensorFlow alone: {folder: [texts, answers]}.
ASK_ALONE = """
import json, sys
import tensorflow as tf
questions = json.load(sys.stdin)
answers = {}
for folder, texts in questions.items():
    model = tf.saved_model.load(folder)
    output = model.signatures["serving_default"](text=tf.constant(texts))
    answers[folder] = [text.decode() for text in output["text"].numpy()]
assert not any(name.split(".")[0] == "tfcopy" for name in sys.modules)
json.dump(answers, sys.stdout)
"""


class Echo:
    """Says what it is asked; made at once, unlike models.

    Args:
        say: How.
    """

    resources = []
    config = {}

    def __init__(self, say=tf.identity):
        self.say = tf.function(say, autograph=False)

    @property
    def signatures(self):
        text = [tf.TensorSpec([None], tf.string, name="text")]
        echo = tf.function(
            lambda text: {"text": self.say(text)}, text, autograph=False
        )
        return {"serving_default": echo.get_concrete_function()}

    def with_files(self, folder):
        return self


@pytest.fixture(scope="module")
def random(random_served):
    return random_served


@pytest.fixture(scope="module")
def exported(random_export):
    return random_export


@pytest.fixture(scope="module")
def loaded(exported):
    return tf.saved_model.load(exported)


@pytest.mark.long
def test_a_process_with_tensorflow_alone_gives_the_same_texts(
    random, exported, copier_export, tmp_path
):
    names = [f"of {name} open ." for name in translators.NAMES]
    texts = translators.sentences(100, seed=1) + [" ", "\0\x1f"]
    asked = json.dumps({exported: texts, copier_export: names})
    env = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    process = run_python("-c", ASK_ALONE, input=asked, cwd=tmp_path, env=env)
    assert process.returncode == 0, process.stderr
    answers = json.loads(process.stdout)
    expected = random.translate(tf.constant(texts))["text"].numpy()
    assert answers[exported] == [text.decode() for text in expected]
    assert answers[copier_export] == [
        f"of {name} ouverte ." for name in translators.NAMES
    ]


def test_signatures_keep_the_contract(loaded):
    string, real, integer = tf.string, tf.float32, tf.int32
    expected = {
        "serving_default": {"text": (string, 1), "score": (real, 1)},
        "analyse": {
            "text": (string, 1),
            "score": (real, 1),
            "texts": (string, 2),
            "scores": (real, 2),
            "tokens": (string, 3),
            "source_tokens": (string, 2),
            "copied_from": (integer, 3),
            "generate_probability": (real, 3),
            "attention": (real, 4),
        },
    }
    assert set(loaded.signatures) == set(expected)
    for name, outputs in expected.items():
        signature = loaded.signatures[name]
        _, inputs = signature.structured_input_signature
        assert list(inputs) == ["text"]
        assert inputs["text"].dtype == string
        assert inputs["text"].shape.as_list() == [None]
        found = {
            key: (spec.dtype, spec.shape.rank)
            for key, spec in signature.structured_outputs.items()
        }
        assert found == outputs


def test_analyse_is_served_as_it_is(random, loaded):
    texts = tf.constant(["the session of Łukasz 北京 is open .", "", "😀"])
    expected = random.analyse(texts)
    found = loaded.signatures["analyse"](text=texts)
    for name, x in expected.items():
        if x.dtype == tf.float32:
            np.testing.assert_allclose(found[name], x, atol=1e-5)
        else:
            np.testing.assert_array_equal(found[name], x)


def test_the_graph_runs_on_a_plain_runtime(exported):
    found = find_operations(read_saved_model(exported))
    words = ("Regex", "String", "Unicode", "Lookup", "HashTable", "Join")
    about_text = {name for name in found if any(word in name for word in words)}
    assert about_text <= TEXT_OPERATIONS
    assert not any(
        ">" in name or "PyFunc" in name or "Xla" in name for name in found
    )


def test_the_folder_holds_all_there_is_to_know(exported):
    with open(os.path.join(exported, "assets", "target_vocabulary.txt")) as f:
        assert f.read().split() == list(translators.TARGET.words)
    with open(os.path.join(exported, "assets.extra", "tfcopy.json")) as f:
        config = json.load(f)
    assert config["recipe"] == "demo"
    assert config["source_tokenizer"] == {
        "mode": "moses",
        "language": "en",
        "lowercase": False,
        "keeps": "",  # Its vocabulary has no blanks.
    }
    assert config["search"]["num_beams"] == 3
    assert config["source_vocabulary_size"] == translators.SOURCE.size
    assert config["examples"] == [{"text": "the session"}, {"text": "x"}]
    assert os.listdir(os.path.dirname(exported)) == ["1"]


def test_warm_up_records_are_those_of_tensorflow_serving(exported):
    # Serialised by tensorflow-serving-api 2.21.
    expected = (
        b"2+\n)\n\x0f\n\x04demo\x1a\x07analyse\x12\x16\n\x04text\x12\x0e"
        b"\x08\x07\x12\x04\x12\x02\x08\x02B\x01aB\x01b"
    )
    assert (
        saved_model.prediction_log("analyse", {"text": ["a", "b"]}, "demo")
        == expected
    )
    long = saved_model.prediction_log("analyse", {"text": ["x" * 300]}, "demo")
    assert b"B\xac\x02" + b"x" * 300 in long
    path = os.path.join(exported, "assets.extra", saved_model.FILE_NAME)
    assert [x.numpy() for x in tf.data.TFRecordDataset(path)] == [
        saved_model.prediction_log(signature, {"text": texts}, "demo")
        for signature in ("serving_default", "analyse")
        for texts in (["the session"], ["the session", "x"])
    ]


def test_versions_count_up(tmp_path):
    served = Echo()
    assert export(served, tmp_path / "a") == str(tmp_path / "a" / "1")
    with pytest.raises(ValueError, match="exists already"):
        export(served, tmp_path / "a", version=1)
    (tmp_path / "a" / "7").mkdir()
    (tmp_path / "a" / ".exporting-abcd_123").mkdir()
    path = export(served, tmp_path / "a", details={"bleu": 54.4})
    assert path == str(tmp_path / "a" / "8")
    assert set(os.listdir(tmp_path / "a")) == {"1", "7", "8"}
    with open(os.path.join(path, "assets.extra", "tfcopy.json")) as file:
        assert json.load(file)["bleu"] == 54.4


def test_numbers_of_files_are_taken(tmp_path):
    (tmp_path / "01").write_text("mine")
    (tmp_path / "3").symlink_to("nowhere")
    for version in (1, 3):
        with pytest.raises(ValueError, match="exists already"):
            export(Echo(), tmp_path, version=version)
    assert export(Echo(), tmp_path) == str(tmp_path / "4")
    assert set(os.listdir(tmp_path)) == {"01", "3", "4"}


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        tf.errors.ResourceExhaustedError(
            None, None, "{{function_node __wrapped__}} No space left on device"
        ),
    ],
)
def test_a_failed_export_leaves_nothing(tmp_path, monkeypatch, error):
    def full(*_, **__):
        raise error

    monkeypatch.setattr(tf.saved_model, "save", full)
    told = r"a: the SavedModel cannot be written \(No space left on device\)."
    with pytest.raises(OSError, match=told):
        export(Echo(), tmp_path / "a")
    assert os.listdir(tmp_path / "a") == []
    (tmp_path / "file").write_text("")
    with pytest.raises(OSError, match="file/b: the SavedModel cannot"):
        export(Echo(), tmp_path / "file" / "b")


def test_python_in_the_graph_is_refused(tmp_path):
    def say(text):
        return tf.numpy_function(lambda x: x, [text], tf.string)

    with pytest.raises(ValueError, match="PyFunc"):
        export(Echo(say), tmp_path / "a")
    assert os.listdir(tmp_path / "a") == []


@pytest.mark.long
def test_a_model_of_mixed_precision_is_exported(tmp_path):
    translator = translators.random_translator(
        "mixed_bfloat16", litert="float32", max_source_length=15
    )
    path = export(translator, tmp_path / "a")
    loaded = tf.saved_model.load(path)
    texts = tf.constant(translators.sentences(5))
    expected = translator.translate(texts)["text"].numpy()
    found = loaded.signatures["serving_default"](text=texts)["text"].numpy()
    assert found.tolist() == expected.tolist()
    # LiteRT's programs are those of the same weights in float32.
    model = storage.convert_to_float32(translator.model)
    assert model.compute_dtype == model.cell.compute_dtype == "float32"
    for mine, theirs in zip(model.weights, translator.model.weights):
        np.testing.assert_array_equal(mine, theirs)
    same = translator.copy(model=model)
    expected = same.translate(texts)
    with LocalModel(path, engine="litert") as runtime:
        answers = runtime.translate(list(translators.sentences(5)))
    assert [x.text.encode() for x in answers] == expected[
        "text"
    ].numpy().tolist()
    scores = [x.score for x in answers]
    np.testing.assert_allclose(scores, expected["score"], rtol=1e-5)
