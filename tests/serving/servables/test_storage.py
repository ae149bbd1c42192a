"""A servable that was stored answers as it did, bit for bit."""

import json
import os
import shutil

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.serving.servables import translators
from tests.serving.servables.conftest import CASES
from tests.serving.servables.test_definitions import defined_translator
from tests.serving.servables.text_models import (
    CHARACTERS,
    GLOSSES,
    TEXT,
    UNITS,
    ask,
    assert_same,
    eager,
    make,
    make_definitions,
    plain,
    texts_of,
)
from tfcopy.checked_files import read_json
from tfcopy.data import Dictionary, Vocabulary
from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
)
from tfcopy.data.text.entities import Entities
from tfcopy.data.text.glossary import Glossary
from tfcopy.data.text.protected_tokenizer import ProtectedTokenizer
from tfcopy.decoding import Ensemble, SearchOptions
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import esim
from tfcopy.serving.run_folder import RunError
from tfcopy.serving.servables import storage
from tfcopy.serving.servables.settings import SettingError
from tfcopy.serving.servables.text_model import EntailmentClassifier
from tfcopy.training.checkpoint_arrays import collect
from tfcopy.training.checkpoints import CheckpointError, Checkpoints

EXAMPLES = ["the session", {"text": "\ud800"}]


def store(servable, run, trained=None, name="system"):
    """Stores a system and its weights as they are; returns its folder."""
    folder = run / name
    storage.save(
        servable,
        folder,
        warmup_texts=EXAMPLES,
        details={"system": name},
        model=trained,
        identity={
            "--switch_activation": "relu",
            "vocabulary of the source": "words",
        },
    )
    checkpoints = Checkpoints(folder / "checkpoints")
    checkpoints.save_best((trained or servable.model).get_weights(), {})
    return folder


# Arguments that are equal if their fields are.
PLAIN = (SearchOptions, ProtectedTokenizer, Entities, int, str)


def assert_same_answers(found, expected):
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name], name)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", CASES)
def test_text_models_answer_as_before(made, tmp_path, name):
    served, *_ = made[name]
    folder = store(served, tmp_path / "run")
    # Where it was made is not where it is used.
    folder = folder.parent.rename(tmp_path / "moved") / folder.name
    again = storage.load(folder).served
    assert len(again.model.weights) == len(served.model.weights)
    assert again.config == served.config
    texts = texts_of(served)
    lines = [["zebra\tfly"], [], ["old\tbig", "x"], []]
    assert_same(*(ask(eager(x), texts, lines) for x in (again, served)))


def test_a_model_without_definitions(tmp_path):
    folder = store(plain("language"), tmp_path)
    stored = storage.load(folder, {"max_length": "7"})
    assert stored.served.features.packer is None
    assert stored.served.max_length == 7
    assert stored.details == {"system": "system"}
    assert stored.warmup_texts == EXAMPLES
    with pytest.raises(SettingError, match="max_length, num_words[.]"):
        storage.load(folder, {"dictionary": "x"})


@pytest.mark.long
def test_translators_answer_as_before(eagerly, tmp_path):
    translator = translators.everything()
    again = storage.load(store(translator, tmp_path)).served
    texts = tf.constant(
        [*translators.sentences(12), "", "The Session of Kowalski"]
    )
    assert_same_answers(again.analyse(texts), translator.analyse(texts))
    for name, value in translator.arguments.items():
        found = again.arguments[name]
        if isinstance(value, PLAIN):
            assert found == value, name
        if isinstance(value, Glossary):
            assert found.terms == value.terms
    default = translators.random_translator().arguments
    unset = [
        name
        for name, value in translator.arguments.items()
        if value is default[name] and name not in ("model", "definitions")
    ]
    assert unset == ["source_vocabulary", "target_vocabulary"]
    assert again.config == translator.config


