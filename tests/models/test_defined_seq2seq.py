"""Encoder-decoders whose source words may have definitions."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.models.defined_texts import (
    SPELLING,
    E,
    batch_for,
    make_embedding,
)
from tests.models.test_seq2seq import BATCH, INPUTS, V, among
from tfcopy import losses
from tfcopy.decoding.hypotheses import with_beams
from tfcopy.models import (
    copynet,
    gru_translator,
    planner,
    pointer_generator,
)
from tfcopy.tokens import BOS

BOTH = {"reader": "mean_linear", "spelling": SPELLING, "combine": "bands"}
CASES = {
    "pointer_softmax": (gru_translator, (8, V), {"reader": "lstm"}),
    "copynet": (copynet, (8, V), BOTH),
    "planner": (planner, (8, V), {"reader": None, "spelling": SPELLING}),
    "pointer_generator": (pointer_generator, (V,), {"combine": "transform"}),
}


def make(name):
    """A model of random weights, and what it takes."""
    make_model, sizes, options = CASES[name]
    embedding = make_embedding(**options)
    model = make_model(
        *sizes, embedding_dim=E, units=5, source_embedding=embedding
    )
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    texts = {"source": INPUTS["source_ids"]}
    return model, {**INPUTS, **batch_for(embedding, texts)}


@pytest.fixture(scope="module", params=CASES)
def made(request):
    return make(request.param)


def test_has_the_inputs_of_its_embedding(made):
    model, inputs = made
    assert set(model.input) == set(inputs)
    assert {*model.source_inputs, *INPUTS} == set(inputs)


def test_steps_give_what_training_gives(made):
    model, inputs = made
    expected = helpers.evaluate(model, inputs)
    sources = {name: inputs[name] for name in model.source_inputs}

    def first_steps(tensors):
        memory, state = model.encode(
            tensors["source_ids"],
            tensors["source_copy_ids"],
            **{name: tensors[name] for name in sources},
        )
        target_ids, steps = tensors["target_ids"], []
        state = with_beams(state, 1)
        previous = [ops.full_like(target_ids[:, :1], BOS), target_ids[:, :1]]
        for ids in previous:
            distribution, _, state = model.decode_step(ids, state, memory)
            steps.append(tuple(distribution))
        return steps

    for t, step in enumerate(helpers.evaluate(first_steps, inputs)):
        helpers.assert_close(step, tuple(x[:, t : t + 1] for x in expected[:4]))


@pytest.mark.few(2)
def test_every_weight_has_a_gradient(made):
    model, inputs = made

    def cost(_):
        return ops.mean(losses.marginal(BATCH, model(inputs)))

    _, _, actual = helpers.gradients(cost, {}, model.source_embedding.weights)
    for weight, gradient in zip(model.source_embedding.weights, actual):
        gradient = helpers.to_numpy(gradient)
        assert np.isfinite(gradient).all() and gradient.any(), weight.path


@pytest.mark.few(1)
def test_saving_gives_the_same_model(made, tmp_path):
    model, inputs = made
    path = tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    copy = type(model).from_config(model.get_config())
    copy.set_weights(model.get_weights())
    expected = helpers.evaluate(model, inputs)
    shared = model.source_embedding is model.target_embedding
    config = model.source_embedding.get_config()
    for other in (loaded, copy):
        assert (other.source_embedding is other.target_embedding) == shared
        assert other.source_embedding.get_config() == config
        helpers.assert_close(helpers.evaluate(other, inputs), expected)


def test_a_model_with_candidates_reads_them_too():
    model, inputs = make("pointer_softmax")
    whole = helpers.evaluate(model, inputs)
    restricted = model.with_candidates()
    assert restricted.source_inputs == model.source_inputs
    everything = among(np.arange(V, dtype="int32"))
    actual = helpers.evaluate(restricted, {**inputs, **everything})
    helpers.assert_close(actual, whole)


def test_encode_says_what_is_missing():
    model, inputs = make("copynet")
    ids = inputs["source_ids"], inputs["source_copy_ids"]
    with pytest.raises(ValueError, match=r"definition_counts.*Received: \[\]"):
        model.encode(*ids)
    plain = copynet(8, V, embedding_dim=E, units=5)
    assert plain.source_inputs == ()
    with pytest.raises(ValueError, match="source_slots"):
        plain.encode(*ids, source_slots=inputs["source_slots"])
