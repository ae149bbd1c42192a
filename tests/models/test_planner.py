"""The planners and their baseline, as whole models."""

import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.random_inputs import randomized
from tests.models import contract
from tests.models.test_seq2seq import INPUTS, V
from tfcopy import losses
from tfcopy.models import planner
from tfcopy.tokens import EOS

BATCH = {
    **INPUTS,
    "target_ids": np.array(
        [[10, 8, 5, 6, 7, EOS], [11, 4, EOS, 0, 0, 0]], "int32"
    ),
}


def make_model(**options):
    options = {"plan_steps": 3, "summary_units": 2, "seed": 0, **options}
    return randomized(planner(8, V, embedding_dim=4, units=5, **options))


def count(**options):
    with contract.without_numbers():
        return contract.count(planner(24_440, 302, **options))


BASELINE = {"embedding_dim": 512, "units": 1024, "encoder_units": 512}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("options", "total"),
    [
        ({"system": "baseline", **BASELINE}, 37_215_023),
        ({"system": "baseline", "query": "second", **BASELINE}, 36_166_447),
        ({"query": "second"}, 32_073_427),
        ({"decoder": "gru", "query": "second", "layer_norm": True}, 34_245_427),
        # With the code's ten columns of scores instead of one: 10,809 more.
        ({"system": "rpag", "decoder": "gru", "query": "second"}, 34_127_114),
    ],
)
def test_number_of_parameters(options, total):
    assert count(**options) == total


@pytest.mark.parametrize("tied", [False, True])
def test_only_the_table_of_the_target_is_the_output_matrix(tied):
    model = make_model(initializers="keras", tied=tied)
    first_values = [
        embedding.embeddings_initializer.stddev
        for embedding in (model.source_embedding, model.target_embedding)
    ]
    assert first_values == [1.0, 0.5 if tied else 1.0]


@pytest.mark.few(2)
@pytest.mark.parametrize("decoder", ["biscale", "gru"])
@pytest.mark.parametrize("system", ["pag", "rpag"])
def test_a_planner_that_always_plans_is_the_baseline(system, decoder):
    """One that reads no summary and has no gate to its old plan, that is."""
    planning = make_model(
        system=system, decoder=decoder, always_replan=True, use_gate=False
    )
    baseline = make_model(system="baseline", decoder=decoder)
    attention, plain = planning.cell.attention, baseline.cell.attention
    if system == "pag":
        attention.read_kernel.assign(0 * attention.read_kernel)
        attention.read_bias.assign(0 * attention.read_bias)
    arguments = {
        w.path.replace("cell/", ""): w for w in planning.trainable_weights
    }
    for weight in baseline.trainable_weights:
        value = arguments[weight.path.replace("cell/", "")]
        if value.shape != weight.shape:  # The score of the first step.
            value = value[..., :1]
        weight.assign(value)
    plain.value_projection.bias.assign(
        attention.value_projection.bias + attention.query_bias
    )
    actual, expected = planning(BATCH), baseline(BATCH)
    helpers.assert_close(actual.generate_logits, expected.generate_logits)


def test_the_penalty():
    model = make_model()
    distribution = model(BATCH)
    uniform = distribution._replace(
        commitment_deviation=ops.zeros_like(distribution.replan)
    )
    certain = distribution._replace(
        commitment_deviation=0.9 * ops.ones_like(distribution.replan)
    )
    penalty = losses.CommitmentPenalty(weight=2.0)
    helpers.assert_close(penalty(BATCH, uniform), np.zeros((2, 6)))
    total = ops.sum(penalty(BATCH, certain), axis=1)
    helpers.assert_close(total, [1.8, 1.8], 1e-4)  # whatever the length
    longer = {
        k: np.pad(x, ((0, 0), (0, 2))) if k == "target_ids" else x
        for k, x in BATCH.items()
    }
    actual = ops.sum(penalty(longer, model(longer)), axis=1)
    helpers.assert_close(actual, ops.sum(penalty(BATCH, distribution), axis=1))


def test_what_the_penalty_teaches():
    """When to plan, and not what: of one step, as plans change what follows."""
    model = make_model()
    batch = BATCH | {"target_ids": BATCH["target_ids"][:, :1]}
    penalty = losses.CommitmentPenalty()
    attention = model.cell.attention
    weights = [
        attention.commitment_kernel,
        attention.temperature_kernel,
        attention.score_kernel,
    ]
    _, _, actual = helpers.gradients(
        lambda _: ops.sum(penalty(batch, model(batch))), {}, weights
    )
    taught = [g is not None and bool(helpers.to_numpy(g).any()) for g in actual]
    assert taught == [True, True, False]
