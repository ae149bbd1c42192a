"""The coattention network, with the counts and checks of the paper's notes."""

import keras
import numpy as np
import pytest

from tests import helpers
from tests.layers.encoders import test_recurrent
from tests.layers.random_inputs import randomized
from tests.models.contract import count
from tests.models.defined_texts import batch_for, make_embedding, predict
from tfcopy import losses
from tfcopy.layers import DefinitionEmbedding
from tfcopy.models import coattention
from tfcopy.tokens import EOS


@pytest.mark.parametrize(
    ("size", "options", "total"),
    [
        ((10_000, 200), {"reader": None}, 3_803_402),
        ((3000, 200), {"stop_gradient": True}, 2_403_402),
        ((3000, 200), {}, 2_403_402),
        ((3000, 200), {"combine": "transform"}, 2_443_402),
        ((3000, 200), {"reader": "lstm", "combine": "transform"}, 2_764_202),
        ((50, 300), {"reader": None, "embeddings": (50, 300)}, 1_883_402),
    ],
    ids=["B", "D1", "D2", "D3", "D4", "G"],
)
def test_number_of_parameters(size, options, total):
    assert count(coattention(DefinitionEmbedding(*size, **options))) == total


def test_loss_before_training():
    embedding = DefinitionEmbedding(100, 30, reader=None)
    model = coattention(embedding, units=30)
    context = np.random.default_rng(0).integers(4, 100, (2, 150))
    batch = batch_for(embedding, {"context": context, "question": [[4], [5]]})
    labels = {"start": np.array([3, 140]), "end": np.array([5, 149])}
    actual = helpers.to_numpy(losses.span(labels, model(batch)))
    np.testing.assert_allclose(actual, np.full((2, 1), 2 * np.log(150)), 0.05)


def test_follows_the_equations():
    embedding = make_embedding(reader=None)
    model = coattention(embedding, units=4)
    randomized(model, 0.5)
    texts = {
        "context": np.array([[5, 6, 7, EOS], [8, EOS, 0, 0]]),
        "question": np.array([[9, 5, EOS], [6, EOS, 0]]),
    }
    actual = predict(model, batch_for(embedding, texts))
    table = helpers.to_numpy(embedding.word_table.embeddings)
    encoder, projection, fusion, *heads = map(
        model.get_layer,
        ["encoder", "question_projection", "fusion", "start_head", "end_head"],
    )
    w, b = map(helpers.to_numpy, projection.weights)
    for i, (n, m) in enumerate([(4, 3), (2, 2)]):
        c, q = (
            test_recurrent.lstm_states(
                encoder.weights, table[x[i : i + 1, :k]], np.ones((1, k))
            )[0][0]
            for x, k in zip(texts.values(), (n, m))
        )
        q = np.tanh(q @ w + b)
        scores = np.exp(c @ q.T)
        over_question = scores / scores.sum(1, keepdims=True)
        over_context = scores / scores.sum(0, keepdims=True)
        seen = over_context.T @ c
        u = np.concatenate([c, over_question @ q, over_question @ seen], -1)
        (forward, _), (backward, _) = test_recurrent.lstm_states_both_ways(
            fusion, u[None], np.ones((1, n))
        )
        u = np.concatenate([forward[0], backward[0, ::-1]], axis=-1)
        for name, head in zip(("start", "end"), heads):
            w1, b1, w2, b2 = map(helpers.to_numpy, head.weights)
            expected = np.maximum(u @ w1 + b1, 0) @ w2 + b2
            helpers.assert_close(actual[name][i, :n], expected[:, 0])
            assert (actual[name][i, n:] == -1e9).all()


def test_attention_can_be_looked_at():
    embedding = make_embedding()
    model = coattention(embedding, units=4)
    attention = keras.Model(model.input, model.get_layer("coattention").output)
    texts = {"context": np.full((2, 5), 7), "question": np.full((2, 3), 5)}
    _, over_question, _ = predict(attention, batch_for(embedding, texts))
    helpers.assert_close(over_question, np.full((2, 5, 3), 1 / 3))


def test_vectors_may_come_from_elsewhere():
    """They may come from a table of definitions that were read before."""
    embedding = make_embedding()
    model = coattention(embedding, units=4)
    vectors = model.get_layer(embedding.name).output
    ids = [model.input[f"{name}_ids"] for name in ("context", "question")]
    rest = keras.Model([vectors, ids], model.output)
    texts = {"context": np.array([[7, 9, 5]]), "question": np.array([[5, 8]])}
    batch = batch_for(embedding, texts)
    texts = keras.tree.map_structure(keras.ops.convert_to_tensor, texts)
    names = ("slots", "ids", "owners", "weights", "counts")
    definitions = {name: batch.get(f"definition_{name}") for name in names}
    slots = {name: batch[f"{name}_slots"] for name in texts}
    arguments = embedding(texts, {**definitions, "slots": slots})
    actual = rest(
        [[arguments["context"], arguments["question"]], [*texts.values()]]
    )
    helpers.assert_close(actual, predict(model, batch))
