"""The language model, with the counts and checks of the paper's notes."""

import numpy as np
import pytest

from tests import helpers
from tests.layers.encoders.test_recurrent import lstm_states
from tests.layers.random_inputs import randomized
from tests.models.contract import count
from tests.models.defined_texts import batch_for, make_embedding, predict
from tfcopy import losses
from tfcopy.layers import DefinitionEmbedding, ForwardLSTM, RecurrentReader
from tfcopy.models import lstm_language_model
from tfcopy.tokens import BOS

A, B, C = range(4, 7)


def make(combine=None, shared=False, size=10_000, units=500):
    lstm = ForwardLSTM(units, "uniform", "uniform", name="lstm")
    reader = None
    if combine is not None:
        reader = RecurrentReader(lstm) if shared else "lstm"
    embedding = DefinitionEmbedding(
        size, units, reader=reader, combine=combine or "sum"
    )
    options = {"lstm": lstm} if shared else {"units": units}
    return lstm_language_model(embedding, size, **options), embedding


@pytest.mark.parametrize(
    ("combine", "shared", "total"),
    [
        (None, False, 12_012_000),
        ("sum", True, 12_012_000),
        ("transform", True, 12_262_000),
        ("transform", False, 14_264_000),
    ],
    ids=["baseline", "dict1 sum", "dict1 W", "dict2 W"],
)
def test_number_of_parameters(combine, shared, total):  # check 16
    assert count(make(combine, shared)[0]) == total


def test_loss_before_training():
    model, embedding = make(units=20)
    text = np.random.default_rng(0).integers(4, 10_000, (2, 8))
    logits = model(batch_for(embedding, {"text": text}))
    actual = helpers.to_numpy(losses.next_word({"target_ids": text}, logits))
    np.testing.assert_allclose(actual, np.full((2, 8), 9.2103), rtol=0.05)


def test_follows_the_equations():
    embedding = make_embedding(reader=None)
    model = lstm_language_model(embedding, 7, units=4)
    randomized(model)
    text = np.array([[BOS, 5, 6], [BOS, 7, 4]])
    table = helpers.to_numpy(embedding.word_table.embeddings)
    lstm, output = model.get_layer("lstm"), model.get_layer("output")
    states, _ = lstm_states(lstm.weights, table[text], np.ones((2, 3)))
    kernel, bias = map(helpers.to_numpy, output.weights)
    actual = predict(model, batch_for(embedding, {"text": text}))
    helpers.assert_close(actual, states @ kernel + bias)
