import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.random_inputs import randomized
from tests.models.contract import check_learning, saved
from tfcopy import losses
from tfcopy.decoding.hypotheses import add_beams
from tfcopy.layers import CopyDistribution, SelectiveReadGRUCell
from tfcopy.layers.copying import merge
from tfcopy.models import copynet, planner, pointer_generator, translator
from tfcopy.tokens import BOS, EOS, NO_COPY, PAD, UNK

V = 9
BATCH = {
    "source_ids": np.array([[5, 1, 6, 1, EOS], [7, 1, EOS, 0, 0]], "int32"),
    "source_copy_ids": np.array([[4, 10, 8, 10, -1], [10, 11, -1, -1, -1]]),
    "target_ids": np.array([[10, 8, 5, EOS], [11, EOS, 0, 0]], "int32"),
    "pointers": np.array([[1, -1, -1, -1], [1, -1, -1, -1]], "int32"),
}
BATCH["source_copy_ids"] = BATCH["source_copy_ids"].astype("int32")
LOSSES = ("generation_loss", "observed_copy_loss", "marginal_copy_loss")
NAMES = ("source_ids", "source_copy_ids", "target_ids")
INPUTS = {name: BATCH[name] for name in NAMES}


def make_model(head="pointer_softmax", units=5, **options):
    sizes = {"embedding_dim": 4, "units": units}
    return randomized(translator(8, V, head=head, **sizes, **options))


def run(model, inputs=INPUTS):
    """The distribution, without what planners tell of their plans."""
    return CopyDistribution(*helpers.evaluate(model, inputs)[:4])


def encode(model):
    return model.encode(INPUTS["source_ids"], INPUTS["source_copy_ids"])


def transformer(head, units=5, tied=False, **options):
    return make_model(
        head,
        units,
        decoder="transformer",
        decoder_options={"num_heads": 1, **options},
        tied=tied,
    )


def of_system(make, *sizes, **options):
    return randomized(make(*sizes, embedding_dim=4, units=5, **options))


def planned(system, **options):
    sizes = {"plan_steps": 3, "summary_units": 2, "seed": 0}
    return of_system(planner, 8, V, system=system, **sizes, **options)


# Every model that answers with a `CopyDistribution`, one of each kind first.
MODELS = {
    "pointer_softmax": make_model,
    "tied": lambda: transformer(
        "pointer_generator", tied=True, positions="learned"
    ),
    "copynet": lambda: of_system(copynet, 8, V),
    "pag": lambda: planned("pag", switch="current", resample=True),
    "pointer_generator": lambda: of_system(pointer_generator, V, coverage=True),
    "softmax": lambda: make_model("softmax"),
    "copynet_head": lambda: make_model("copynet"),
    "transformer": lambda: make_model(encoder="transformer", encoder_heads=2),
    "rotary": lambda: transformer(
        "copynet", units=4, positions="rotary", normalize_first=False
    ),
    "copynet_authors": lambda: of_system(
        copynet, 8, V, deep_readout=True, initializers="authors", coverage=True
    ),
    "position_one_hot": lambda: of_system(copynet, 8, V, position_one_hot=4),
    "rnnsearch": lambda: of_system(copynet, 8, V, system="rnnsearch"),
    "enc_dec": lambda: of_system(copynet, 8, V, system="enc_dec"),
    "pag_gru": lambda: planned(
        "pag", decoder="gru", layer_norm=True, query="second"
    ),
    "rpag": lambda: planned(
        "rpag", planner_layer_norm=True, query="first", head="copynet"
    ),
    "baseline": lambda: planned("baseline"),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param]()


@pytest.fixture(scope="module")
def whole(model):
    """The model's outputs for the inputs."""
    return run(model)


def test_gives_a_distribution_for_each_target_word(model):
    distribution = model(INPUTS)
    shapes = [tuple(x.shape) for x in distribution[:4]]
    assert shapes == [(2, 4, V), (2, 4), (2, 4, 5), (2, 4, 5)]
    total = ops.sum(ops.exp(merge(distribution, BATCH["source_copy_ids"])), -1)
    generated, copied = helpers.probabilities(distribution)
    helpers.assert_close(
        generated.sum(-1) + copied.sum(-1), np.ones((2, 4)), 0, 1e-6
    )
    # EOS names no word: its mass is lost when words are merged.
    lost = np.where(BATCH["source_copy_ids"][:, None] < 0, copied, 0).sum(-1)
    helpers.assert_close(total, 1 - lost, 0, 1e-5)


def test_takes_ids_alone():
    assert set(make_model().input) == set(NAMES)


@pytest.mark.few(2, 6)
def test_saving_gives_the_same_model(model, whole, tmp_path):
    loaded = saved(model, tmp_path)
    assert isinstance(loaded, type(model))
    assert isinstance(loaded.head, type(model.head))
    assert loaded.vocabulary_size == V
    helpers.assert_close(run(loaded), whole)


