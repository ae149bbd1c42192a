"""`DefinitionEmbedding` of definitions whose words have definitions."""

import keras
import numpy as np
import pytest

from tests import helpers
from tests.layers.definitions.test_definition_embedding import (
    CONTEXT,
    GLOSSES,
    SLOTS,
    A,
    B,
    C,
    D,
    E,
    V,
    definitions_of,
    gradients_of,
    make_embedding,
    make_model,
    table_of,
)
from tests.layers.definitions.test_definition_levels import (
    numpy_levels,
    numpy_means,
    packed,
)
from tests.layers.definitions.test_definition_readers import flat, padded
from tfcopy.layers import DefinitionEmbedding

# The id of the headword is V, and those of slots follow.
LEVELS = [
    [([A, V + 1], 1), ([V], 1), ([B, V + 2, V + 1], 2)],
    [([A, B], 1), ([C], 2)],
]
LAYOUTS = [("mean", flat), ("lstm", padded)]


def deep(pack=flat):
    return {**packed(LEVELS, pack), "slots": SLOTS}


def test_words_of_definitions_are_read():
    embedding = make_embedding(depth=1)
    table = table_of(embedding)
    headword = helpers.to_numpy(embedding.headword_table.embeddings)
    sums = numpy_levels(numpy_means, table, headword, LEVELS)
    counts = np.array([0, 2, 1])[SLOTS].sum(-1, keepdims=True)
    expected = table[CONTEXT] + sums[SLOTS].sum(2) / np.maximum(counts, 1)
    helpers.assert_close(embedding(CONTEXT, deep()), expected)


@pytest.mark.parametrize("reader, pack", LAYOUTS)
def test_without_deeper_levels_nothing_changes(reader, pack):
    """As where definitions of a request are packed on their own."""
    actual = [
        make_embedding(reader=reader, depth=depth)(
            CONTEXT, definitions_of(pack, glosses=GLOSSES)
        )
        for depth in (0, 1)
    ]
    helpers.assert_close(*actual, rtol=0, atol=0)


@pytest.mark.parametrize("reader, pack", LAYOUTS)
def test_a_saved_model_is_the_same(reader, pack, tmp_path):
    embedding = make_embedding(
        reader=reader, depth=1, combine="transform", dropout=0.1
    )
    model = make_model(embedding, deep(pack))
    arguments = {"words": CONTEXT, **deep(pack)}
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_layer(embedding.name).depth == 1
    helpers.assert_close(
        helpers.evaluate(loaded, arguments), helpers.evaluate(model, arguments)
    )


@pytest.mark.parametrize("reader, pack", LAYOUTS)
def test_deeper_levels_may_be_shut_off_from_learning(reader, pack):  # check 11
    """C stands two levels down alone."""
    assert not np.isin([C, D], CONTEXT).any()
    for stop_gradient in (False, True):
        embedding = make_embedding(
            reader=reader,
            depth=1,
            combine="transform",
            stop_gradient=stop_gradient,
        )

        def loss(_):
            return helpers.weighted_sum(embedding(CONTEXT, deep(pack)))

        gradients = gradients_of(embedding, loss)
        actual = {w.path: g for w, g in zip(embedding.weights, gradients)}
        headword = actual[embedding.headword_table.embeddings.path]
        table = actual[embedding.word_table.embeddings.path]
        assert headword.any() == table[C].any() == (not stop_gradient)
        assert not table[D].any()
        is_trained = embedding.headword_table.embeddings.trainable
        assert is_trained == (not stop_gradient)


def test_a_depth_adds_one_row():
    for options, size in (
        ({}, E),
        ({"definition_embeddings": (V, 3), "combine": "transform"}, 3),
    ):
        counts = []
        for depth in (0, 1, 2):
            embedding = DefinitionEmbedding(V, E, depth=depth, **options)
            embedding.build()
            counts.append(embedding.count_params())
        assert counts == [counts[0], counts[0] + size, counts[0] + size]


def test_errors_say_what_does_not_fit():
    def raises(message):
        return pytest.raises(ValueError, match=message)

    with raises("as large as the embeddings.*, 3. Received: 6, depth=1"):
        make_embedding(
            depth=1, reader="mean_linear", definition_embeddings=(V, 3)
        )
    with raises("Received: no reader, depth=1"):
        make_embedding(depth=1, reader=None)
    with raises("`depth` 0 are read"):
        make_embedding()(CONTEXT, deep())
    with raises("`depth` must be at least 0. Received: -1"):
        DefinitionEmbedding(V, E, depth=-1)
