"""From the text of a pretrained network's tokenizer to an export's answers."""

import os

import numpy as np
import pytest
import tensorflow as tf

from tests.data.text.hub_tokenizers import (
    SENTENCES,
    bart_tokenizer,
    t5_tokenizer,
)
from tests.models.backbones import QUIET, make_backbone
from tfcopy.data import hub_pieces
from tfcopy.decoding import SearchOptions
from tfcopy.models import from_backbone
from tfcopy.serving.client_library import operations
from tfcopy.serving.saved_model import export
from tfcopy.serving.servables import storage
from tfcopy.serving.servables.storage import Decoder, Encoder, StoredFiles
from tfcopy.serving.servables.translator import Translator

pytest.importorskip("sentencepiece")
pytestmark = QUIET

TEXTS = [*SENTENCES[:2], "Köln 北京", ""]


@pytest.fixture(scope="module", params=["t5", "bart"])
def translator(request, tmp_path_factory):
    hub = {"bart": bart_tokenizer, "t5": t5_tokenizer}[request.param]()
    pieces = hub_pieces(hub, tmp_path_factory.mktemp("pieces"))
    model = from_backbone(
        make_backbone(
            request.param,
            vocabulary_size=len(hub.get_vocabulary()),
            num_layers=1,
        ),
        special_ids=pieces.special_ids,
        switch_bias=-1.0,
    )
    return Translator(
        model,
        pieces.vocabulary,
        pieces.vocabulary,
        source_tokenizer=pieces.tokenizer,
        target_tokenizer=pieces.tokenizer,
        options=SearchOptions(num_beams=2, max_length=7, min_length=3),
        constants=request.param == "t5",
    )


@pytest.mark.long
@pytest.mark.few(1)
def test_the_export_answers_as_python(translator, tmp_path):
    expected = [x.text for x in translator.translate_all(TEXTS, progress=False)]
    path = export(translator, tmp_path / "served")
    served = tf.saved_model.load(path).signatures
    answers = served["serving_default"](text=tf.constant(TEXTS))["text"]
    assert [x.decode() for x in answers.numpy()] == expected
    assert len(set(expected)) > 2 and expected[-1] == ""
    used = operations.used(operations.read(path))
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
    expected = translator.search(*sources).ids.numpy()
    stored = translator.copy(model=model).search(*sources).ids.numpy()
    assert stored.tolist() == expected.tolist()
