"""ESIM, with the counts and checks of the paper's notes."""

import numpy as np
import pytest

from tests import helpers
from tests.layers.encoders.test_matching import numpy_alignment
from tests.layers.encoders.test_recurrent import lstm_states_both_ways
from tests.layers.random_inputs import randomized
from tests.models.contract import count
from tests.models.defined_texts import batch_for, make_embedding, predict
from tfcopy import losses
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import esim

DICTIONARY = {"definition_vocabulary_size": 11_000, "combine": "bands"}


@pytest.mark.parametrize(
    ("size", "options", "total"),
    [
        ((5000, 300), {"reader": None}, 18_070_803),
        ((20_000, 300), {"reader": None}, 22_570_803),
        ((3000, 100), DICTIONARY, 3_243_603),
        ((50, 300), {"reader": None, "embeddings": (50, 300)}, 16_570_803),
    ],
    ids=["5k", "20k", "dictionary", "GloVe"],
)
def test_number_of_parameters(size, options, total):
    embedding = DefinitionEmbedding(*size, **options)
    assert count(esim(embedding, units=size[1])) == total


def test_loss_before_training():
    embedding = DefinitionEmbedding(100, 30, reader=None)
    model = esim(embedding, units=30)
    texts = np.random.default_rng(0).integers(4, 100, (2, 8, 20))
    batch = batch_for(embedding, dict(zip(("premise", "hypothesis"), texts)))
    labels = {"label": np.array([0, 1, 2, 0, 1, 2, 0, 1])}
    actual = helpers.to_numpy(losses.label(labels, model(batch)))
    assert actual.shape == (8, 1)
    np.testing.assert_allclose(actual.mean(), np.log(3), rtol=0.05)


def test_follows_the_equations():
    embedding = make_embedding(reader=None)
    model = esim(embedding, units=4)
    randomized(model, 0.5)
    texts = {
        "premise": np.array([[5, 6, 7, 9], [8, 4, 0, 0]]),
        "hypothesis": np.array([[9, 5, 5], [6, 0, 0]]),
    }
    actual = predict(model, batch_for(embedding, texts))
    table = helpers.to_numpy(embedding.word_table.embeddings)

    def read(name, words):
        layer, everywhere = model.get_layer(name), np.ones((1, len(words)))
        (forward, _), (backward, _) = lstm_states_both_ways(
            layer, words[None], everywhere
        )
        return np.concatenate([forward[0], backward[0, ::-1]], axis=-1)

    w1, b1, w2, b2 = (
        helpers.to_numpy(w)
        for name in ("hidden", "label")
        for w in model.get_layer(name).weights
    )
    for i, lengths in enumerate([(4, 3), (2, 1)]):
        words = [
            read(f"{name}_encoder", table[texts[name][i, :n]])
            for name, n in zip(texts, lengths)
        ]
        pooled = []
        for name, compared in zip(texts, numpy_alignment(*words)):
            composed = read(f"{name}_composition", compared)
            pooled += [composed.mean(0), composed.max(0)]
        hidden = np.tanh(np.concatenate(pooled) @ w1 + b1)
        helpers.assert_close(actual[i], hidden @ w2 + b2)
