"""The planners and their baseline, as whole models."""

import contextlib

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy import losses
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.decoding.hypotheses import with_beams
from tfcopy.layers import PlannedDistribution
from tfcopy.layers.copying import merge
from tfcopy.models import planner
from tfcopy.tokens import BOS, EOS

V = 9
BATCH = {
    "source_ids": np.array([[5, 1, 6, 1, EOS], [7, 1, EOS, 0, 0]], "int32"),
    "source_copy_ids": np.array(
        [[4, 10, 8, 10, -1], [10, 11, -1, -1, -1]], "int32"
    ),
    "target_ids": np.array(
        [[10, 8, 5, 6, 7, EOS], [11, 4, EOS, 0, 0, 0]], "int32"
    ),
}
SYSTEMS = [
    {"system": "pag", "head": "pointer_softmax"},
    {"system": "pag", "switch": "current", "resample": True},
    {
        "system": "pag",
        "decoder": "gru",
        "layer_norm": True,
        "query": "second",
        "head": "pointer_generator",
    },
    {
        "system": "rpag",
        "layer_norm": True,
        "planner_layer_norm": True,
        "query": "first",
        "head": "copynet",
    },
    {"system": "baseline"},
]


def make_model(**options):
    options = {"plan_steps": 3, "summary_units": 2, "seed": 0, **options}
    model = planner(8, V, embedding_dim=4, units=5, **options)
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return model


@pytest.fixture(
    scope="module", params=SYSTEMS, ids=lambda x: "-".join(map(str, x.values()))
)
def model(request):
    return make_model(**request.param)


def count(**options):
    # Millions of numbers are not drawn in a graph that never runs.
    place = contextlib.nullcontext()
    if keras.backend.backend() == "tensorflow":
        import tensorflow as tf

        place = tf.Graph().as_default()
    with place:
        model = planner(24_440, 302, **options)
    return sum(int(np.prod(weight.shape)) for weight in model.trainable_weights)


BASELINE = {"embedding_dim": 512, "units": 1024, "encoder_units": 512}


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("options", "total"),
    [
        ({"system": "baseline", **BASELINE}, 37_215_023),
        ({"system": "baseline", "query": "second", **BASELINE}, 36_166_447),
        ({"query": "second"}, 32_073_427),
        (
            {"decoder": "gru", "query": "second", "layer_norm": True},
            34_245_427,
        ),
        # With the code's ten columns of scores instead of one: 10,809 more.
        ({"system": "rpag", "decoder": "gru", "query": "second"}, 34_127_114),
    ],
)
def test_number_of_parameters(options, total):
    assert count(**options) == total


def test_layer_normalisation_of_the_gru_decoder():
    sizes = [
        sum(int(np.prod(w.shape)) for w in model.trainable_weights)
        for model in (
            make_model(decoder="gru"),
            make_model(decoder="gru", layer_norm=True),
        )
    ]
    assert sizes[1] - sizes[0] == 18 * 5


@pytest.mark.parametrize("tied", [False, True])
def test_only_the_table_of_the_target_is_the_output_matrix(tied):
    model = make_model(initializers="keras", tied=tied)
    first_values = [
        embedding.embeddings_initializer.stddev
        for embedding in (model.source_embedding, model.target_embedding)
    ]
    assert first_values == [1.0, 0.5 if tied else 1.0]


def test_gives_a_distribution(model):
    actual = model(BATCH)
    total = merge(actual, BATCH["source_copy_ids"])
    total = ops.sum(ops.exp(total), axis=-1)
    lost = ops.exp(actual.copy_log_probs)
    lost = ops.where(BATCH["source_copy_ids"][:, None] < 0, lost, 0.0)
    helpers.assert_close(total + ops.sum(lost, -1), np.ones((2, 6)))
    plans = isinstance(actual, PlannedDistribution)
    assert plans == ("PlanAttention" in str(type(model.cell.attention)))
    if plans:
        replan = ops.convert_to_numpy(actual.replan)
        assert replan.shape == (2, 6) and set(replan.flatten()) <= {0.0, 1.0}


