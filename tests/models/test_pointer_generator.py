import keras
import numpy as np
import pytest

from tests import helpers
from tests.models.contract import count, without_numbers
from tests.models.test_seq2seq import INPUTS, V
from tfcopy import losses
from tfcopy.models import pointer_generator


def make_model(**options):
    keras.utils.set_random_seed(0)
    sizes = {"embedding_dim": 4, "units": 5, "attention_units": 6}
    return pointer_generator(V, **sizes | options)


@pytest.mark.parametrize(
    "options, parameters",
    [
        ({"head": "softmax"}, 21_499_600),
        ({}, 21_500_753),
        ({"coverage": True}, 21_501_265),
    ],
)
def test_parameters_of_the_paper(options, parameters):
    """Check 1, at the paper's sizes."""
    with without_numbers():
        model = pointer_generator(50_000, **options)
    assert count(model) == model.count_params() == parameters


def test_parameters_of_the_large_baseline():
    with without_numbers():
        model = pointer_generator(150_000, head="softmax")
    assert count(model) == 59_999_600


def test_both_sides_share_one_table():
    model = make_model()
    assert len([w for w in model.weights if w.path.endswith("embeddings")]) == 1
    assert model.source_embedding is model.target_embedding


def test_a_new_model_with_coverage_gives_what_one_without_gives():
    """Check 16: the dev loss does not move when coverage comes in."""
    plain, covered = make_model(), make_model(coverage=True)
    names = {w.path: w for w in plain.weights}
    for weight in covered.weights:
        if weight.path in names:
            weight.assign(names[weight.path])
    helpers.assert_close(covered(INPUTS), plain(INPUTS))


def test_losses_of_a_new_model_with_the_authors_weights():
    """Check 8: V = 50,000 and an article of 400 words."""
    model = pointer_generator(
        50_000, embedding_dim=8, units=8, initializers="paper"
    )
    source = np.arange(4, 404, dtype="int32")[None]
    batch = {
        "source_ids": source,
        "source_copy_ids": source,
        "target_ids": np.array([[900, 100]], "int32"),
    }
    split = model({k: batch[k] for k in INPUTS})
    not_there, once = helpers.to_numpy(losses.marginal_copy_loss(batch, split))[
        0
    ]
    assert not_there == pytest.approx(11.5129, abs=0.02)
    assert once == pytest.approx(6.6846, abs=0.05)
    generated = helpers.to_numpy(losses.generation_loss(batch, split))[0]
    p_gen = helpers.to_numpy(split.log_generate)[0]
    np.testing.assert_allclose(generated + p_gen, 10.8198, atol=0.01)
