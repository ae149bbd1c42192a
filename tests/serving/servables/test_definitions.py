"""Models that read definitions: as they answer, and as they are served."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from tests.serving.servables import translators
from tests.serving.servables.encoded_search import search_all
from tfcopy import models
from tfcopy.data import Vocabulary, encode, evaluation_batches
from tfcopy.data.definitions import (
    DefinitionFeatures,
    DefinitionLookup,
    DefinitionPacker,
    Definitions,
)
from tfcopy.decoding import SearchOptions
from tfcopy.layers import DefinitionEmbedding
from tfcopy.runtime.tensorflow_engine import find_operations, read_saved_model
from tfcopy.serving.saved_model import export
from tfcopy.serving.servables.translator import Translator
from tfcopy.tokens import PAD

CITIES = ["a city of rivers", "a river"]
READ = Vocabulary.build(dict.fromkeys("a of city river man".split(), 1))
CHARACTERS = Vocabulary.build(dict.fromkeys("</s>Kowalski", 1))
TEXTS = [*translators.sentences(30), "", "Kowalski 北京 of the session"]


def features_of(definitions):
    return DefinitionFeatures(
        translators.SOURCE,
        lookup=DefinitionLookup(definitions),
        packer=DefinitionPacker(definitions, READ, layout="flat"),
        characters=CHARACTERS,
    )


def dictionary(**texts):
    texts = {"北京": CITIES, "Łukasz": ["a man"], **texts}
    return Definitions(
        tuple(texts), tuple(tuple(map(str.split, x)) for x in texts.values())
    )


def defined_translator(features, glosses, characters):
    """A translator whose source words have definitions and spellings."""
    embedding = DefinitionEmbedding(
        translators.SOURCE.size,
        6,
        definition_vocabulary_size=glosses.size,
        spelling={"characters": characters.size, "units": 6},
    )
    model = models.translator(
        *(translators.SOURCE.size, translators.TARGET.size),
        embedding_dim=6,
        units=7,
        source_embedding=embedding,
    )
    options = SearchOptions(num_beams=2, max_length=6, min_length=2)
    return Translator(
        model,
        translators.SOURCE,
        translators.TARGET,
        options=options,
        definitions=features,
    )


@pytest.fixture(scope="module")
def translator():
    keras.utils.set_random_seed(4)
    translator = defined_translator(features_of(dictionary()), READ, CHARACTERS)
    rng = np.random.default_rng(5)
    for weight in translator.model.trainable_variables:
        weight.assign(rng.normal(size=weight.shape) * 0.9)
    return translator


@pytest.mark.slow
def test_what_is_served_answers_as_python_does(translator, tmp_path):
    expected = translator.analyse(tf.constant(TEXTS))
    path = export(translator, tmp_path / "a")
    analyse = tf.saved_model.load(path).signatures["analyse"]
    translators.assert_close_answers(analyse(text=tf.constant(TEXTS)), expected)
    names = find_operations(read_saved_model(path))
    assert not any("PyFunc" in name or ">" in name for name in names)


@pytest.mark.slow
def test_another_dictionary_gives_other_answers(translator):
    other = dictionary(北京=["man man"], Kowalski=["a man"])
    other = translator.copy(definitions=features_of(other))
    texts = tf.constant(["北京 is open", "Kowalski", "Łukasz of session"])
    before, after = translator.translate(texts), other.translate(texts)
    changed = np.abs(before["score"] - after["score"]) > 1e-3
    assert changed.tolist() == [True, True, False]
    assert before["text"][0] != after["text"][0]


@pytest.mark.long
def test_no_answer_depends_on_the_others(translator):
    alone = [translator.translate(tf.constant([text])) for text in TEXTS[-9:]]
    for name, x in translator.translate(tf.constant(TEXTS)).items():
        found = np.concatenate([answer[name] for answer in alone])
        if name == "score":
            np.testing.assert_allclose(found, x[-9:], atol=1e-4)
        else:
            np.testing.assert_array_equal(found, x[-9:])


@pytest.mark.parametrize("append_eos", [True, False])
def test_reads_all_words_and_nothing_else(eagerly, append_eos):
    class Words(tf.Module):
        def source_inputs(self, words, ids):
            return {"words": words, "ids": ids}

    class Reader(translators.Copier):
        def encode(self, source_ids, source_copy_ids, words, ids):
            # Points at nothing behind the first place without a word.
            is_read = tf.cast((words != "") & (ids == source_ids), tf.int32)
            ids = tf.where(tf.math.cumprod(is_read, axis=1) > 0, ids, PAD)
            return super().encode(ids, source_copy_ids)

    reader = translators.copier(
        definitions=Words(), max_source_length=3, append_eos=append_eos
    )
    reader = reader.copy(model=Reader())
    found = reader.translate(tf.constant(["of 北京 is x", "Łukasz", " "]))
    texts = [text.decode() for text in found["text"].numpy()]
    assert texts == ["of 北京 is", "Łukasz", ""]


@pytest.mark.long
def test_searches_sentences_that_are_encoded(translator):
    texts = [text for text in TEXTS if text]
    words = translator.source_tokenizer.tokenize(tf.constant(texts))
    data = encode(zip(texts, texts), translators.SOURCE, translators.TARGET)

    def with_definitions(batch):
        ids = batch["source_ids"]
        rows = tf.gather(words, batch["indices"])
        rows = rows.to_tensor("", shape=ids.shape)
        return batch | translator.definitions.source_inputs(rows, ids)

    batches = evaluation_batches(data, batch_size=8)
    _, _, scores = search_all(
        translator, map(with_definitions, batches), len(texts), progress=False
    )
    expected = translator.translate(tf.constant(texts))["score"]
    np.testing.assert_allclose(scores, expected, atol=1e-4)


def test_definitions_that_cannot_be_exported_are_refused(translator):
    with pytest.raises(ValueError, match="`definitions` must be a tf.Module"):
        translator.copy(definitions=dictionary())
    without = translator.copy(definitions=None)
    with pytest.raises(ValueError, match="source_spelling_slots"):
        without.translate(tf.constant(["x"]))
