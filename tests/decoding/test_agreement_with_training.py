"""The beam steps the same model that training reads all at once."""

import numpy as np
import pytest

from tests.decoding import searching

pytestmark = pytest.mark.optimised_graphs


# Made of the parts of others.
TIERS = dict.fromkeys(
    ("softmax", "copynet_head", "pointer_generator", "defined_on_both_sides"),
    pytest.mark.slow,
) | dict.fromkeys(
    ("defined", "pointer_generator_coverage", "rpag", "transformer"),
    pytest.mark.long,
)


@pytest.fixture(
    scope="module",
    params=[pytest.param(x, marks=TIERS.get(x, ())) for x in searching.MODELS],
)
def model(request):
    return searching.MODELS[request.param]()


OPTIONS = {"num_beams": 4, "num_hypotheses": 4, "max_length": 7}


@pytest.fixture(scope="module")
def attentive(model):
    """A search that tells where the model looked."""
    return searching.search(
        model, graph=True, **OPTIONS, min_length=4, return_attention=True
    )


def assert_scores_are_teacher_forced(model, result):
    expected = searching.teacher_forced(
        model, np.repeat([0, 1], 4), [*result.ids[0], *result.ids[1]]
    )
    np.testing.assert_allclose(
        result.scores.flatten(), expected.sum(axis=1), atol=1e-4
    )


@pytest.mark.parametrize(
    ("refill", "min_length"),
    [
        (False, 4),
        pytest.param(True, 0, marks=pytest.mark.long),
        pytest.param(True, 4, marks=pytest.mark.slow),
    ],
)
def test_scores_are_the_teacher_forced_log_probabilities(
    model, refill, min_length
):
    result = searching.search(
        model, graph=True, **OPTIONS, min_length=min_length, refill=refill
    )
    assert_scores_are_teacher_forced(model, result)


@pytest.mark.few(1, 3)
def test_scores_are_the_same_with_attention(model, attentive):
    assert_scores_are_teacher_forced(model, attentive)


@pytest.mark.few(1, 3)
def test_attention_and_switch_are_those_of_training(model, attentive):
    result = attentive
    for row in range(2):
        ids = searching.unpadded(result.ids[row, 0])
        attention, switch = searching.training_path(model, row, ids)
        np.testing.assert_allclose(
            result.attention[row, 0, : len(ids)], attention, atol=1e-5
        )
        np.testing.assert_allclose(
            result.generate_probs[row, 0, : len(ids)], switch, atol=1e-5
        )
