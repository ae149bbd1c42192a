"""A model whose steps read constants answers as the model itself."""

import numpy as np
import pytest
import tensorflow as tf

from tests.decoding import searching
from tests.decoding.searching import MODELS
from tests.serving.servables.translators import eagerly, sentences
from tfcopy.data import Dictionary
from tfcopy.decoding import Candidates, SearchOptions, beam_search, search_among
from tfcopy.serving.servables import output_weights


@pytest.mark.long
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.few(1)
def test_answers_are_the_same(name):
    model = MODELS[name]()
    constant = output_weights.ConstantWeights(model)
    options = SearchOptions(num_beams=3, num_hypotheses=3, max_length=5)
    ids = [tf.constant(x) for x in (searching.SOURCE_IDS, searching.COPY_IDS)]
    inputs = searching.source_inputs(model)
    candidates = Candidates(np.array([0, 1, 2, 3, 5], "int32"))
    for some in (
        lambda model: beam_search(model, *ids, options, source_inputs=inputs),
        lambda model: search_among(
            candidates, model, *ids, options, source_inputs=inputs
        ),
    ):
        for x, y in zip(some(model), some(constant)):
            np.testing.assert_allclose(x, y, rtol=1e-5, atol=1e-6)


def test_the_graph_holds_the_weights(random_served):
    constant = random_served.copy(constants=True).with_constants()
    text = tf.constant(sentences(9))
    before = constant.translate(text)
    expected = random_served.translate(text)
    np.testing.assert_array_equal(before["text"], expected["text"])
    np.testing.assert_allclose(before["score"], expected["score"], rtol=1e-5)
    kept = {id(x) for x in constant.model.variables}
    model = random_served.model
    assert {id(x) for x in model.encoder.weights} <= kept
    assert id(model.head.kernel) not in kept
    # Of an array that no graph should hold twice.
    assert any(
        x.shape == model.head.kernel.shape for x in constant.model.arrays()
    )


@pytest.mark.long
def test_a_shortlist_takes_columns_of_the_constants(random_served):
    dictionary = Dictionary([("the", "la", 1.0), ("open", "est", 1.0)])
    few = random_served.copy(
        candidate_ids=[0, 1, 2, 3], shortlist=dictionary, constants=True
    )
    with eagerly():
        text = tf.constant(sentences(9))
        expected = few.translate(text)
        constant = few.with_constants()
        found = constant.translate(text)
    np.testing.assert_array_equal(expected["text"], found["text"])


def test_weights_that_no_graph_can_hold_are_refused(monkeypatch):
    model = MODELS["softmax"]()
    arrays = output_weights.ConstantWeights(model).arrays()
    size = sum(x.nbytes for x in arrays)
    monkeypatch.setattr(output_weights, "_MOST_BYTES", size)
    output_weights.ConstantWeights(model)
    monkeypatch.setattr(output_weights, "_MOST_BYTES", size - 1)
    with pytest.raises(ValueError, match=f"{size:,} bytes.*constants=false"):
        output_weights.ConstantWeights(model)


def test_only_what_is_asked_for_is_constant(random_served):
    assert random_served.with_constants() is random_served
