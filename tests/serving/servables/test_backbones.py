"""From the text of a pretrained network's tokenizer to an export's answers."""

import ast
import os
import pathlib
import re

import numpy as np
import pytest
import tensorflow as tf

import tfcopy
from tests.data.text import hub_tokenizers
from tests.models.backbones import QUIET, make_backbone
from tfcopy import models
from tfcopy.data import hub_pieces
from tfcopy.decoding import SearchOptions
from tfcopy.models import from_backbone
from tfcopy.runtime.tensorflow_engine import find_operations, read_saved_model
from tfcopy.serving.saved_model import export
from tfcopy.serving.servables import storage
from tfcopy.serving.servables.storage import Decoder, Encoder, StoredFiles
from tfcopy.serving.servables.translator import Translator

pytest.importorskip("sentencepiece")
pytestmark = QUIET

TEXTS = [*hub_tokenizers.SENTENCES[:2], "Köln 北京", ""]


# `tests/models` has their networks, and `test_hub_pieces` their tokenizers; T5
# has two sides as BART has, and GPT-2 has BART's pieces.
FURTHER = [
    pytest.param(x, marks=pytest.mark.slow)
    for x in ("bart", "t5gemma", "gemma")
]


@pytest.fixture(scope="module", params=["t5", "gpt2", *FURTHER])
def translator(request, tmp_path_factory):
    hub = hub_tokenizers.TOKENIZERS[request.param]()
    pieces = hub_pieces(hub, tmp_path_factory.mktemp("pieces"))
    return Translator(
        from_backbone(
            make_backbone(
                request.param,
                vocabulary_size=len(hub.get_vocabulary()),
                num_layers=1,
            ),
            special_ids=pieces.special_ids,
            switch_bias=-1.0,
        ),
        pieces.vocabulary,
        pieces.vocabulary,
        source_tokenizer=pieces.tokenizer,
        target_tokenizer=pieces.tokenizer,
        options=SearchOptions(num_beams=2, max_length=7, min_length=3),
    )


PAGE = pathlib.Path(__file__).parents[3] / "docs" / "backbones.md"
PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*shuffle=True. was passed")
def test_the_program_of_the_page(tmp_path, monkeypatch, capsys):
    """From two files of lines to an export; with a small preset."""
    import keras_hub

    tokenizer = hub_tokenizers.bart_tokenizer()
    size = tokenizer.vocabulary_size()
    preset = str(tmp_path / "preset")
    make_backbone(
        "bart", vocabulary_size=size, max_sequence_length=128
    ).save_to_preset(preset)
    keras_hub.models.BartSeq2SeqLMPreprocessor(tokenizer).save_to_preset(preset)
    for name in ("my.src", "my.tgt"):
        (tmp_path / name).write_text("\n".join(hub_tokenizers.SENTENCES) + "\n")
    program = PROGRAM.search(PAGE.read_text("utf-8"))[1]
    assert '"bart_base_en"' in program
    program = program.replace('"bart_base_en"', repr(preset))
    program = program.replace("AdamW(3e-5)", "AdamW(3e-5), jit_compile=False")
    imports = ast.Import, ast.ImportFrom
    statements = ast.parse(program).body
    assert sum(not isinstance(x, imports) for x in statements) <= 12
    monkeypatch.chdir(tmp_path)
    exec(compile(program, "page", "exec"), {})
    assert capsys.readouterr().out
    with tfcopy.load("savedmodels/mine") as model:
        assert len([*model.translate(hub_tokenizers.SENTENCES[:2])]) == 2


@pytest.mark.long
@pytest.mark.parametrize(
    "kind", ["gpt2", pytest.param("t5", marks=pytest.mark.slow)]
)
def test_a_task_answers_as_its_translator(kind, tmp_path):
    """Greedy search, KerasHub's from its ids and ours from our own."""
    import keras_hub

    lengths = {"encoder_sequence_length": 40, "decoder_sequence_length": 9}
    if kind == "t5":
        hub, make = hub_tokenizers.t5_tokenizer(), models.CopyT5Seq2SeqLM
        preprocessor = keras_hub.models.T5Seq2SeqLMPreprocessor(hub, **lengths)
    else:
        hub, make = hub_tokenizers.TOKENIZERS[kind](), models.CopyGPT2CausalLM
        preprocessor = make.preprocessor_cls(hub, **lengths)
    backbone = make_backbone(kind, vocabulary_size=hub.vocabulary_size())
    task = make(backbone, preprocessor)
    task.compile(jit_compile=False)
    # Of the 9 pieces the first is the padding that a target begins with.
    options = SearchOptions(num_beams=1, max_length=8)
    translator = Translator.of_task(task, tmp_path, options=options)
    pieces = hub_pieces(hub, tmp_path)
    assert task.get_config()["special_ids"] == list(pieces.special_ids)
    texts = hub_tokenizers.SENTENCES[:3:2]  # without unknown characters
    mine = [x.text for x in translator.translate_all(texts, progress=False)]
    assert mine == [x.strip() for x in task.generate(texts, sampler="greedy")]


@pytest.mark.long
def test_the_export_answers_as_python(translator, tmp_path):
    expected = [x.text for x in translator.translate_all(TEXTS, progress=False)]
    path = export(translator, tmp_path / "served")
    served = tf.saved_model.load(path).signatures
    answers = served["serving_default"](text=tf.constant(TEXTS))["text"]
    assert [x.decode() for x in answers.numpy()] == expected
    assert len(set(expected)) > 2 and expected[-1] == ""
    used = find_operations(read_saved_model(path))
    assert not any(">" in name or "Xla" in name for name in used)
    analysis = served["analyse"](text=tf.constant(TEXTS))
    assert (analysis["copied_from"].numpy() >= 0).any()


@pytest.mark.long
def test_a_run_stores_model_and_tokenizer(translator, tmp_path):
    files = StoredFiles(tmp_path / "run" / "system")
    arguments = translator.arguments
    names = ("source_tokenizer", "target_tokenizer", "source_vocabulary")
    content = Encoder(files)([arguments[name] for name in names])
    tokenizer, other, vocabulary = Decoder(files, model=None)(content)
    assert tokenizer is other
    assert os.path.dirname(tokenizer.model_file) == str(tmp_path / "run/data")
    texts = tf.constant(TEXTS)
    assert (
        tokenizer.tokenize(texts).to_list()
        == translator.source_tokenizer.tokenize(texts).to_list()
    )
    assert tokenizer.fingerprint == translator.source_tokenizer.fingerprint
    assert vocabulary.words == translator.source_vocabulary.words
    model = storage._make_model(storage._model_config(translator.model))
    assert model.encoder.parts.backbone is model.cell.parts.backbone
    model.set_weights(translator.model.get_weights())
    ids = np.array([[4, 5, 6]], "int32")
    sources = (tf.constant(ids), tf.constant(ids))
    expected, stored = (
        x.source_search.search(*sources, x.search_options()).ids.numpy()
        for x in (translator, translator.copy(model=model))
    )
    assert stored.tolist() == expected.tolist()
