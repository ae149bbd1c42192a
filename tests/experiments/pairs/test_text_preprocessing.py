"""What a run's folder keeps of its words."""

import pytest

from tfcopy.data.text.entities import Entities
from tfcopy.data.text.sentencepiece_tokenizer import SentencepieceTokenizer
from tfcopy.data.text.tokenization import Tokenizer
from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.experiments.pairs import text_preprocessing


@pytest.fixture
def vocabulary(tmp_path):
    return Vocabulary.build({"a": 2, "Łukasz": 1}).save(tmp_path / "v.txt")


def test_all_but_the_path_comes_back(tmp_path, vocabulary):
    kept = text_preprocessing.Words(
        (Tokenizer("space", "en", True), Tokenizer("characters", "zh")),
        (vocabulary, vocabulary),
        Entities("x.*", lowercase=True, common=("xylophone",)),
        ("a Łukasz",),
    )
    kept.save(tmp_path)
    moved = tmp_path.rename(tmp_path.with_name("moved"))
    found = text_preprocessing.Words.load(moved)
    assert found.tokenizers == kept.tokenizers
    assert found.entities == kept.entities
    assert found.examples == kept.examples
    assert found.identity == kept.identity
    source, target = found.vocabularies
    assert source is target and source.words == vocabulary.words
    assert source.path == str(moved / "v.txt")


def test_models_of_pieces_are_kept_as_well(tmp_path, vocabulary):
    own = tmp_path / "own.model"
    own.write_bytes(b"own")
    elsewhere = tmp_path / "elsewhere" / "a.model"
    elsewhere.parent.mkdir()
    elsewhere.write_bytes(b"other")
    tokenizers = tuple(map(SentencepieceTokenizer, map(str, (own, elsewhere))))
    text_preprocessing.Words(tokenizers, (vocabulary, vocabulary)).save(
        tmp_path
    )
    elsewhere.unlink()
    found = text_preprocessing.Words.load(tmp_path).tokenizers
    assert found[0].model_file == str(own)
    with open(found[1].model_file, "rb") as file:
        assert file.read() == b"other"


@pytest.mark.parametrize("text", ["{", "[]", '{"tokenizers": []}'])
def test_damage_is_named(tmp_path, text):
    (tmp_path / text_preprocessing.FILE_NAME).write_text(text)
    with pytest.raises(ValueError, match="words.json is damaged"):
        text_preprocessing.kept(tmp_path, None)


def test_the_corpus_is_needed_where_nothing_was_kept(tmp_path):
    def prepare():
        raise OSError("a.en: cannot be read.")

    message = "has no words.json, so that the corpus is needed: a.en: cannot"
    with pytest.raises(ValueError, match=message):
        text_preprocessing.kept(tmp_path, prepare)
