import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy import losses
from tfcopy.decoding.hypotheses import with_beams
from tfcopy.layers import CopyDistribution, copying
from tfcopy.models import Seq2Seq, copynet
from tfcopy.tokens import BOS, EOS, NO_COPY, PAD, UNK

V = 9
# Words known and unknown, once and twice; the second sentence is shorter.
BATCH = {
    "source_ids": np.array([[5, 1, 6, 1, 5, 1], [4, 7, 5, 0, 0, 0]], "int32"),
    "source_copy_ids": np.array(
        [
            [5, V + 1, 6, V + 3, 5, V + 1],
            [4, V + 1, V + 2, *[NO_COPY] * 3],
        ],
        "int32",
    ),
    "target_ids": np.array(
        [[V + 1, V + 3, 5, 6, EOS], [4, V + 2, EOS, PAD, PAD]], "int32"
    ),
}
SYSTEMS = ("copynet", "rnnsearch", "enc_dec")
OPTIONS = [
    *({"system": system} for system in SYSTEMS),
    {"system": "rnnsearch", "head": "copynet"},
    {"head": "softmax"},
    {"position_one_hot": 4, "coverage": True},
    {"deep_readout": True, "initializers": "authors"},
    {
        "decoder": "transformer",
        "decoder_options": {"num_heads": 1},
        "coverage": True,
    },
]


def make_model(**options):
    """With large weights, so that all that is read shows."""
    sizes = {"embedding_dim": 4, "units": 5, "attention_units": 6}
    model = copynet(8, V, **sizes | options)
    rng = np.random.default_rng(0)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return model


@pytest.fixture
def model():
    return make_model()


def run(model, batch=BATCH):
    return CopyDistribution(*helpers.evaluate(model, dict(batch)))


def costs(model, batch=BATCH):
    """`-log p` of each target word; 0 on padding."""
    nll = helpers.to_numpy(losses.marginal(batch, run(model, batch)))
    return np.where(batch["target_ids"] == PAD, 0, nll)


def changed(**arrays):
    return {**BATCH, **{k: np.array(x, "int32") for k, x in arrays.items()}}


@pytest.mark.parametrize(
    "system, total",
    [
        ("copynet", 3_531_103),
        ("rnnsearch", 2_811_103),
        ("enc_dec", 2_540_803),
    ],
)
def test_number_of_parameters(system, total):
    """For 1,003 rows; BOS as a word like others adds three of them."""
    for size, expected in ((1003, total), (1004, total + 150 + 150 + 301)):
        with keras.StatelessScope(initialize_variables=False):
            model = copynet(size, size, system=system)
        assert model.count_params() == expected


def test_parameters_of_each_part():
    with keras.StatelessScope(initialize_variables=False):
        model = copynet(1003, 1003)
    parts = {}
    for weight in model.weights:
        part = weight.path.split("/")[0]
        parts[part] = parts.get(part, 0) + int(np.prod(weight.shape))
    assert parts == {
        "source_embedding": 150_450,
        "target_embedding": 150_450,
        "encoder": 811_800,
        "initial_state": 180_300,
        "decoder": 270_300 + 1_485_900 + 180_000,
        "head": 301_903,
    }


@pytest.mark.few(3)
@pytest.mark.parametrize("options", OPTIONS)
def test_gives_a_distribution_for_each_target_word(options):
    distribution = run(make_model(**options))
    shapes = [tuple(x.shape) for x in distribution]
    assert shapes == [(2, 5, V), (2, 5), (2, 5, 6), (2, 5, 6)]
    generated, copied = helpers.probabilities(distribution)
    total = generated.sum(-1) + copied.sum(-1)
    helpers.assert_close(total, np.ones((2, 5)), 0, 1e-6)
    padding = BATCH["source_ids"] == PAD
    assert not copied.transpose(0, 2, 1)[padding].any()
    # Nothing but padding has lost its name.
    words = copying.merge(distribution, BATCH["source_copy_ids"])
    helpers.assert_close(ops.sum(ops.exp(words), -1), np.ones((2, 5)), 0, 1e-6)


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.few(2)
def test_saving_gives_the_same_model(tmp_path, options):
    model = make_model(**options)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert isinstance(loaded, Seq2Seq)
    helpers.assert_close(tuple(run(loaded)), tuple(run(model)))


@pytest.mark.few(3)
@pytest.mark.parametrize("options", OPTIONS)
def test_decode_step_takes_the_steps_of_the_model(options):
    """Check 11: the scores of the step that said a word choose its places."""
    model = make_model(**options)
    expected = run(model)
    memory, state = model.encode(BATCH["source_ids"], BATCH["source_copy_ids"])
    state = with_beams(state, 1)
    previous = np.array([[BOS], [BOS]], "int32")
    for t in range(5):
        distribution, attention, state = model.decode_step(
            previous, state, memory
        )
        helpers.assert_close(
            tuple(distribution), tuple(x[:, t : t + 1] for x in expected)
        )
        helpers.assert_close(ops.sum(attention, -1), np.ones((2, 1)))
        previous = BATCH["target_ids"][:, t : t + 1]


