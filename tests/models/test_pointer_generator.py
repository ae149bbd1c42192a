import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy import losses
from tfcopy.decoding.hypotheses import with_beams
from tfcopy.models import Seq2Seq, pointer_generator
from tfcopy.tokens import NO_COPY, PAD

V = 9
BATCH = {
    "source_ids": np.array([[5, 1, 6, 1, 4], [4, 1, 0, 0, 0]], "int32"),
    "source_copy_ids": np.array(
        [[5, V + 1, 6, V + 3, 4], [4, V + 1, *[NO_COPY] * 3]], "int32"
    ),
    "target_ids": np.array([[V + 1, 5, V + 3, 3], [4, 1, 3, PAD]], "int32"),
    "pointers": np.array([[1, -1, 3, -1], [-1, -1, -1, -1]], "int32"),
}
NAMES = ("source_ids", "source_copy_ids", "target_ids")
INPUTS = {name: BATCH[name] for name in NAMES}


def make_model(**options):
    keras.utils.set_random_seed(0)
    sizes = {"embedding_dim": 4, "units": 5, "attention_units": 6}
    return pointer_generator(V, **sizes | options)


def randomize(model):
    """Weights other than those of a new model: coverage counts, for one."""
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))


def count(model):
    return sum(int(np.prod(w.shape)) for w in model.trainable_weights)


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
    assert count(pointer_generator(50_000, **options)) == parameters


def test_parameters_of_the_large_baseline():
    model = pointer_generator(150_000, head="softmax")
    assert count(model) == 59_999_600


@pytest.mark.parametrize("coverage", [False, True])
@pytest.mark.parametrize(
    "head", ["pointer_generator", "softmax", "pointer_softmax"]
)
@pytest.mark.few(4)
def test_any_head_with_and_without_coverage(head, coverage):
    model = make_model(head=head, coverage=coverage)
    randomize(model)
    generated, copied = helpers.probabilities(model(INPUTS))
    total = generated.sum(-1) + copied.sum(-1)
    helpers.assert_close(total, np.ones((2, 4)), atol=1e-6)
    padding = BATCH["source_ids"] == PAD
    assert not copied.transpose(0, 2, 1)[padding].any()
    loss = losses.of_head(model.head)
    nll = helpers.to_numpy(loss(BATCH, model(INPUTS)))
    assert np.isfinite(nll[BATCH["target_ids"] != PAD]).all()


def test_both_sides_share_one_table():
    model = make_model()
    tables = [w for w in model.weights if w.path.endswith("embeddings")]
    assert len(tables) == 1
    assert model.source_embedding is model.target_embedding


@pytest.mark.parametrize("coverage", [False, True])
@pytest.mark.few(1)
def test_saving_gives_the_same_model(tmp_path, coverage):
    model = make_model(coverage=coverage)
    randomize(model)
    path = tmp_path / "model.keras"
    model.save(path)
    loaded = keras.saving.load_model(path)
    assert isinstance(loaded, Seq2Seq)
    assert loaded.source_embedding is loaded.target_embedding
    helpers.assert_close(loaded(INPUTS), model(INPUTS))


@pytest.mark.long
@pytest.mark.parametrize("coverage", [False, True])
def test_decode_step_takes_the_steps_of_the_model(coverage):
    model = make_model(coverage=coverage)
    randomize(model)
    expected = model(INPUTS)
    memory, state = model.encode(BATCH["source_ids"], BATCH["source_copy_ids"])
    state = with_beams(state, 1)
    previous = np.array([[2], [2]], "int32")
    for t in range(4):
        distribution, attention, state = model.decode_step(
            previous, state, memory
        )
        for one, all_steps in zip(distribution, expected):
            helpers.assert_close(one[:, 0], all_steps[:, t])
        previous = BATCH["target_ids"][:, t : t + 1]


def test_a_new_model_with_coverage_gives_what_one_without_gives():
    """Check 16: the dev loss does not move when coverage comes in."""
    plain, covered = make_model(), make_model(coverage=True)
    names = {w.path: w for w in plain.weights}
    for weight in covered.weights:
        if weight.path in names:
            weight.assign(names[weight.path])
    helpers.assert_close(covered(INPUTS), plain(INPUTS))


def test_every_weight_learns():
    model = make_model(coverage=True)
    randomize(model)
    _, _, gradients = helpers.gradients(
        lambda _: ops.sum(losses.marginal(BATCH, model(INPUTS))[:, :3]),
        {},
        model.trainable_weights,
    )
    for weight, gradient in zip(model.trainable_weights, gradients):
        assert np.abs(helpers.to_numpy(gradient)).max() > 0, weight.path


def test_losses_of_a_new_model_with_the_authors_weights():
    """Check 8: V = 50,000 and an article of 400 words."""
    size = 50_000
    model = pointer_generator(
        size, embedding_dim=8, units=8, initializers="paper"
    )
    source = np.arange(4, 404, dtype="int32")[None]
    batch = {
        "source_ids": source,
        "source_copy_ids": source,
        "target_ids": np.array([[900, 100]], "int32"),
    }
    split = model({k: batch[k] for k in INPUTS})
    not_there, once = helpers.to_numpy(losses.marginal(batch, split))[0]
    assert not_there == pytest.approx(11.5129, abs=0.02)
    assert once == pytest.approx(6.6846, abs=0.05)
    generated = helpers.to_numpy(losses.generated(batch, split))[0]
    p_gen = helpers.to_numpy(split.log_generate)[0]
    np.testing.assert_allclose(generated + p_gen, 10.8198, atol=0.01)


@pytest.mark.parametrize("bias", [30.0, -30.0])
@pytest.mark.parametrize(
    "length", [1, pytest.param(2_000, marks=pytest.mark.slow)]
)
def test_saturated_switch_and_any_length(bias, length):
    model = make_model(switch_bias=bias, coverage=True)
    rng = np.random.default_rng(0)
    source = rng.integers(1, V, (2, length)).astype("int32")
    batch = {
        "source_ids": source,
        "source_copy_ids": np.where(source == 1, V, source),
        "target_ids": np.array([[V, 5, 1, 3], [4, V, 3, PAD]], "int32"),
    }
    penalty = losses.CoveragePenalty()

    def cost(_):
        split = model({k: batch[k] for k in INPUTS})
        nll = losses.marginal(batch, split) + penalty(batch, split)
        return ops.sum(ops.where(batch["target_ids"] != PAD, nll, 0.0))

    value, _, gradients = helpers.gradients(cost, {}, model.trainable_weights)
    for number in (value, *gradients):
        assert np.isfinite(helpers.to_numpy(number)).all()


def test_wrong_initializers():
    with pytest.raises(ValueError, match="Received: initializers='both'"):
        make_model(initializers="both")
