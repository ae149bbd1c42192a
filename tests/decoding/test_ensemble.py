"""An ensemble is the model of the mean probabilities."""

import functools

import numpy as np
import pytest
from keras import ops

from tests.decoding import searching
from tfcopy import tokens
from tfcopy.decoding import Candidates, Ensemble, SearchOptions, search_among
from tfcopy.decoding.hypotheses import add_beams


@pytest.fixture(scope="module")
def models():
    """Members that point, that do not, and that are Transformers."""
    names = ("pointer_softmax", "softmax", "transformer")
    return [searching.MODELS[name]() for name in names]


@pytest.fixture(scope="module")
def ensemble(models):
    ensemble = Ensemble(models)
    # What `search` asks of a model.
    assert ensemble.source_inputs == ()
    return ensemble


def test_search_finds_what_brute_force_finds(models, ensemble):
    def score(rows, targets):
        each = [
            np.exp(searching.teacher_forced(x, rows, targets)) for x in models
        ]
        return np.log(np.mean(each, axis=0)).sum(axis=1)

    expected = searching.best_first(
        score, [searching.words_of(row) for row in range(2)], 3
    )
    result = searching.search(
        ensemble, num_beams=300, num_hypotheses=5, max_length=3
    )
    searching.assert_finds(result, expected)


def test_a_model_twice_is_the_model(models):
    options = {"num_beams": 3, "max_length": 8, "return_attention": True}
    once = searching.search(models[0], **options)
    twice = searching.search(Ensemble(models[:1] * 2), **options)
    np.testing.assert_array_equal(once.ids, twice.ids)
    np.testing.assert_array_equal(once.copied_from, twice.copied_from)
    for name in ("scores", "generate_probs", "attention"):
        np.testing.assert_allclose(
            getattr(once, name), getattr(twice, name), atol=1e-5
        )


def test_the_mean_of_attention_is_in_logs_and_in_weights(ensemble):
    source = ops.convert_to_tensor(searching.SOURCE_IDS)
    memory, state = ensemble.encode(
        source, ops.convert_to_tensor(searching.COPY_IDS)
    )
    distribution, attention, _ = ensemble.decode_step(
        ops.full((2, 1), tokens.BOS, dtype="int32"), add_beams(state, 1), memory
    )
    logs, weights = map(
        ops.convert_to_numpy, (distribution.attention, attention)
    )
    np.testing.assert_allclose(np.exp(logs), weights, atol=1e-6)
    np.testing.assert_allclose(weights.sum(axis=-1), 1, atol=1e-5)


def test_members_search_among_candidates_together(models):
    candidates = Candidates(np.array([0, 1, 2, 3, 5], "int32"))
    once, twice = (
        searching.search_sources(
            model,
            searching.SOURCE_IDS,
            searching.COPY_IDS,
            SearchOptions(num_beams=3, max_length=6),
            searched=functools.partial(search_among, candidates),
        )
        for model in (models[0], Ensemble(models[:1] * 2))
    )
    np.testing.assert_array_equal(once.ids, twice.ids)


def test_what_does_not_fit_together_is_refused(models):
    with pytest.raises(ValueError, match="`models` .* same target vocab"):
        Ensemble([])
    with pytest.raises(ValueError, match="`models` .* no definitions"):
        Ensemble([models[0], searching.MODELS["defined"]()])
