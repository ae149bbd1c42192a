"""Exports whose searches are programs of LiteRT."""

import concurrent.futures
import dataclasses
import json
import multiprocessing
import os
import pathlib
import shutil
import sys
import threading
import types

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.lite.python import schema_py_generated as schema

from tests.decoding.searching import COPY_IDS, MODELS, SOURCE_IDS
from tests.runtime.text_sides import KEPT, MUST, TERMS, options_of
from tests.serving.servables.translators import copier, random_translator
from tfcopy.checked_files import checksum_of
from tfcopy.data import Dictionary
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.layers.tensorflow_loop import disable_gradients
from tfcopy.runtime import (
    litert_engine,
    text_functions,
    text_tokenizers,
    versions,
)
from tfcopy.runtime.local_model import LocalModel
from tfcopy.runtime.signatures import ModelError
from tfcopy.runtime.tensorflow_engine import TensorFlowEngine
from tfcopy.serving import evaluate, saved_model
from tfcopy.serving.servables import litert_export, settings
from tfcopy.serving.servables.translation import program_lengths

pytest.importorskip("ai_edge_litert")
pytestmark = pytest.mark.optimised_graphs

OPTIONS = {
    "plain": {},
    "free": {
        "merge": "max",
        "source_only": (5,),
        "rescale": True,
        "return_attention": True,
        "unfinished_compete": True,
    },
    "required": {
        "refill": True,
        "coverage_penalty": 1.0,
        "length_penalty": 1.0,
        "no_repeat_ngram": 2,
        "min_length": 3,
        "must_copy": True,
        "forbid_unk": True,
    },
}
PROTECTED = np.array([[0, 1, 0, 1, 0, 0], [2, 0, 0, 0, 0, 0]], "int32")
EXAMPLE = {"text": "the session of Łukasz is open ."}


def cases():
    for model in MODELS:
        if "defined" in model:
            continue
        for name in OPTIONS:
            # The first tier has those of the exports below.
            plain = "transformer" if name == "plain" else "pointer_softmax"
            long = model == plain
            mark = pytest.mark.long if long else pytest.mark.slow
            yield pytest.param(model, name, marks=mark, id=f"{model}-{name}")


@pytest.mark.parametrize(("model", "options"), cases())
def test_a_program_finds_what_tensorflow_finds(model, options, tmp_path):
    model = MODELS[model]()
    search_options = SearchOptions(
        num_beams=3,
        num_hypotheses=2,
        max_length=7,
        static_shapes=True,
        **OPTIONS[options],
    )

    def search(ids, copy_ids, protected=None):
        result = beam_search(
            model, ids, copy_ids, search_options, protected=protected
        )
        return {k: x for k, x in result._asdict().items() if 0 not in x.shape}

    arrays = {"ids": SOURCE_IDS, "copy_ids": COPY_IDS}
    if search_options.must_copy:
        arrays["protected"] = PROTECTED
    specs = [tf.TensorSpec(x.shape, x.dtype, k) for k, x in arrays.items()]
    function = tf.function(search, autograph=False)
    with disable_gradients():
        function = function.get_concrete_function(*specs)
    path = tmp_path / "search.tflite"
    path.write_bytes(litert_export.convert({"free_1x6": function}, "float32"))
    assert not unknown_shapes(path)
    programs = litert_engine.Programs(path)
    found = programs.run("free_1x6", arrays)
    expected = function(*map(tf.constant, arrays.values()))
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        if x.dtype.is_integer:
            np.testing.assert_array_equal(found[name], x, err_msg=name)
        else:
            np.testing.assert_allclose(
                found[name], x, rtol=1e-5, atol=1e-5, err_msg=name
            )


