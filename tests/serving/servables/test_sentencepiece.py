"""From pieces to a served model and back to text."""

import io
import os
import sys

import pytest
import tensorflow as tf

from tests.data.text.test_sentencepiece_tokenizer import SENTENCES
from tests.serving.servables.translators import NAMES, Copier
from tests.serving.test_export import Echo
from tfcopy.data import (
    SentencepieceTokenizer,
    Vocabulary,
    count_words,
    train_sentencepiece,
)
from tfcopy.decoding import SearchOptions
from tfcopy.runtime.tensorflow_engine import find_operations, read_saved_model
from tfcopy.serving import ask
from tfcopy.serving.saved_model import export
from tfcopy.serving.servables.storage import Decoder, Encoder, StoredFiles
from tfcopy.serving.servables.translator import Translator

pytest.importorskip("sentencepiece")

PAIRS = [(text, text) for text in SENTENCES]
TEXTS = [f"The session of {name} opens." for name in NAMES]


@pytest.fixture
def tokenizer(tmp_path):
    path = tmp_path / "pieces.model"
    train_sentencepiece.train(SENTENCES, 45, path, model_type="bpe")
    return SentencepieceTokenizer(str(path))


def translator(tokenizer):
    counts, _ = count_words(PAIRS, [tokenizer] * 2, progress=False)
    vocabulary = Vocabulary.build(counts, 30)
    model = Copier()
    model.vocabulary_size = vocabulary.size
    return Translator(
        model,
        vocabulary,
        vocabulary,
        source_tokenizer=tokenizer,
        target_tokenizer=tokenizer,
        options=SearchOptions(num_beams=2, max_length=40),
    )


def answers(folder, texts, monkeypatch, capfdbinary):
    stdin = io.TextIOWrapper(io.BytesIO("\n".join(texts).encode()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert ask.main([str(folder)]) == 0
    sys.stdout.flush()
    return capfdbinary.readouterr().out.decode().splitlines()


@pytest.mark.long
def test_the_served_model_holds_the_pieces(
    tokenizer, tmp_path, monkeypatch, capfdbinary
):
    path = export(translator(tokenizer), tmp_path / "served")
    os.remove(tokenizer.model_file)
    tf.random.set_seed(1)
    found = answers(tmp_path / "served", TEXTS, monkeypatch, capfdbinary)
    assert found == TEXTS
    used = find_operations(read_saved_model(path))
    assert "SentencepieceTokenizeOp" in used
    assert not any(">" in name for name in used)


def test_the_pieces_are_stored_with_a_run(tokenizer, tmp_path):
    files = StoredFiles(tmp_path / "run" / "system")
    content = Encoder(files)([tokenizer, tokenizer])
    expected = tokenizer.tokenize(tf.constant(TEXTS)).to_list()
    os.remove(tokenizer.model_file)
    source, target = Decoder(files, model=None)(content)
    assert source is target
    assert source.tokenize(tf.constant(TEXTS)).to_list() == expected
    assert source.model_file.startswith(str(tmp_path / "run" / "data"))


def test_other_operations_of_tensorflow_text_are_refused(tmp_path):
    import tensorflow_text

    with pytest.raises(ValueError, match="Received operations: CaseFold"):
        export(Echo(tensorflow_text.case_fold_utf8), tmp_path)