@pytest.mark.few(5)
def test_decode_step_takes_the_steps_of_the_model(model, whole):
    memory, state = encode(model)
    state = add_beams(state, 1)
    first = np.full((2, 1), BOS, "int32")
    previous = np.concatenate([first, INPUTS["target_ids"][:, :-1]], axis=1)
    for t in range(previous.shape[1]):
        distribution, attention, state = model.decode_step(
            previous[:, t : t + 1], state, memory
        )
        step = tuple(x[:, t : t + 1] for x in whole)
        helpers.assert_close(tuple(distribution)[:4], step, 1e-4, 1e-4)
        helpers.assert_close(ops.sum(attention, -1), np.ones((2, 1)))


@pytest.mark.few(3)
def test_beams_of_a_sentence_share_its_memory(model):
    memory, first = encode(model)
    words = np.array([[[4, 5, 4], [5, 4, 4]], [[6, 6, 7], [4, 5, 7]]], "int32")

    def two_steps(beams):
        state, outputs = add_beams(first, words[..., beams].shape[2]), []
        for ids in words[..., beams]:
            *output, state = model.decode_step(ids, state, memory)
            outputs.append(output)
        return tuple(outputs)

    together = two_steps(slice(3))
    for beam in range(3):
        only = slice(beam, beam + 1)
        helpers.assert_close(
            keras.tree.map_structure(lambda x: x[:, only], together),
            two_steps(only),
        )


def check_padding(run, inputs, whole):
    """Checks that a model says of padded inputs what it says of others."""
    longer = {
        name: np.pad(
            inputs[name], ((0, 0), (0, extra)), constant_values=padding
        )
        for name, extra, padding in zip(NAMES, (3, 3, 2), (PAD, NO_COPY, PAD))
    }
    generated, copied = helpers.probabilities(whole)
    padded_generated, padded_copied = helpers.probabilities(run(longer))
    helpers.assert_close(padded_generated[:, :4], generated)
    helpers.assert_close(padded_copied[:, :4, :5], copied)
    assert not padded_copied[:, :, 5:].any()


@pytest.mark.few(5)
def test_padding_changes_nothing(model, whole):
    check_padding(lambda longer: run(model, longer), INPUTS, whole)


@pytest.mark.few(2, 6)
def test_a_sentence_alone_gives_the_same(model, whole):
    alone = run(
        model,
        {
            "source_ids": INPUTS["source_ids"][1:, :3],
            "source_copy_ids": INPUTS["source_copy_ids"][1:, :3],
            "target_ids": INPUTS["target_ids"][1:, :2],
        },
    )
    generated, copied = helpers.probabilities(whole)
    generated_alone, copied_alone = helpers.probabilities(alone)
    helpers.assert_close(generated_alone, generated[1:, :2])
    helpers.assert_close(copied_alone, copied[1:, :2, :3])


@pytest.mark.few(5)
def test_a_word_does_not_see_itself_or_later_ones(model, whole):
    other = dict(INPUTS, target_ids=INPUTS["target_ids"].copy())
    other["target_ids"][:, 2:] = [[6, 7], [4, 4]]
    for x, y in zip(whole, run(model, other)):
        helpers.assert_close(x[:, :3], y[:, :3])


@pytest.mark.few(5)
def test_only_a_selective_read_sees_which_word_was_copied_before(model, whole):
    """The embedding knows all of them as UNK."""
    other = dict(INPUTS, target_ids=INPUTS["target_ids"].copy())
    other["target_ids"][:, 0] = [UNK, 13]
    pairs = zip(helpers.to_numpy(whole), helpers.to_numpy(run(model, other)))
    differs = any(np.abs(x - y).max() > 1e-3 for x, y in pairs)
    assert differs == isinstance(model.cell, SelectiveReadGRUCell)


def test_drops_in_training_only():
    model = make_model(dropout=0.5, seed=1)
    helpers.assert_close(tuple(model(INPUTS)), tuple(model(INPUTS)))
    first = model(INPUTS, training=True)
    second = model(INPUTS, training=True)
    difference = ops.abs(first.generate_logits - second.generate_logits)
    assert helpers.to_numpy(difference).max() > 1e-3


@pytest.mark.few(5)
def test_every_weight_has_a_gradient(model):
    loss = losses.of_head(model.head)

    def cost():
        words = ops.cast(BATCH["target_ids"] != 0, "float32")
        return ops.sum(loss(BATCH, model(INPUTS)) * words)

    check_learning(cost, model.trainable_weights, "score_bias")


