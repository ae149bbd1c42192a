"""The contract of all models of defined words."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.random_inputs import randomized
from tests.models.contract import check_learning, saved
from tests.models.defined_texts import SPELLING, E, V, batch_for, make_embedding
from tfcopy import losses
from tfcopy.layers import ForwardLSTM, RecurrentReader
from tfcopy.models import coattention, esim, lstm_language_model
from tfcopy.tokens import BOS, EOS, UNK

CONTEXT = np.array([[5, UNK, 7, 8, EOS], [9, 7, EOS, 0, 0]])
QUESTION = np.array([[7, UNK, EOS], [8, EOS, 0]])
TEXT = np.array([[BOS, 5, UNK, 7], [BOS, 9, 0, 0]])


def shared_lstm():
    lstm = ForwardLSTM(E, name="lstm")
    return {"reader": RecurrentReader(lstm)}, {"lstm": lstm}


def make(name, embedding_options, options):
    """A model, its embedding, its texts, what else a batch has, its loss."""
    options = {"kernel_initializer": "glorot_uniform", **options}
    embedding = make_embedding(**embedding_options)
    if name == "coattention":
        model = coattention(embedding, units=4, seed=0, **options)
        texts = {"context": CONTEXT, "question": QUESTION}
        labels = {"start": [1, 0], "end": [3, 2]}
        loss = losses.span
    elif name == "esim":
        model = esim(embedding, units=4, seed=0, **options)
        texts = {"premise": CONTEXT, "hypothesis": QUESTION}
        labels, loss = {"label": [2, 0]}, losses.label
    else:
        model = lstm_language_model(embedding, V, units=E, **options)
        texts = {"text": TEXT}
        labels = {"target_ids": [[5, UNK, 7, 8], [9, 6, 0, 0]]}
        loss = losses.next_word
    labels = {k: np.array(x, "int32") for k, x in labels.items()}
    return randomized(model, 0.5), embedding, texts, labels, loss


LSTM_READER = {"reader": "lstm", "combine": "transform"}
BOTH = {"reader": "mean_linear", "spelling": SPELLING, "combine": "bands"}
# One of each model first.
CASES = {
    "coattention-both": ("coattention", BOTH, {"bidirectional_encoder": True}),
    "esim": ("esim", LSTM_READER, {}),
    "language": ("language", {"reader": None, "spelling": SPELLING}, {}),
    "coattention": ("coattention", {"reader": "mean"}, {}),
    "esim-none": ("esim", {"reader": None}, {"share_encoders": True}),
    "language-dict1": ("language", *shared_lstm()),
}


@pytest.fixture(scope="module", params=CASES)
def made(request):
    name, embedding_options, options = CASES[request.param]
    if "lstm" in options:
        embedding_options, options = shared_lstm()
    return make(name, embedding_options, options)


@pytest.mark.few(3)
def test_saving_gives_the_same_model(made, tmp_path):
    model, embedding, texts, *_ = made
    batch = batch_for(embedding, texts)
    expected = helpers.evaluate(model, batch)
    loaded = saved(model, tmp_path)
    actual = helpers.evaluate(loaded, batch)
    keras.tree.assert_same_structure(actual, expected)
    helpers.assert_close(actual, expected)
    assert set(loaded.input) == set(batch)
    shapes = [[w.shape for w in x.trainable_weights] for x in (loaded, model)]
    assert shapes[0] == shapes[1]


def words_of(outputs, sizes):
    """The outputs that are of words, and not of padding."""
    flat = keras.tree.flatten(helpers.to_numpy(outputs))
    if flat[0].shape == (2, 3):  # of labels
        return tuple(flat)
    return tuple(x[i, :n] for x in flat for i, n in enumerate(sizes))


def sizes_of(texts):
    return (next(iter(texts.values())) != 0).sum(1)


@pytest.mark.few(3)
def test_padding_changes_nothing(made):  # check 13
    model, embedding, texts, *_ = made
    sizes = sizes_of(texts)
    short, long = (
        words_of(helpers.evaluate(model, batch_for(embedding, texts, n)), sizes)
        for n in (0, 3)
    )
    helpers.assert_close(long, short)


@pytest.mark.few(3)
def test_the_loss_teaches_every_weight(made):
    model, embedding, texts, labels, loss = made
    batch = batch_for(embedding, texts)

    check_learning(
        lambda: ops.mean(loss(labels, model(batch))),
        model.trainable_weights,
        "head/score/bias",
    )


def test_no_two_weights_start_alike():
    initializer = keras.initializers.RandomUniform(-0.1, 0.1)
    options = {
        "units": 4,
        "kernel_initializer": initializer,
        "recurrent_initializer": initializer,
    }
    for model in (
        coattention(make_embedding(), **options),
        esim(make_embedding(), **options),
        lstm_language_model(make_embedding(), 4, **options),
    ):
        kernels = [w for w in model.weights if len(w.shape) > 1]
        starts = {helpers.to_numpy(w).tobytes()[:16] for w in kernels}
        assert len(starts) == len(kernels)


def test_dropout_is_off_outside_training():
    for name, options in (("coattention", {}), ("esim", {})):
        model, embedding, texts, *_ = make(name, {"reader": None}, options)
        batch = batch_for(embedding, texts)
        once, twice = (
            tuple(keras.tree.flatten(model(batch))) for _ in range(2)
        )
        helpers.assert_close(once, twice, 0, 0)
        for x, y in zip(keras.tree.flatten(model(batch, training=True)), once):
            assert not np.allclose(helpers.to_numpy(x), helpers.to_numpy(y))


def test_any_embedding_will_do():
    embedding = keras.layers.Embedding(V, E)
    for model, texts in (
        (coattention(embedding, units=4), {"context": 5, "question": 3}),
        (esim(embedding, units=4), {"premise": 5, "hypothesis": 3}),
        (lstm_language_model(embedding, V, units=4), {"text": 5}),
    ):
        arguments = {
            f"{k}_ids": np.ones((2, n), "int32") for k, n in texts.items()
        }
        assert set(model.input) == set(arguments)
        for x in keras.tree.flatten(helpers.evaluate(model, arguments)):
            assert np.isfinite(helpers.to_numpy(x)).all()


@pytest.mark.long
def test_mixed_precision_gives_scores_alike():
    expected = {}
    for policy in ("float32", "mixed_bfloat16"):
        keras.utils.set_random_seed(0)
        for key, (name, *options) in CASES.items():
            with helpers.dtype_policy(policy):
                if key == "language-dict1":
                    options = shared_lstm()
                model, embedding, texts, *_ = make(name, *options)
            outputs = helpers.evaluate(model, batch_for(embedding, texts))
            assert all(w.dtype == "float32" for w in model.weights)
            outputs = words_of(outputs, sizes_of(texts))
            if policy == "float32":
                expected[key] = outputs
            else:
                helpers.assert_close(outputs, expected[key], 0.1, 0.1)
