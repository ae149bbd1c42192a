"""`DefinitionEmbedding` of words that may be parts of phrases."""

import keras
import numpy as np
import pytest

from tests import helpers
from tests.layers.definitions.test_definition_embedding import (
    CONTEXT,
    QUESTION,
    QUESTION_SLOTS,
    SLOTS,
    E,
    V,
    definitions_of,
    gradients_of,
    make_embedding,
    make_model,
    numpy_definitions,
    table_of,
)
from tests.layers.definitions.test_definition_readers import flat, padded
from tfcopy.layers import DefinitionEmbedding

PHRASES = np.array([[0, 2, 2, 2], [1, 1, 0, 0]], "int32")
POSITIONS = np.array([[0, 1, 2, 3], [1, 3, 0, 0]], "int32")
QUESTION_PHRASES = np.zeros((2, 1), "int32")


def arguments(pack=flat):
    return {
        **definitions_of(pack),
        "phrase_slots": PHRASES,
        "phrase_positions": POSITIONS,
    }


def test_is_what_is_read_of_the_phrase_of_a_word():
    embedding = make_embedding(phrases=True, combine="transform")
    table = table_of(embedding)
    kernel, w_p, places = (
        helpers.to_numpy(w)
        for w in (
            embedding.combination.kernels["definitions"],
            embedding.phrase_combination.kernel,
            embedding.phrase_combination.places,
        )
    )
    places = np.concatenate([np.zeros((1, E)), places])
    expected = (
        table[CONTEXT]
        + numpy_definitions(table, SLOTS) @ kernel
        + numpy_definitions(table, PHRASES[..., None]) @ w_p
        + places[POSITIONS]
    )
    helpers.assert_close(embedding(CONTEXT, arguments()), expected)


@pytest.mark.parametrize("combine", ["sum", "bands"])
def test_a_model_of_words_is_the_same_at_first(combine):
    words = make_embedding(combine=combine)
    phrases = DefinitionEmbedding(V, E, combine=combine, phrases=True)
    phrases.build()
    phrases.word_table.set_weights(words.word_table.get_weights())
    expected = words(CONTEXT, definitions_of())
    helpers.assert_close(
        phrases(CONTEXT, arguments()), expected, rtol=0, atol=0
    )
    assert phrases.count_params() == words.count_params() + E * E + 3 * E


def test_texts_without_phrases_are_as_they_were():
    options = {"phrases": True, "combine": "transform"}
    embedding = make_embedding(**options)
    without = definitions_of()
    texts = {"context": CONTEXT, "question": QUESTION}
    together = {
        **without,
        "slots": {"context": SLOTS, "question": QUESTION_SLOTS},
        "phrase_slots": {"context": PHRASES, "question": QUESTION_PHRASES},
        "phrase_positions": {
            "context": POSITIONS,
            "question": QUESTION_PHRASES,
        },
    }
    actual = embedding(texts, together)
    helpers.assert_close(actual["context"], embedding(CONTEXT, arguments()))
    helpers.assert_close(
        actual["question"],
        embedding(QUESTION, definitions_of(slots=QUESTION_SLOTS)),
    )


@pytest.mark.parametrize("reader, pack", [("mean", flat), ("lstm", padded)])
def test_rows_give_phrases_too(reader, pack):
    embedding = make_embedding(reader=reader, phrases=True)
    definitions = arguments(pack)
    rows = embedding.read(definitions), definitions["counts"]
    slots = ("slots", "phrase_slots", "phrase_positions")
    actual = embedding(CONTEXT, {k: definitions[k] for k in slots}, rows=rows)
    helpers.assert_close(actual, embedding(CONTEXT, definitions))


@pytest.mark.parametrize("stop_gradient", [False, True])
def test_what_is_learnt_through_phrases(stop_gradient):
    embedding = make_embedding(phrases=True, stop_gradient=stop_gradient)
    only_phrases = {**arguments(), "slots": 0 * SLOTS}

    def loss(_):
        return helpers.weighted_sum(embedding(CONTEXT, only_phrases))

    table, *others = gradients_of(embedding, loss)
    assert table[6:8].any() == (not stop_gradient)  # in definitions alone
    assert all(x.any() for x in others) and len(others) == 2
    assert len(embedding.trainable_weights) == 3


def test_a_saved_model_is_the_same(tmp_path):
    embedding = make_embedding(phrases=True, reader="lstm", depth=1)
    definitions = arguments(padded)
    model = make_model(embedding, definitions)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    tensors = {"words": CONTEXT, **definitions}
    helpers.assert_close(
        helpers.evaluate(loaded, tensors), helpers.evaluate(model, tensors)
    )
    assert loaded.get_layer(embedding.name).phrases


def test_errors_say_what_does_not_fit():
    def raises(message):
        return pytest.raises(ValueError, match=message)

    with raises("there must be a reader.*Received: reader=None"):
        make_embedding(phrases=True, reader=None)
    with raises("the layer has no `phrases`"):
        make_embedding()(CONTEXT, arguments())
    with raises("each text of `ids`, 1. Received: 2"):
        make_embedding(phrases=True)(
            CONTEXT, {**arguments(), "phrase_slots": [PHRASES, PHRASES]}
        )