@pytest.mark.long
def test_programs_share_their_scales(tmp_path, monkeypatch):
    weights = tf.Variable(np.random.default_rng(0).normal(size=(64, 2048)))
    weights = tf.Variable(tf.cast(weights, tf.float32))

    @tf.function(autograph=False)
    def multiply(ids):
        return {"y": tf.cast(ids, tf.float32) @ weights}

    specs = {
        f"free_1x{n}": tf.TensorSpec([n, 64], tf.int32, "ids") for n in (1, 2)
    }
    functions = {k: multiply.get_concrete_function(x) for k, x in specs.items()}
    inputs = {"ids": np.arange(64, dtype="int32")[None]}
    found, sizes = [], []
    for path in (tmp_path / "shared", tmp_path / "repeated"):
        path.write_bytes(litert_export.convert(functions, "int8"))
        sizes.append(path.stat().st_size)
        found.append(litert_engine.Programs(path).run("free_1x1", inputs)["y"])
        monkeypatch.setattr(litert_export, "_share_scales", bytes)
    # Four bytes of a scale, and eight of a zero point.
    assert sizes[1] - sizes[0] >= 2048 * 12
    np.testing.assert_array_equal(*found)
    np.testing.assert_allclose(found[0], inputs["ids"] @ weights, atol=9)


def unknown_shapes(path):
    """Tensors for which LiteRT would prepare a loop at each of its steps."""
    model = schema.ModelT.InitFromPackedBuf(path.read_bytes())
    return [
        (graph.name, tensor.name)
        for graph in model.subgraphs
        for tensor in graph.tensors
        if tensor.shapeSignature is not None and -1 in tensor.shapeSignature
    ]


def test_programs_have_few_lengths():
    assert program_lengths(200) == [16, 32, 64, 128, 256]
    assert program_lengths(200, factor=4) == [16, 64, 256]
    assert program_lengths(100, factor=4) == [16, 64, 128]
    assert program_lengths(15) == [16]
    assert program_lengths(16) == [16, 32]  # and EOS


@pytest.mark.parametrize(
    ("usual", "expected"), [(8, [16, 256]), (17, [16, 32, 256]), (300, None)]
)
def test_texts_longer_than_usual_share_a_program(usual, expected):
    assert program_lengths(200, usual) == (expected or program_lengths(200))


def exported(translator, folder):
    path = saved_model.export(
        translator, folder / "model", warmup_texts=[EXAMPLE]
    )
    return pathlib.Path(path)


@pytest.fixture(scope="module")
def export(tmp_path_factory):
    translator = random_translator(
        max_source_length=15, litert="float32", **KEPT
    )
    return exported(translator, tmp_path_factory.mktemp("litert"))


@pytest.fixture
def copied(export, tmp_path):
    return pathlib.Path(shutil.copytree(export, tmp_path / "1"))


TEXTS = [
    "the session of Łukasz is open .",
    "",
    "``a b`` is 北京 \x00 </s>",
    *["the " * n + "``x``" for n in (1, 14, 15, 30)],
]


def both(folder):
    """An export by both engines."""
    return [
        LocalModel(folder, engine=engine, batch_size=64)
        for engine in ("litert", "tensorflow")
    ]


@pytest.fixture(scope="module")
def models(export):
    return both(export)


def assert_same(models, signature, inputs):
    found, expected = (x.ask(signature, inputs) for x in models)
    assert found.keys() == expected.keys()
    for name, x in expected.items():
        if x.dtype.kind == "f":
            np.testing.assert_allclose(found[name], x, 1e-6, 1e-5)
        else:
            assert found[name].tolist() == x.tolist()


@pytest.mark.long
@pytest.mark.parametrize("number", [0, 1, 12, 31, 49])
def test_answers_are_those_of_tensorflow(models, number):
    assert_same(models, "serving_default", {"text": (TEXTS * 7)[:number]})


@pytest.mark.long
def test_words_of_a_request_are_required(models):
    lines = [["the\tdas", "is\t``ist``"]] * len(TEXTS)
    assert_same(models, "with_glossary", {"text": TEXTS, "glossary": lines})


@pytest.mark.long
@pytest.mark.parametrize("engine", ["litert", None])
def test_a_program_answers(export, monkeypatch, engine):
    """And not TensorFlow, however many texts are asked at once."""
    found = []

    def told(kind):
        answer = kind.answer

        def answer_too(self, *arguments):
            found.append(kind is litert_engine.LitertEngine)
            return answer(self, *arguments)

        monkeypatch.setattr(kind, "answer", answer_too)

    model = LocalModel(export, engine=engine, batch_size=64)
    told(litert_engine.LitertEngine)
    told(TensorFlowEngine)
    for rows in (0, 1, 33):
        answers = model.ask("serving_default", {"text": ["the"] * rows})
        assert len(answers["text"]) == rows
    model.ask("analyse", {"text": ["the session"]})
    assert found == [True] * 4


