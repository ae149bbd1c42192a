"""The beam steps the same model that training reads all at once."""

import numpy as np
import pytest

from tests.decoding.searching import (
    MODELS,
    search,
    teacher_forced,
    training_path,
    unpadded,
)

# Made of the parts of others.
LONGEST = ("softmax", "copynet_head", "pointer_generator")
LONGEST += ("defined_on_both_sides",)


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(name, marks=pytest.mark.slow) if name in LONGEST else name
        for name in MODELS
    ],
)
def model(request):
    return MODELS[request.param]()


@pytest.mark.parametrize(
    ("refill", "min_length"), [(False, 4), (True, 0), (True, 4)]
)
def test_scores_are_the_teacher_forced_log_probabilities(
    model, refill, min_length
):
    result = search(
        model,
        num_beams=4,
        num_hypotheses=4,
        max_length=7,
        min_length=min_length,
        refill=refill,
    )
    for row in range(2):
        for ids, score in zip(result.ids[row], result.scores[row]):
            ids = unpadded(ids)
            expected = teacher_forced(model, row, ids).sum()
            np.testing.assert_allclose(score, expected, atol=1e-4)


def test_attention_and_switch_are_those_of_training(model):
    result = search(
        model, num_beams=3, max_length=6, min_length=3, return_attention=True
    )
    for row in range(2):
        ids = unpadded(result.ids[row, 0])
        attention, switch = training_path(model, row, ids)
        np.testing.assert_allclose(
            result.attention[row, 0, : len(ids)], attention, atol=1e-5
        )
        np.testing.assert_allclose(
            result.generate_probs[row, 0, : len(ids)], switch, atol=1e-5
        )