@pytest.mark.few(1)
@pytest.mark.parametrize("name", MODELS)
def test_mixed_precision_keeps_logs_and_weights_in_float32(name):
    expected = helpers.probabilities(run(MODELS[name]()))
    with helpers.dtype_policy("mixed_bfloat16"):
        model = MODELS[name]()
    assert {w.dtype for w in model.weights} == {"float32"}
    assert model.head.compute_dtype == "bfloat16"
    distribution = run(model)
    for x, y in zip(helpers.probabilities(distribution), expected):
        helpers.assert_close(x, y, rtol=0.1, atol=0.1)
    costs = [getattr(losses, name)(BATCH, distribution) for name in LOSSES]
    for x in (*distribution[1:], distribution.generate_offset, *costs):
        assert keras.backend.standardize_dtype(x.dtype) == "float32"


@pytest.mark.few(1, 6)
def test_one_graph_for_all_sizes(model):
    axes = {name: (0, 1) for name in INPUTS}
    graph = helpers.compiled(
        lambda inputs: tuple(model(inputs))[:4], INPUTS, axes
    )
    shorter = {name: ids[:1, 1:] for name, ids in INPUTS.items()}
    for inputs in (INPUTS, shorter):
        helpers.assert_close(graph(inputs), tuple(run(model, inputs)))


@pytest.mark.long
def test_loss_and_gradients_compiled_by_xla():
    model = make_model()
    weights = model.trainable_weights

    def step(batch):
        def cost(_):
            split = model({name: batch[name] for name in INPUTS})
            return ops.sum(losses.observed_copy_loss(batch, split))

        value, _, gradients = helpers.gradients(cost, {}, weights)
        return value, gradients

    batch = keras.tree.map_structure(ops.convert_to_tensor, BATCH)
    graph = helpers.compiled(step, batch, jit_compile=True)
    helpers.assert_close(graph(batch), step(batch))


@pytest.mark.long
@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="exports a SavedModel"
)
def test_keras_exports_the_model(tmp_path):
    import tensorflow as tf

    model = translator(9, 9, embedding_dim=3, units=4, encoder_units=2)
    model.export(tmp_path / "model", verbose=False)
    inputs = {
        "source_ids": tf.constant([[4, 5, 3]]),
        "source_copy_ids": tf.constant([[9, 5, -1]]),
        "target_ids": tf.constant([[4, 3]]),
    }
    loaded = tf.saved_model.load(tmp_path / "model")
    served = loaded.serve(inputs)
    helpers.assert_close(served[0], model(inputs)[0])


CANDIDATES = np.array([0, 1, 2, 3, 5, 8], "int32")


def among(ids, weight=0.0):
    weights = np.full(len(ids), weight, "float32")
    return {"candidate_ids": ids, "candidate_log_weights": weights}


@pytest.mark.few(2, 6)
def test_candidates_have_the_logits_of_the_whole(model, whole):
    restricted = model.with_candidates()
    assert set(restricted.input) == {*NAMES, *among(CANDIDATES)}
    few = run(restricted, {**INPUTS, **among(CANDIDATES)})
    helpers.assert_close(
        few.generate_logits,
        helpers.to_numpy(whole.generate_logits)[..., CANDIDATES],
    )
    generated, copied = helpers.probabilities(few)
    helpers.assert_close(
        generated.sum(-1) + copied.sum(-1), np.ones((2, 4)), 0, 1e-6
    )


@pytest.mark.few(2, 6)
def test_all_candidates_change_nothing(model, whole):
    everything = np.arange(V, dtype="int32")
    among_all = run(model.with_candidates(), {**INPUTS, **among(everything)})
    helpers.assert_close(among_all, whole)


@pytest.mark.few(2, 6)
def test_candidates_train_the_same_weights(model):
    restricted = model.with_candidates()
    pairs = zip(restricted.weights, model.weights, strict=True)
    assert all(one is other for one, other in pairs)
    batch = {**BATCH, **among(CANDIDATES)}
    loss = losses.restrict_loss(losses.marginal_copy_loss, V)
    inputs = {name: batch[name] for name in restricted.input}

    def cost(_):
        return ops.sum(loss(batch, restricted(inputs)))

    _, _, (slope,) = helpers.gradients(cost, [], [model.head.bias])
    touched = np.abs(helpers.to_numpy(slope)) > 0
    assert set(np.flatnonzero(touched)) <= set(CANDIDATES)
    assert touched[3]


@pytest.mark.few(1, 6)
def test_saving_keeps_candidates(model, tmp_path):
    restricted = model.with_candidates()
    inputs = {**INPUTS, **among(CANDIDATES, 0.5)}
    loaded = saved(restricted, tmp_path)
    helpers.assert_close(run(loaded, inputs), run(restricted, inputs))


@pytest.mark.parametrize(
    ("make", "options"),
    [
        (make_model, ["head", "encoder", "initializers"]),
        (lambda **x: copynet(8, V, **x), ["system", "initializers", "head"]),
        (lambda **x: planner(8, V, **x), ["system", "decoder", "initializers"]),
        (lambda **x: pointer_generator(V, **x), ["initializers"]),
    ],
)
def test_names_are_checked(make, options):
    for option in options:
        with pytest.raises(ValueError, match=f"`{option}` must be.*'other'"):
            make(**{option: "other"})