TRANSLATORS = [
    *("int8", "dictionary", "int8 must copy", "replace_unk", "candidates"),
    *("append_eos", "must copy and glossary", "common entities", "lowercase"),
    *("moses fr", "characters en", "bart", "t5gemma", "bart in pieces"),
]
INT8 = {
    "int8": {
        "litert": "int8",
        "glossary": TERMS,
        **KEPT,
        **options_of("dictionary", None),
    },
    "int8 must copy": {"litert": "int8", "options": MUST, **KEPT},
}


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=pytest.mark.slow if i else [])
        for i, x in enumerate(TRANSLATORS)
    ],
)
@pytest.mark.long
def test_options_of_a_translator(name, tmp_path):
    options = {"litert": "float32", "max_source_length": 15}
    options |= INT8.get(name) or options_of(name, tmp_path)
    folder = exported(random_translator(**options), tmp_path)
    models = both(folder)
    for signature, (inputs, _) in models[0].signatures.items():
        arrays = {"text": TEXTS}
        if "glossary" in inputs:
            arrays["glossary"] = [["the\tdas", "is\t``ist``"]] * len(TEXTS)
        assert_same(models, signature, arrays)
    config = json.loads((folder / "assets.extra/tfcopy.json").read_text())
    assert config["litert"]["precision"] == options["litert"]
    precision = config["litert"]["precision"]
    assert config["litert"][precision] == {"texts": 1, "answers": 0}
    text = f"{precision} changes 0 of 1 answers.\n"
    assert text in (folder / "README.md").read_text()


@pytest.mark.long
@pytest.mark.parametrize(
    "better", [False, pytest.param(True, marks=pytest.mark.slow)]
)
def test_int8_is_exported_unless_it_is_worse(better, tmp_path, monkeypatch):
    found = iter([["open", "session"], ["open", "is"]])
    monkeypatch.setattr(litert_export, "_answers", lambda *_: next(found))
    path = saved_model.export(
        copier(litert="int8", max_source_length=15),
        tmp_path / "model",
        pairs=[("open", "open"), ("is", "session" if better else "is")],
    )
    facts = versions.read_config(path)["litert"]
    changed = {"texts": 2, "answers": 1, "better": better, "worse": not better}
    assert facts["int8"].items() >= changed.items()
    assert facts["precision"] == ("int8" if better else "float32")
    assert ("float32" in facts) == (not better)
    card = (pathlib.Path(path) / "README.md").read_text()
    assert f"Engines: TensorFlow; LiteRT in {facts['precision']} (" in card
    counts = f"1 of 2 answers, {better:d} better, {not better:d} worse: BLEU "
    assert counts in card


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        ({"BLEU": 29.7, "chrF": 51.0, "% of spans": 99.0}, False),
        ({"BLEU": 29.6, "chrF": 51.0, "% of spans": 99.0}, True),
        ({"BLEU": 31.0, "chrF": 49.6, "% of spans": 99.0}, True),
        ({"BLEU": 31.0, "chrF": 51.0, "% of spans": 98.9}, True),
    ],
)
def test_int8_may_cost_little_and_no_span(after, expected):
    before = {"BLEU": 30.0, "chrF": 50.0, "% of spans": 99.0}
    changed = {"answers": 9, "worse": 9, "before": before, "after": after}
    assert litert_export._is_worse(changed) is expected
    assert not litert_export._is_worse({"answers": 9})


def kept_at_once(engine, wait):
    """The programs of one of two threads, while both have some."""
    with engine._programs() as programs:
        wait.wait(60)
        return programs


