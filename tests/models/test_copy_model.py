import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.models.contract import saved
from tests.models.test_seq2seq import BATCH, V
from tfcopy import layers, losses, models, tokens
from tfcopy.models import CopyModel, Perplexity

MASK = BATCH["target_ids"] != tokens.PAD
SOURCE_MASK = BATCH["source_ids"] != tokens.PAD


def translator(**options):
    options = {"embedding_dim": 4, "units": 5, **options}
    return models.translator(8, V, head="pointer_softmax", **options)


def cost(model, loss=losses.observed_copy_loss):
    """The mean cost of a target word, without dropout."""
    inputs = {name: BATCH[name] for name in model.input}
    return helpers.to_numpy(loss(BATCH, model(inputs)))[MASK].sum() / MASK.sum()


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A model that `fit` has trained, its costs before and in training."""
    keras.utils.set_random_seed(0)
    path = tmp_path_factory.mktemp("fitted") / "model.keras"
    model = translator()
    before = cost(model)
    model.compile(
        keras.optimizers.Adam(0.01),
        metrics=[Perplexity(losses.observed_copy_loss)],
    )
    history = model.fit(
        BATCH,
        batch_size=2,
        epochs=5,
        verbose=0,
        callbacks=[keras.callbacks.ModelCheckpoint(path)],
    ).history
    return model, before, history, path


def test_fit_needs_no_loss(fitted):
    model, before, history, _ = fitted
    np.testing.assert_allclose(history["loss"][0], before, rtol=1e-5)
    np.testing.assert_allclose(
        history["perplexity"][0], np.exp(before), rtol=1e-4
    )
    assert len(history["loss"]) == 5
    assert history["loss"] == sorted(history["loss"], reverse=True)
    assert cost(model) < history["loss"][-1]


@pytest.mark.long
def test_a_checkpoint_of_a_callback_is_evaluated_and_trained_on(fitted):
    model, _, history, path = fitted
    loaded = keras.models.load_model(path)
    found = loaded.evaluate(BATCH, verbose=0, return_dict=True)
    np.testing.assert_allclose(found["loss"], cost(model), rtol=1e-5)
    np.testing.assert_allclose(
        found["perplexity"], np.exp(cost(model)), rtol=1e-4
    )
    loaded.fit(BATCH, verbose=0)
    assert cost(loaded) < cost(model)


def test_weights_and_a_loss_of_ones_own_count():
    model = translator(dropout=0.0)
    inputs = {name: BATCH[name] for name in model.input}
    distribution = model(inputs)
    rest = {name: x for name, x in BATCH.items() if name not in inputs}

    def loss_of(**options):
        return helpers.to_numpy(
            model.compute_loss(inputs, rest, distribution, **options)
        )

    model.compile("sgd")
    costs = (
        helpers.to_numpy(losses.observed_copy_loss(BATCH, distribution)) * MASK
    )
    for weights in (np.array([0.0, 2.0]), np.array([[1.0, 0, 0, 2], [0] * 4])):
        expected = (costs * np.reshape(weights, (2, -1))).sum() / MASK.sum()
        helpers.assert_close(loss_of(sample_weight=weights), expected, 0, 1e-5)
    model.compile("sgd", loss=losses.generation_loss)
    helpers.assert_close(
        loss_of(), cost(model, losses.generation_loss), 0, 1e-5
    )


def test_what_a_batch_lacks_is_named():
    model = translator()
    model.compile("sgd")
    some = {key: x for key, x in BATCH.items() if key != "pointers"}
    with pytest.raises(ValueError, match="A batch lacks 'pointers'"):
        model.fit(some, verbose=0)


# === Decoders of one's own ===

HEADS = {
    "softmax": layers.SoftmaxHead(V),
    "pointer_softmax": layers.PointerSoftmaxHead(V),
    "pointer_generator": layers.PointerGeneratorHead(V),
    "copynet": layers.CopyNetHead(V),
}


def own_model(head, dtype="float32"):
    """A decoder of Keras's layers, with a head on it."""
    with helpers.dtype_policy(dtype):
        source = keras.Input((None,), dtype="int32", name="source_ids")
        previous = keras.Input((None,), dtype="int32", name="previous")
        values = keras.layers.Embedding(8, 6)(source)
        queries = keras.layers.Embedding(V, 6)(previous)
        queries = keras.layers.GRU(6, return_sequences=True)(queries)
        features, attention = keras.layers.MultiHeadAttention(2, 3)(
            queries, values, return_attention_scores=True
        )
        distribution = type(head).from_config(head.get_config())(
            features,
            attention=attention,
            annotations=values,
            source_mask=source != tokens.PAD,
        )
        inputs = {"source_ids": source, "previous": previous}
        return CopyModel(inputs, distribution)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", HEADS)