@pytest.mark.few(1)
def test_saving_gives_the_same_model(model, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    helpers.assert_close(tuple(loaded(BATCH)), tuple(model(BATCH)))
    helpers.assert_close(tuple(model(BATCH)), tuple(model(BATCH)), 0, 0)


@pytest.mark.long
def test_decode_step_takes_the_steps_of_the_model(model):
    expected = model(BATCH)
    memory, state = model.encode(BATCH["source_ids"], BATCH["source_copy_ids"])
    state = with_beams(state, 1)
    first = np.full((2, 1), BOS, "int32")
    targets = BATCH["target_ids"]
    previous = np.concatenate([first, targets[:, :-1]], axis=1)
    for t in range(previous.shape[1]):
        distribution, _, state = model.decode_step(
            previous[:, t : t + 1], state, memory
        )
        for name in ("generate_logits", "log_generate", "copy_log_probs"):
            one = getattr(distribution, name)[:, 0]
            helpers.assert_close(one, getattr(expected, name)[:, t], 1e-4, 1e-4)


@pytest.mark.few(2)
def test_a_sentence_alone_gives_the_same(model):
    both = model(BATCH)
    alone = model(
        {
            "source_ids": BATCH["source_ids"][1:, :3],
            "source_copy_ids": BATCH["source_copy_ids"][1:, :3],
            "target_ids": BATCH["target_ids"][1:, :3],
        }
    )
    helpers.assert_close(
        ops.log_softmax(alone.generate_logits),
        ops.log_softmax(both.generate_logits)[1:, :3],
        1e-4,
        1e-4,
    )
    helpers.assert_close(alone.log_generate, both.log_generate[1:, :3])


@pytest.mark.long
def test_a_beam_of_one_is_greedy(model):
    options = SearchOptions(num_beams=1, max_length=5, merge="sum")
    sources = BATCH["source_ids"], BATCH["source_copy_ids"]
    actual = ops.convert_to_numpy(beam_search(model, *sources, options).ids)
    memory, state = model.encode(*sources)
    state = with_beams(state, 1)
    ids, ended = np.full(2, BOS, "int32"), np.zeros(2, bool)
    for t in range(5):
        distribution, _, state = model.decode_step(ids[:, None], state, memory)
        merged = merge(distribution, BATCH["source_copy_ids"])[:, 0]
        merged = ops.convert_to_numpy(merged).copy()
        merged[:, [0, BOS]] = -np.inf
        ids = merged.argmax(-1).astype("int32")
        for row in np.flatnonzero(~ended):
            assert actual[row, 0, t] == ids[row]
        ended |= ids == EOS


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


@pytest.mark.few(2)
def test_the_loss_teaches_every_weight(model):
    training = {**BATCH, "pointers": np.full((2, 6), -1, "int32")}
    copies = any(x in str(type(model.head)) for x in ("Copy", "Pointer"))
    loss = losses.marginal if copies else losses.generated

    def value(_):
        return ops.sum(loss(training, model(BATCH)))

    _, _, actual = helpers.gradients(value, {}, model.trainable_weights)
    for weight, gradient in zip(model.trainable_weights, actual):
        assert gradient is not None, weight.path
        gradient = helpers.to_numpy(gradient)
        assert np.isfinite(gradient).all(), weight.path
        # It moves all scores alike.
        if not weight.path.endswith("attention/score_bias"):
            assert gradient.any(), weight.path


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"system": "plan"}, "`system` must be one of"),
        ({"decoder": "lstm"}, "`decoder` must be one of"),
        ({"initializers": "none"}, "`initializers` must be one of"),
    ],
)
def test_names_are_checked(option, message):
    with pytest.raises(ValueError, match=message):
        planner(8, V, **option)
