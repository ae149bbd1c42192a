"""Encoder-decoders whose source words may have definitions."""

import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.random_inputs import randomized
from tests.models.contract import check_learning, saved
from tests.models.defined_texts import SPELLING, E, batch_for, make_embedding
from tests.models.test_seq2seq import BATCH, INPUTS, V, among
from tfcopy import losses
from tfcopy.models import copynet, planner, pointer_generator, translator

BOTH = {"reader": "mean_linear", "spelling": SPELLING, "combine": "bands"}
CASES = {
    "pointer_softmax": (translator, (8, V), {"reader": "lstm"}),
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
    texts = {"source": INPUTS["source_ids"]}
    return randomized(model), {**INPUTS, **batch_for(embedding, texts)}


@pytest.fixture(scope="module", params=CASES)
def made(request):
    return make(request.param)


def test_has_the_inputs_of_its_embedding(made):
    model, inputs = made
    assert set(model.input) == set(inputs)
    assert {*model.source_inputs, *INPUTS} == set(inputs)


@pytest.mark.few(2)
def test_every_weight_has_a_gradient(made):
    model, inputs = made

    check_learning(
        lambda: ops.mean(losses.marginal_copy_loss(BATCH, model(inputs))),
        model.source_embedding.weights,
    )


@pytest.mark.few(1)
def test_saving_gives_the_same_model(made, tmp_path):
    model, inputs = made
    loaded = saved(model, tmp_path)
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
