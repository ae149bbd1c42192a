"""Search among some words is search of the model that knows only those."""

import functools

import keras
import numpy as np
import pytest
from keras import ops

from tests.decoding import searching
from tests.decoding.searching import COPY_IDS, MODELS, SOURCE_IDS, V
from tfcopy import losses, tokens
from tfcopy.decoding import Candidates, SearchOptions, search_among
from tfcopy.layers import copying

pytestmark = pytest.mark.few(2)

# Of the words 4 to 6, which all stand in some source.
CANDIDATES = np.array([0, 1, 2, 3, 5], "int32")


@pytest.fixture(
    scope="module", params=["softmax", "pointer_softmax", "copynet", "defined"]
)
def model(request):
    return MODELS[request.param]()


def search(model, candidate_ids, log_weights=None, **options):
    return searching.search_sources(
        model,
        SOURCE_IDS,
        COPY_IDS,
        SearchOptions(**options),
        searched=functools.partial(
            search_among, Candidates(candidate_ids, log_weights)
        ),
        source_inputs=searching.source_inputs(model),
    )


def log_probs(model, rows, targets):
    """Of whole targets, by the training path."""
    targets = searching.padded(targets)
    rows = list(rows)
    batch = {
        "source_ids": SOURCE_IDS[rows],
        "source_copy_ids": COPY_IDS[rows],
        "target_ids": targets,
        "candidate_ids": CANDIDATES,
        "candidate_log_weights": np.zeros(len(CANDIDATES), "float32"),
        **searching.source_inputs(model, rows),
    }
    restricted = model.with_candidates()
    loss = losses.restrict_loss(losses.marginal_copy_loss, V)
    distribution = restricted({name: batch[name] for name in restricted.input})
    costs = ops.convert_to_numpy(loss(batch, distribution))
    return -np.where(targets == tokens.PAD, 0.0, costs).sum(axis=1)


def words_of(row):
    copies = {int(i) for i in COPY_IDS[row] if i >= 0}
    return sorted({tokens.UNK, *CANDIDATES[4:].tolist()} | copies)


@pytest.mark.few(2)
def test_a_wide_beam_finds_what_brute_force_finds(model):
    result = search(
        model, CANDIDATES, num_beams=300, num_hypotheses=5, max_length=3
    )
    sentences = searching.best_first(
        lambda *targets: log_probs(model, *targets),
        [words_of(row) for row in range(2)],
        max_length=3,
    )
    searching.assert_finds(result, sentences)


def test_words_outside_can_only_be_copied(model):
    result = search(
        model, CANDIDATES, num_beams=8, num_hypotheses=8, max_length=6
    )
    outside = np.isin(result.ids, [4, 6]) | (result.ids >= V)
    assert (result.copied_from[outside] >= 0).all()
    rows = np.nonzero(outside)[0]
    places = result.copied_from[outside]
    np.testing.assert_array_equal(COPY_IDS[rows, places], result.ids[outside])


@pytest.mark.few(1)
def test_all_words_change_nothing(model):
    options = {"num_beams": 4, "num_hypotheses": 4, "max_length": 6}
    among_all = search(model, np.arange(V, dtype="int32"), **options)
    whole = searching.search(model, **options)
    for name in ("ids", "scores", "copied_from"):
        np.testing.assert_allclose(
            getattr(among_all, name), getattr(whole, name), atol=1e-5
        )


def test_each_sentence_may_have_words_of_its_own(model):
    # The second sentence must not generate the word 5.
    options = {"num_beams": 8, "num_hypotheses": 8, "max_length": 5}
    log_weights = np.zeros((2, len(CANDIDATES)), "float32")
    log_weights[:, 4] = 4.0  # so that it is said
    alike = search(model, CANDIDATES, log_weights, **options)
    log_weights[1, 4] = copying.MASKED
    found = search(model, CANDIDATES, log_weights, **options)
    none = search(model, CANDIDATES[:4], **options)
    for name in ("ids", "scores", "copied_from"):
        x, y, z = (getattr(result, name) for result in (found, alike, none))
        np.testing.assert_allclose(x[0], y[0], atol=1e-5)
        np.testing.assert_allclose(x[1], z[1], atol=1e-5)
    said = found.ids[1][found.copied_from[1] < 0]
    assert 5 not in said and (alike.ids[1] == 5).any()


@pytest.mark.long
def test_the_number_of_candidates_may_be_unknown():
    import tensorflow as tf

    if keras.backend.backend() != "tensorflow":
        pytest.skip("Other backends know all shapes.")
    model = MODELS["pointer_softmax"]()
    options = {"num_beams": 2, "max_length": 3, "source_only": (3,)}

    @tf.function(
        input_signature=[tf.TensorSpec([None], tf.int32)], autograph=False
    )
    def graph(ids):
        return tuple(
            search_among(
                Candidates(ids),
                model,
                tf.constant(SOURCE_IDS),
                tf.constant(COPY_IDS),
                SearchOptions(**options),
            )
        )

    expected = search(model, CANDIDATES, **options)
    for x, y in zip(graph(tf.constant(CANDIDATES)), expected):
        np.testing.assert_allclose(x, y, atol=1e-5)