def test_a_translator_that_reads_definitions(eagerly, tmp_path):
    definitions = make_definitions()
    features = DefinitionFeatures(
        translators.SOURCE,
        lookup=DefinitionLookup(definitions, lemmas=False),
        packer=DefinitionPacker(definitions, GLOSSES, layout="flat"),
        characters=CHARACTERS,
        exclude_top_k=1,
    )
    translator = defined_translator(features, GLOSSES, CHARACTERS)
    again = storage.load(store(translator, tmp_path)).served
    texts = tf.constant(["the zebra runs", "dog", "a wug is open"])
    assert_same_answers(again.analyse(texts), translator.analyse(texts))


def test_fixed_tables_come_with_the_weights(tmp_path):
    vectors = np.random.default_rng(0).normal(size=(TEXT.size, 3))
    embedding = DefinitionEmbedding(
        *(TEXT.size, 3), reader=None, embeddings=vectors, name="embedding"
    )
    model = esim(embedding, units=UNITS)
    served = EntailmentClassifier(model, embedding, DefinitionFeatures(TEXT))
    folder = store(served, tmp_path)
    Checkpoints(folder / "checkpoints").save(
        1, {"identity": {}}, collect(model, keras.optimizers.Adam())
    )
    for checkpoint in ("best", "last"):
        again = storage.load(folder, checkpoint=checkpoint).served
        table = again.embedding.word_table.embeddings
        np.testing.assert_array_equal(table, vectors.astype("float32"))
        for x, y in zip(again.model.weights, model.weights, strict=True):
            np.testing.assert_array_equal(x, y)
    assert os.path.getsize(folder / storage.FILE_NAME) < 200_000


def test_the_model_that_is_trained_may_be_another(tmp_path):
    translator = translators.random_translator("mixed_bfloat16")
    trained = translator.model.with_candidates()
    again = storage.load(store(translator, tmp_path, trained)).served
    assert not again.model.candidates
    assert again.model.head.dtype_policy.name == "mixed_bfloat16"
    assert again.model.shift.dtype_policy == translator.model.shift.dtype_policy
    assert keras.config.dtype_policy().name == "float32"
    for x, y in zip(again.model.weights, translator.model.weights, strict=True):
        assert x.name == y.name
        np.testing.assert_array_equal(x, y)


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """The folder of a system; tests change copies of it."""
    run = tmp_path_factory.mktemp("run")
    words = translators.SOURCE.save(run / "data" / "vocabulary.source.txt")
    return store(translators.everything().copy(source_vocabulary=words), run)


@pytest.fixture
def system(stored, tmp_path):
    shutil.copytree(stored.parent, tmp_path / "run")
    return tmp_path / "run" / stored.name


def test_systems_share_the_files_of_their_run(system):
    data = system.parent / "data"
    before = sorted(os.listdir(data))
    assert len(before) == 5  # vocabularies, dictionaries and a glossary
    assert "vocabulary.source.txt" in before
    translator = storage.load(system).served
    assert translator.source_vocabulary.path == str(
        data / "vocabulary.source.txt"
    )
    store(translator, system.parent, name="other")
    assert sorted(os.listdir(data)) == before
    assert sorted(os.listdir(system)) == ["checkpoints", storage.FILE_NAME]


def test_words_that_changed_are_refused(system):
    path = system.parent / "data" / "vocabulary.source.txt"
    words = list(translators.SOURCE.words)
    Vocabulary([*words[:-2], words[-1], words[-2]]).save(path)
    with pytest.raises(RunError, match=f"^{path} .*has changed"):
        storage.load(system)
    path.unlink()
    with pytest.raises(RunError, match=f"^{path}: no such file"):
        storage.load(system)