@pytest.mark.long
def test_processes_and_threads_share_a_model(export):
    """After a fork, in threads, and beside the same model."""
    first, second = (LocalModel(export, engine="litert") for _ in range(2))
    expected = first.translate(TEXTS)
    with concurrent.futures.ThreadPoolExecutor(3) as threads:
        models = [first, second, first] * 4
        for found in threads.map(lambda x: x.translate(TEXTS), models):
            assert found == expected
        new = LocalModel(export, engine="litert", at_once=2).engine
        wait = threading.Barrier(2)
        made = [*threads.map(kept_at_once, [new] * 2, [wait] * 2)]
        assert sorted(x.alone for x in made) == [False, True]
        with new._programs() as programs:
            assert not programs.alone
    with multiprocessing.get_context("fork").Pool(2) as processes:
        found = processes.apply_async(first.translate, [TEXTS])
        assert found.get(60) == expected
    assert first.translate(TEXTS) == expected


@pytest.mark.long
@pytest.mark.parametrize("content", [b"", b"[" * 10**5, b'{"format": 1}', None])
def test_texts_that_are_damaged_before_their_checksum(copied, content):
    path = copied / "assets.extra" / text_functions.FILE_NAME
    config = copied / "assets.extra" / "tfcopy.json"
    old = checksum_of(path)
    if content is None:
        content = json.loads(path.read_text())
        content["source"]["tokenizer"].pop("kind")
        content = json.dumps(content).encode()
    path.write_bytes(content)
    with pytest.raises(
        ModelError, match="texts.json is damaged, or of another"
    ):
        LocalModel(copied)
    config.write_text(config.read_text().replace(old, checksum_of(path)))
    with pytest.raises(
        ModelError, match=r"texts.json is (damaged|of another)"
    ) as told:
        LocalModel(copied).ask("serving_default", {"text": TEXTS[:1]})
    assert "\n" not in str(told.value)


@pytest.mark.long
def test_a_wrong_program_is_not_exported(tmp_path, monkeypatch):
    program = litert_export._program

    def other(translator, *arguments):
        options = dataclasses.replace(translator.options, max_length=2)
        return program(translator.copy(options=options), *arguments)

    monkeypatch.setattr(litert_export, "_program", other)
    translator = copier(litert="float32", max_source_length=15)
    check_without_programs(
        translator, tmp_path, "LiteRT answers 1 of 1 texts worse than TensorFl"
    )


def test_a_text_that_is_read_differently_is_told(tmp_path, monkeypatch):
    tokenize = text_tokenizers.Words.tokenize

    def tokenize_otherwise(self, text):
        tokens = tokenize(self, text)
        return tokens[:-1] if "Łukasz".encode() in tokens else tokens

    monkeypatch.setattr(text_tokenizers.Words, "tokenize", tokenize_otherwise)
    check_without_programs(
        copier(litert="float32", max_source_length=15),
        tmp_path,
        "Without TensorFlow the text 'the session of Łukasz is open .' has "
        "other ids.",
    )


def check_without_programs(translator, folder, reason):
    folder = exported(translator, folder)
    config = versions.read_config(folder)
    assert config["engines"].startswith(f"TensorFlow alone. {reason}")
    assert "litert" not in config
    names = {"tfcopy.json", saved_model.FILE_NAME}
    assert {*os.listdir(folder / "assets.extra")} == names
    card = (folder / "README.md").read_text()
    assert f"Engines: TensorFlow alone. {reason}" in card


@pytest.mark.long
def test_an_unknown_operation_of_a_search_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(litert_export, "check", lambda _: None)
    options = SearchOptions(sample=True, max_length=4)
    check_without_programs(
        copier(litert="int8", max_source_length=15, options=options),
        tmp_path,
        "LiteRT has no program of this search (TF Select ops: Bitwise",
    )


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"options": SearchOptions(sample=True)}, "samples"),
        ({"shortlist": Dictionary([("is", "est", 1.0)])}, "has a shortlist"),
        ({"definitions": tf.Module()}, "looks up definitions"),
    ],
)
def test_what_has_no_program_is_told(options, reason, tmp_path):
    translator = random_translator(litert="int8", **options)
    with pytest.raises(ValueError, match=f"of a search that {reason}"):
        litert_export.check(translator)


def test_settings_of_programs():
    content = {"kind": "Translator", "arguments": {}, "model": {"config": {}}}
    with pytest.raises(settings.SettingError, match="float32 or int8"):
        settings.parse(content, {"litert": "int4"})


