"""The language model, with the counts and checks of the paper's notes."""

import numpy as np
import pytest

from tests import helpers
from tests.layers.encoders.test_recurrent import lstm_states
from tests.models.defined_texts import (
    V,
    batch_for,
    count,
    make_embedding,
    predict,
)
from tfcopy import losses
from tfcopy.layers import DefinitionEmbedding, ForwardLSTM, RecurrentReader
from tfcopy.models import lstm_language_model
from tfcopy.tokens import BOS, PAD, UNK

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


def test_dict1_has_the_weights_of_the_baseline():  # check 16
    baseline, dictionary = (
        make(*options, size=20, units=5)[0] for options in [(), ("sum", True)]
    )
    shapes = [
        sorted(tuple(w.shape) for w in model.weights)
        for model in (baseline, dictionary)
    ]
    assert shapes[0] == shapes[1]


def test_loss_before_training():
    model, embedding = make(units=20)
    text = np.random.default_rng(0).integers(4, 10_000, (2, 8))
    logits = model(batch_for(embedding, {"text": text}))
    actual = helpers.to_numpy(losses.next_word({"target_ids": text}, logits))
    np.testing.assert_allclose(actual, np.full((2, 8), 9.2103), rtol=0.05)


def test_uniform_scores_have_the_perplexity_of_the_vocabulary():  # check 15
    rng = np.random.default_rng(0)
    targets = rng.integers(1, 10_000, (3, 5)).astype("int32")
    logits = np.full((3, 5, 10_000), 0.7, "float32")
    costs = helpers.to_numpy(losses.next_word({"target_ids": targets}, logits))
    for subset in (costs, costs[:1], costs[rng.random((3, 5)) < 0.5]):
        helpers.assert_close(np.exp(subset.mean()), 10_000.0, 1e-5)


def test_what_follows_an_unknown_word():  # check 15
    """A cost stands at the word that was read before."""
    text = np.array([[BOS, A, UNK, B, PAD], [BOS, B, A, PAD, PAD]], "int32")
    targets = np.array([[A, UNK, B, C, PAD], [B, A, C, PAD, PAD]], "int32")
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2, 5, V)).astype("float32")
    costs = helpers.to_numpy(losses.next_word({"target_ids": targets}, logits))
    p = np.exp(logits[0, 2]) / np.exp(logits[0, 2]).sum()
    helpers.assert_close(costs[text == UNK], -np.log(p[[B]]))
    is_word = text != PAD
    parts = [is_word & (text == UNK), is_word & (text != UNK)]
    mean = sum(x.sum() * costs[x].mean() for x in parts) / is_word.sum()
    helpers.assert_close(mean, costs[is_word].mean())


def test_follows_the_equations():
    embedding = make_embedding(reader=None)
    model = lstm_language_model(embedding, 7, units=4)
    rng = np.random.default_rng(0)
    for weight in model.weights:
        weight.assign(rng.normal(size=weight.shape))
    text = np.array([[BOS, 5, 6], [BOS, 7, 4]])
    table = helpers.to_numpy(embedding.word_table.embeddings)
    lstm, output = model.get_layer("lstm"), model.get_layer("output")
    states, _ = lstm_states(lstm.weights, table[text], np.ones((2, 3)))
    kernel, bias = map(helpers.to_numpy, output.weights)
    actual = predict(model, batch_for(embedding, {"text": text}))
    helpers.assert_close(actual, states @ kernel + bias)
