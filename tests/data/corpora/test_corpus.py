"""Promises of all corpora, and which texts are blank to every reader."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tfcopy.data.corpora.corpus import (
    Corpus,
    Split,
    TranslationCorpus,
    is_blank,
    map_examples,
)
from tfcopy.data.text.tokenization import MODES, Tokenizer, string_tensor


def make_corpus(**overrides):
    pairs = {"train": "ab", "validation": "c", "test": "d"}
    splits = {
        name: Split(lambda texts=texts: iter(zip(texts, texts)), texts)
        for name, texts in pairs.items()
    }
    arguments = {
        "name": "letters",
        "source_language": "en",
        "target_language": "fr",
        "splits": splits,
    }
    return TranslationCorpus(**{**arguments, **overrides})


def test_splits_are_read_again_and_again():
    corpus = make_corpus()
    assert list(corpus.train) == [("a", "a"), ("b", "b")]
    assert list(corpus.train) == [("a", "a"), ("b", "b")]
    assert list(corpus.test) == [("d", "d")]


def test_fingerprint_follows_text_and_languages():
    corpus = make_corpus()
    assert corpus.fingerprint == make_corpus().fingerprint
    assert corpus.fingerprint == make_corpus(name="other").fingerprint
    changed = dict(corpus.splits, test=Split(corpus.test.read, "e"))
    for other in (
        make_corpus(splits=changed),
        make_corpus(target_language="de"),
        make_corpus(tokenized=True),
    ):
        assert corpus.fingerprint != other.fingerprint


def test_a_mapping_is_part_of_the_fingerprints():
    splits = make_corpus().splits
    mapped = map_examples(splits, str, "as text")["test"]
    assert list(mapped.read()) == ["('d', 'd')"]
    assert mapped.fingerprint not in (
        splits["test"].fingerprint,
        map_examples(splits, str, "other")["test"].fingerprint,
    )
    same = map_examples(splits, str)["test"]
    assert same.fingerprint == splits["test"].fingerprint


def test_all_three_splits_are_needed():
    with pytest.raises(ValueError, match="train, validation, test"):
        make_corpus(splits={})


def test_a_corpus_may_hold_anything():
    split = Split(lambda: iter([1, 2]), "a", num_pairs=2)
    splits = dict.fromkeys(("train", "validation", "test"), split)
    corpus = Corpus("numbers", splits)
    assert list(corpus.train) == [1, 2]
    assert corpus.train.num_pairs == 2
    other = Corpus("numbers", {**splits, "test": Split(split.read, "b")})
    assert corpus.fingerprint != other.fingerprint
    assert corpus.fingerprint != Corpus("x", splits, tokenized=True).fingerprint
    assert corpus.fingerprint == Corpus("x", splits).fingerprint
    with pytest.raises(ValueError, match="Received: train."):
        Corpus("numbers", {"train": split})


UNSEEN = "\0\t \x1b\x85\xa0\u200b\u200d\u2028\u2060\u3000\ufeff\U000e0001"


@pytest.mark.parametrize("text", ["", *UNSEEN, UNSEEN])
def test_what_nobody_sees_is_blank(text):
    assert is_blank((text,)) and is_blank(("a", text)) and is_blank((text, "a"))
    assert not is_blank((f"{text}é{text}", "a"))


@settings(deadline=None)
@given(st.text(st.sampled_from(UNSEEN + "a.é\u0301\ue000\u2581")))
def test_what_has_no_token_is_blank(text):
    for mode in MODES:
        tokens = Tokenizer(mode).tokenize(string_tensor([text])).to_list()[0]
        assert tokens or is_blank((text,))