@pytest.mark.long
def test_int8_is_scored_beside_tensorflow(copied, tmp_path, capsys):
    path = copied / "assets.extra/tfcopy.json"
    config = json.loads(path.read_text())
    config["litert"]["precision"] = "int8"  # as evaluate reads it
    path.write_text(json.dumps(config))
    texts = tmp_path / "texts"
    texts.write_text("the session\n``x`` is\n")
    flags = ["--source", texts, "--reference", texts, "--json"]
    assert not evaluate.main([str(copied), *map(str, flags)])
    found = json.loads(capsys.readouterr().out)
    assert [*found] == [f"{copied}, TensorFlow", f"{copied}, LiteRT int8"]
    changed = found[f"{copied}, LiteRT int8"]["changed"]
    assert changed == {"answers": 0, "better": 0, "worse": 0}


@pytest.mark.parametrize("worse", [10, 11])
def test_a_loss_of_int8_is_told(worse, capsys):
    scores = {
        "a, TensorFlow": {},
        "a, LiteRT int8": {"changed": {"better": 5, "worse": worse}},
    }
    evaluate._warn(scores, 1_000)
    told = capsys.readouterr().err
    text = "a, LiteRT int8: 11 of 1,000 answers are worse than TensorFlow's, 5"
    assert (text in told) == (worse > 10)


@pytest.mark.long
@pytest.mark.parametrize("fault", ["truncated", "flipped", "empty", "other's"])
def test_a_damaged_file_is_told(copied, fault):
    path = copied / "assets.extra" / litert_engine.FILE_NAME
    content = path.read_bytes()
    path.write_bytes(
        {
            "truncated": content[: len(content) // 2],
            "flipped": content[:5000] + b"\xff" + content[5001:],
            "empty": b"",
            "other's": content + content,
        }[fault]
    )
    with pytest.raises(ModelError, match="search.tflite is damaged, or of"):
        LocalModel(copied)
    if fault == "empty":
        assert LocalModel(copied, engine="tensorflow").signatures


@pytest.mark.long
def test_programs_alone_answer(copied):
    (copied / "saved_model.pb").unlink()
    shutil.rmtree(copied / "variables")
    model = LocalModel(copied, engine="litert")
    assert len(model.ask("serving_default", {"text": TEXTS})["text"])


@pytest.mark.long
def test_a_missing_file_is_told(copied):
    (copied / "assets.extra" / litert_engine.FILE_NAME).unlink()
    with pytest.raises(ModelError, match="search.tflite.*(N|n)o such file"):
        LocalModel(copied)


@pytest.mark.long
def test_where_litert_is_installed_in_part(export, monkeypatch):
    """Its package is there, and the library that this loads is not."""

    def lacking(name):
        raise NameError("name '_model_wrapper' is not defined")

    part = types.ModuleType("ai_edge_litert")
    part.__getattr__ = lacking
    monkeypatch.setitem(sys.modules, part.__name__, part)
    assert len(
        LocalModel(export).ask("serving_default", {"text": TEXTS})["text"]
    )
    message = (
        "not installed: pip install ai-edge-litert; or only in part: pip "
        "install --force-reinstall"
    )
    with pytest.raises(ModelError, match=message):
        LocalModel(export, engine="litert")


@pytest.mark.long
@pytest.mark.parametrize("content", [b"", b"x" * 999, None])
def test_programs_that_are_damaged_before_their_checksum(copied, content):
    path = copied / "assets.extra" / litert_engine.FILE_NAME
    config = copied / "assets.extra" / "tfcopy.json"
    old = checksum_of(path)
    if content is None:
        content = bytearray(path.read_bytes())
        content[4:64] = bytes(60)
    path.write_bytes(content)
    config.write_text(config.read_text().replace(old, checksum_of(path)))
    with pytest.raises(ModelError) as told:
        LocalModel(copied).ask("serving_default", {"text": TEXTS})
    assert "search.tflite: LiteRT cannot run its programs (" in str(told.value)
    assert "\n" not in str(told.value)


@pytest.mark.long
def test_an_export_without_programs(copier_export):
    with pytest.raises(ModelError, match="has no programs of LiteRT"):
        LocalModel(copier_export, engine="litert")