def test_one_graph_for_all_sizes(model):
    axes = {name: (0, 1) for name in BATCH}
    graph = helpers.compiled(lambda batch: tuple(model(batch)), BATCH, axes)
    shorter = {name: ids[:1, 1:] for name, ids in BATCH.items()}
    for batch in (BATCH, shorter):
        helpers.assert_close(graph(batch), tuple(run(model, batch)))


@pytest.mark.parametrize("options", [{}, {"coverage": True}])
def test_every_weight_learns(options):
    model = make_model(**options)
    weights = ops.cast(BATCH["target_ids"] != PAD, "float32")
    _, _, gradients = helpers.gradients(
        lambda _: ops.sum(losses.marginal(BATCH, model(BATCH)) * weights),
        {},
        model.trainable_weights,
    )
    for weight, gradient in zip(model.trainable_weights, gradients):
        gradient = helpers.to_numpy(gradient)
        assert np.isfinite(gradient).all(), weight.path
        assert gradient.any(), weight.path


def swapped(ids, first, second):
    return np.where(ids == first, second, np.where(ids == second, first, ids))


def test_names_of_unknown_words_do_not_matter(model):
    """Check 12."""
    expected = costs(model)
    source, target = (
        swapped(BATCH[name], V + 1, V + 3)
        for name in ("source_copy_ids", "target_ids")
    )
    renamed = changed(source_copy_ids=source, target_ids=target)
    helpers.assert_close(costs(model, renamed), expected)
    other = costs(model, changed(target_ids=target))
    difference = np.abs(other - expected)[0]
    assert difference[:2].min() > 1e-3
    # Later words read other places, not other words.
    assert difference[2:].max() > 1e-3


def test_which_unknown_word_came_before_matters(model):
    """The embedding knows it as UNK; the selective read does not."""
    target = BATCH["target_ids"].copy()
    target[0, 0] = V + 3
    other = run(model, changed(target_ids=target))
    difference = ops.abs(other.generate_logits - run(model).generate_logits)
    difference = helpers.to_numpy(difference).max(-1)
    assert not difference[:, 0].any() and not difference[1].any()
    assert difference[0, 1] > 1e-3


def test_a_word_does_not_see_itself_or_later_ones(model):
    target = BATCH["target_ids"].copy()
    target[:, 2:] = [[6, 7, V + 1], [4, V + 1, 4]]
    for x, y in zip(run(model), run(model, changed(target_ids=target))):
        helpers.assert_close(x[:, :3], y[:, :3])


@pytest.mark.parametrize("first", [8, V + 1])
def test_nothing_is_read_where_the_source_lacks_all_words(model, first):
    """Check 13, on a source of unknown words; V + 1 is one of them."""
    batch = {
        "source_ids": BATCH["source_ids"][:1],
        "source_copy_ids": V + np.array([[0, 1, 0, 3, 3, 5]], "int32"),
        "target_ids": np.array([[first, 7, UNK, 6, EOS]], "int32"),
    }
    other = make_model()
    kernel = helpers.to_numpy(other.cell.kernel).copy()
    kernel[4 + 10 :] += 1  # the rows that selective read goes through
    other.cell.kernel.assign(kernel)
    for x, y in zip(run(model, batch), run(other, batch)):
        difference = np.abs(helpers.to_numpy(x) - helpers.to_numpy(y)).max()
        assert difference == 0 if first == 8 else difference > 1e-3


def test_mixed_precision_keeps_logs_and_weights_in_float32(model):
    before = keras.config.dtype_policy()
    keras.config.set_dtype_policy("mixed_bfloat16")
    try:
        mixed = make_model()
    finally:
        keras.config.set_dtype_policy(before)
    assert {w.dtype for w in mixed.weights} == {"float32"}
    distribution = run(mixed)
    for x in distribution[1:]:
        assert keras.backend.standardize_dtype(x.dtype) == "float32"
    generated, copied = helpers.probabilities(distribution)
    total = generated.sum(-1) + copied.sum(-1)
    helpers.assert_close(total, np.ones((2, 5)), 0, 1e-2)
    helpers.assert_close(costs(mixed), costs(model), atol=0.3)


@pytest.mark.parametrize("option", ["system", "initializers", "head"])
def test_names_are_checked(option):
    with pytest.raises(ValueError, match=f"`{option}` must be.*'other'"):
        make_model(**{option: "other"})