def test_a_damaged_file_is_refused(system):
    path = system / storage.FILE_NAME
    whole = path.read_text(errors="surrogatepass")
    content = read_json(path)
    damaged = [
        *(whole[: len(whole) // 2], "", "[]", "\x00", "{}"),
        whole.replace('"details"', '"detail5"'),
        json.dumps({**content, "arguments": {}}),
        json.dumps({**content, "arguments": {**content["arguments"], "x": 1}}),
        json.dumps({**content, "model": {"class_name": "Seq3Seq"}}),
        json.dumps({k: x for k, x in content.items() if k != "precision"}),
        json.dumps({**content, "details": 3}),
    ]
    for text in damaged:
        path.write_text(text, errors="surrogatepass")
        with pytest.raises(RunError, match=f"^{path} is damaged"):
            storage.load(system)
    for key, value in (("warmup_texts", {}), ("details", 3), ("model", [])):
        path.write_text(json.dumps({**content, key: value}))
        message = f'damaged ."{key}" must be an? (list|object). Received: '
        with pytest.raises(RunError, match=message):
            storage.load(system)
    message = "is from another release of tfcopy .format 9"
    path.write_text(json.dumps({**content, "format": 9}))
    with pytest.raises(RunError, match=message):
        storage.load(system)
    path.unlink()
    with pytest.raises(RunError, match=f"^{path}: no such file"):
        storage.load(system)


def test_a_stored_model_brings_no_code(system, tmp_path, monkeypatch):
    path = system / storage.FILE_NAME
    content = read_json(path)
    (tmp_path / "theirs.py").write_text(
        "import keras, pathlib\n"
        "pathlib.Path(__file__).with_suffix('.ran').touch()\n"
        "class Theirs(keras.layers.Layer): pass\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for layer in (
        keras.saving.serialize_keras_object(keras.layers.Lambda(lambda x: x)),
        {"module": "theirs", "class_name": "Theirs", "config": {}}
        | {"registered_name": "theirs>Theirs"},
    ):
        path.write_text(json.dumps({**content, "model": layer}))
        with pytest.raises(RunError, match="damaged"):
            storage.load(system)
    assert not (tmp_path / "theirs.ran").exists()


def test_a_folder_whose_name_is_no_text_is_named(system, tmp_path):
    run = shutil.copytree(system.parent, tmp_path / "a\udcff")
    with pytest.raises(OSError, match="name is not UTF-8"):
        storage.load(run / system.name)


def test_files_of_other_folders_are_not_read(system, tmp_path):
    files = storage.StoredFiles(system)
    (tmp_path / "secret").write_text("secret")
    reference = files.write(b"secret", "file.{}.txt")
    assert files.path(reference).startswith(files.shared)
    with pytest.raises(RunError, match="secret: not a file of"):
        files.path({**reference, "file": "../../secret"})


def test_weights_of_another_model_are_refused(system):
    path = system / "checkpoints" / "best.npz"
    other = translators.random_translator(dims=(6, 8))
    Checkpoints(path.parent).save_best(other.model.get_weights(), {})
    with pytest.raises(
        CheckpointError, match=f"^{path} is .*from another model"
    ):
        storage.load(system)
    with pytest.raises(CheckpointError, match="no checkpoint yet"):
        storage.load(system, checkpoint="last")
    # The weights tell neither words nor activations.
    for name in ("vocabulary of the source", "--switch_activation"):
        Checkpoints(path.parent).save(1, {"identity": {name: "another"}}, {})
        with pytest.raises(CheckpointError, match=f"{name} is 'another' there"):
            storage.load(system)


def test_only_what_computes_in_bfloat16_is_copied_in_float32():
    model = translators.random_translator().model
    assert storage.convert_to_float32(model) is model
    other = translators.random_translator("mixed_bfloat16").model
    found = storage.convert_to_float32(Ensemble([model, other]))
    assert found.models[0] is model
    assert found.models[1].cell.compute_dtype == "float32"
    assert storage.convert_to_float32(found) is found
    # One layer, such as a pretrained network, in a model of float32.
    model.head.dtype_policy = keras.DTypePolicy("mixed_bfloat16")
    assert storage.convert_to_float32(model).head.compute_dtype == "float32"
    assert model.head.compute_dtype == "bfloat16"


def test_a_model_that_cannot_be_copied_in_float32_is_told():
    model = translators.random_translator("mixed_bfloat16").model
    model.cell.__class__ = type("Unregistered", (type(model.cell),), {})
    policy = keras.config.dtype_policy()
    with pytest.raises(ValueError, match=r"\(Unregistered is not registered"):
        storage.convert_to_float32(model)
    assert keras.config.dtype_policy() == policy


def test_nothing_is_stored_that_cannot_be_loaded(tmp_path):
    translator = translators.random_translator().copy(candidate_ids={1, 2})
    with pytest.raises(TypeError, match="cannot be stored"):
        store(translator, tmp_path)
    assert not (tmp_path / "system").exists()


def test_options_of_the_search_can_be_set(system):
    changes = {
        "num_beams": "2",
        "length_penalty": "0.5",
        "length_offset": "3",
        "min_summary_length": "4",
        "max_summary_length": "40",
        "refill": "false",
        "merge": "sum",
        "coverage_penalty": "0",
        "no_repeat_ngram": "3",
        "rescale": "False",
        "unfinished_compete": "false",
        "same_in_every_batch": "true",
        "must_copy": "false",
    }
    assert storage.load(system, changes).served.options == SearchOptions(
        num_beams=2,
        length_penalty=0.5,
        length_offset=3,
        min_length=4,
        max_length=40,
        no_repeat_ngram=3,
        forbid_unk=True,
        source_only=(5,),
    )


def test_what_else_can_be_set(system, tmp_path):
    Dictionary([("is", "est", 1.0)]).save(tmp_path / "other.txt")
    changes = {
        "max_source_length": "5",
        "replace_unk": "false",
        "output_dictionary": str(tmp_path / "other.txt"),
        "search_candidates": "6",
        "max_target_length": "41",
        "forbid_unk": "false",
        "shortlist": str(tmp_path / "other.txt"),
        "precision": "mixed_bfloat16",
    }
    translator = storage.load(system, changes).served
    assert translator.shortlist.senses("is") == ["est"]
    model = translator.model
    assert model.cell.compute_dtype == "bfloat16"
    assert model.cell.attention.compute_dtype == "bfloat16"
    assert model.head.variable_dtype == "float32"
    # The table would be cast as a whole.
    assert model.target_embedding.compute_dtype == "float32"
    assert translator.max_source_length == 5
    assert translator.replace_unk is False
    assert translator.options.max_length == 41
    assert translator.dictionary.senses("is") == ["est"]
    assert translator.candidate_ids.tolist() == [0, 1, 2, 3, 4, 5]
    assert translator.options.forbid_unk is False
    # There are no placeholders that could become <unk>.
    assert translator.options.source_only == ()
    none = {"dictionary": "None", "candidates": "None"}
    translator = storage.load(system, none).served
    assert translator.dictionary is None and translator.candidate_ids is None


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"units": "3"}, "units: .*fixed in training.* num_beams, max_len"),
        (
            {"precision": "half"},
            "precision must be float32 or mixed_bf.*: half",
        ),
        ({"num_beams": "x"}, "num_beams must be a non-negative integer.*: x"),
        ({"num_beams": "0"}, "num_beams. must be from 1"),
        ({"min_length": "99"}, "min_length. must be .*below"),
        ({"length_penalty": "nan"}, "length_penalty must be a finite number"),
        ({"refill": "perhaps"}, "refill must be true or false"),
        ({"merge": "min"}, "merge. must be 'sum' or 'max'"),
        ({"max_source_length": "0"}, "must be an integer from 1 to.*: 0"),
        ({"dictionary": "gone.txt"}, "dictionary: cannot read gone.txt"),
    ],
)
def test_wrong_settings_are_explained(system, changes, message):
    with pytest.raises(SettingError, match=message):
        storage.load(system, changes)


def test_another_dictionary_of_definitions(tmp_path):
    served, *_ = make("language", "mean", num_words=3)
    folder = store(served, tmp_path)
    changed = make_definitions(wug=["a big person"], gnu=["an animal"])
    changed.save(tmp_path / "other.txt")
    changes = {"dictionary": str(tmp_path / "other.txt"), "num_words": "2"}
    found = storage.load(folder, changes).served
    expected, *_ = make("language", "mean", changed, num_words=2)
    texts = texts_of(found, ["a wug", "the gnu runs", "", "a zebra"])
    assert_same(*(ask(eager(x), texts) for x in (found, expected)))