def test_a_head_on_a_decoder_of_ones_own_is_trained(name, tmp_path):
    model = own_model(HEADS[name])
    shifted = np.where(MASK, BATCH["target_ids"], 0).clip(max=V - 1)
    x = {"source_ids": BATCH["source_ids"], "previous": shifted}
    y = {key: BATCH[key] for key in BATCH if key != "source_ids"}
    model.compile(keras.optimizers.SGD(0.1))
    first, second = model.fit(x, y, epochs=2, verbose=0).history["loss"]
    assert second < first
    distribution = saved(model, tmp_path)(x)
    assert isinstance(distribution, layers.CopyDistribution)
    for one, other in zip(distribution, model(x)):
        helpers.assert_close(one, helpers.to_numpy(other))


@pytest.mark.long
def test_fit_in_mixed_precision():
    model = own_model(HEADS["copynet"], "mixed_bfloat16")
    x = {"source_ids": BATCH["source_ids"], "previous": 1 * MASK}
    y = {key: BATCH[key] for key in BATCH if key != "source_ids"}
    model.compile("adam")
    assert np.isfinite(model.fit(x, y, verbose=0).history["loss"]).all()
    assert all(x.dtype == "float32" for x in model.trainable_weights)


def softmax(scores):
    weights = np.exp(scores) * SOURCE_MASK[:, None]
    return weights / weights.sum(-1, keepdims=True)


@pytest.mark.parametrize("name", HEADS)
def test_probabilities_and_logits_of_attention_say_the_same(name):
    rng = np.random.default_rng(1)
    features = rng.normal(size=(2, 4, 6)).astype("float32")
    annotations = rng.normal(size=(2, 5, 3)).astype("float32")
    scores = rng.normal(size=(2, 4, 5)).astype("float32")
    head = type(HEADS[name])(V)
    fixed = {"annotations": annotations, "source_mask": SOURCE_MASK}
    logits = head(features, attention_logits=scores, **fixed)
    weights = softmax(scores)
    several = np.stack([0.5 * weights, 1.5 * weights], axis=1)
    decoded = {
        "hidden": features,
        "state": features,
        "inputs": features,
        "context": weights @ annotations,
        "attention": np.where(
            SOURCE_MASK[:, None], np.log(np.maximum(weights, 1e-38)), -1e9
        ).astype("float32"),
    }
    decoded["context"] = decoded["context"].astype("float32")
    expected = helpers.probabilities(head(features, decoded, **fixed))
    for found in (
        logits,
        head(features, attention=weights.astype("float32"), **fixed),
        head(features, attention=several.astype("float32"), **fixed),
    ):
        for one, other in zip(helpers.probabilities(found), expected):
            helpers.assert_close(one, other, 0, 1e-5)


def test_gradients_are_finite_where_attention_is_zero():
    head = layers.PointerSoftmaxHead(V)
    values = np.ones((1, 3, 2), "float32")

    def total(attention):
        found = head(values, attention=attention, annotations=values)
        return ops.sum(ops.exp(found.copy_log_probs))

    attention = np.array([[[1.0, 0, 0], [0.5, 0.5, 0], [0, 0, 1]]], "float32")
    _, (gradient,), _ = helpers.gradients(total, [attention], [])
    assert np.isfinite(helpers.to_numpy(gradient)).all()


def test_attention_is_given_once():
    values = np.ones((1, 3, 2), "float32")
    head, both = layers.SoftmaxHead(V), np.ones((1, 3, 3), "float32")
    with pytest.raises(ValueError, match="neither"):
        head(values, annotations=values)
    with pytest.raises(ValueError, match="both"):
        head(values, annotations=values, attention=both, attention_logits=both)
