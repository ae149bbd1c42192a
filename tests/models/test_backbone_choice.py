"""Copying on top of small random networks of KerasHub's classes."""

import pathlib
import re

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.models.backbones import (
    DECODERS,
    ENCODER_DECODERS,
    KINDS,
    OWN,
    QUIET,
    ROWS,
    SPECIAL_IDS,
    make_backbone,
    randomize_added,
    rows_of_words,
)
from tests.models.contract import saved
from tests.models.test_seq2seq import check_padding
from tfcopy import losses
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.decoding.hypotheses import add_beams, follow
from tfcopy.layers import CopyDistribution
from tfcopy.layers.loop import reserve_room
from tfcopy.models import from_backbone
from tfcopy.tokens import BOS, EOS, PAD

pytestmark = QUIET

# The others are made of parts of these.
MAIN_KINDS = (
    *("bart", "gpt2", "t5", "gemma2"),
    *(pytest.param(x, marks=pytest.mark.slow) for x in ("t5gemma", "t5gemma2")),
)
V = ROWS + 1  # BART's BOS and EOS, T5's PAD and BOS are one row.
INPUTS = {
    "source_ids": np.array([[5, 1, 6, 1, EOS], [7, 1, EOS, 0, 0]], "int32"),
    "source_copy_ids": np.array(
        [[4, V + 1, 8, V + 1, -1], [V, V + 1, -1, -1, -1]], "int32"
    ),
    "target_ids": np.array([[V + 1, 8, 5, EOS], [V, EOS, 0, 0]], "int32"),
}
ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = re.compile(r"(?s)import keras_hub\n\nwhole = .*?(?=```)")
LORA_NAMES = {"t5": ["query_projector", "value_projector"]}


@pytest.fixture(
    scope="module",
    params=[
        *MAIN_KINDS[:2],
        *(pytest.param(x, marks=pytest.mark.long) for x in MAIN_KINDS[2:4]),
        *MAIN_KINDS[4:],
    ],
)
def model(request):
    # A token before BOS, which some networks read.
    start = 9 if request.param == "bart" else None
    return random_model(request.param, coverage=True, start=start)


@pytest.fixture(scope="module")
def whole(model):
    return run(model)


def make_model(kind, backbone=None, **options):
    backbone = backbone or make_backbone(kind)
    return from_backbone(backbone, special_ids=SPECIAL_IDS[kind], **options)


def random_model(kind, **options):
    model = make_model(kind, **options)
    return randomize_added(model, backbone_of(model))


def backbone_of(model):
    return model.cell.parts.backbone


def added(model):
    """The weights that the backbone has not."""
    there = {id(x) for x in backbone_of(model).weights}
    return [x for x in model.weights if id(x) not in there]


def run(model, inputs=INPUTS):
    return CopyDistribution(*helpers.evaluate(model, inputs))


def encode(model):
    return model.encode(INPUTS["source_ids"], INPUTS["source_copy_ids"])


def previous_words():
    targets = INPUTS["target_ids"]
    first = np.full((2, 1), BOS, "int32")
    return np.concatenate([first, targets[:, :-1]], axis=1)


@pytest.mark.few(1, 3)
@pytest.mark.parametrize(
    "kind", [x for x in ENCODER_DECODERS if KINDS[x][0] not in OWN]
)
def test_words_have_the_probabilities_of_keras_hub(kind):
    """Its own model of the same backbone, asked for the same words."""
    import keras_hub

    backbone = make_backbone(kind)
    name, _ = KINDS[kind]
    lm = getattr(keras_hub.models, f"{name}Seq2SeqLM")(backbone=backbone)
    rows = np.array(rows_of_words(kind), "int32")
    words = np.where(previous_words() < V, previous_words(), 1)
    expected = lm(
        {
            "encoder_token_ids": rows[INPUTS["source_ids"]],
            "encoder_padding_mask": (INPUTS["source_ids"] != 0).astype("int32"),
            "decoder_token_ids": rows[words],
            "decoder_padding_mask": np.ones((2, 4), "int32"),
        }
    )
    actual = run(from_backbone(backbone, head="softmax"))
    helpers.assert_close(
        actual.generate_logits, helpers.to_numpy(expected)[..., rows]
    )


@pytest.mark.few(2, 5)
@pytest.mark.parametrize("kind", DECODERS)
def test_a_target_follows_its_own_prompt_as_in_keras_hub(kind):
    """Sources of two lengths, each beside its target without any padding."""
    import keras_hub

    backbone = make_backbone(kind)
    lm = getattr(keras_hub.models, f"{KINDS[kind][0]}CausalLM")
    lm = lm(backbone=backbone, preprocessor=None)
    rows = np.array(rows_of_words(kind), "int32")
    targets = np.where(previous_words() < V, previous_words(), 1)
    actual = run(make_model(kind, backbone, head="softmax")).generate_logits
    for source, target, logits in zip(INPUTS["source_ids"], targets, actual):
        words = np.concatenate([[BOS], source[source != PAD], target])
        expected = lm(
            {
                "token_ids": rows[words][None],
                "padding_mask": np.ones((1, len(words)), "int32"),
            }
        )
        expected = helpers.to_numpy(expected)[0, -len(target) :, rows].T
        helpers.assert_close(logits, expected)


def test_gives_a_distribution_for_each_target_word(model, whole):
    shapes = [tuple(x.shape) for x in whole]
    size = model.vocabulary_size
    assert shapes == [(2, 4, size), (2, 4), (2, 4, 5), (2, 4, 5)]
    generated, copied = helpers.probabilities(whole)
    helpers.assert_close(
        generated.sum(-1) + copied.sum(-1), np.ones((2, 4)), 0, 1e-6
    )
    assert copied.sum(-1).min() > 1e-6 and not copied[1, :, 3:].any()


@pytest.mark.parametrize("capacity", [None, 6])
def test_decode_step_takes_the_steps_of_the_model(model, whole, capacity):
    """The second beam has the words, the first others, and both change."""
    memory, state = encode(model)
    state = add_beams(state, 2)
    if capacity:
        state = reserve_room(state, capacity)
    others = np.full((2, 1), 6, "int32")
    words = previous_words()
    for t in range(words.shape[1]):
        here, there = t % 2, 1 - t % 2
        both = [words[:, t : t + 1], others]
        both = np.concatenate([both[here], both[there]], axis=1)
        distribution, attention, state = model.decode_step(both, state, memory)
        helpers.assert_close(
            tuple(x[:, here : here + 1] for x in distribution),
            tuple(x[:, t : t + 1] for x in whole),
        )
        helpers.assert_close(ops.sum(attention, -1), np.ones((2, 2)))
        state = follow(state, np.array([[1, 0]] * 2, "int32"))


@pytest.mark.few(2, 5)
def test_a_search_scores_words_as_the_model(model):
    """Whole searches, in a loop whose histories grow."""
    sources = INPUTS["source_ids"], INPUTS["source_copy_ids"]
    found = beam_search(model, *sources, SearchOptions(2, max_length=4))
    ids = helpers.to_numpy(found.ids)[:, 0]
    costs = losses.marginal_copy_loss(
        {**INPUTS, "target_ids": ids}, run(model, {**INPUTS, "target_ids": ids})
    )
    costs = helpers.to_numpy(costs) * (ids != PAD)
    helpers.assert_close(found.scores[:, 0], -costs.sum(axis=1))


def update(model):
    """One step of training; the ids of the weights that it changed."""
    weights = model.trainable_weights
    before = [helpers.to_numpy(x.value).copy() for x in model.weights]

    def cost(_):
        return ops.sum(
            losses.marginal_copy_loss(INPUTS, model(INPUTS, training=True))
        )

    _, _, slopes = helpers.gradients(cost, {}, weights)
    keras.optimizers.SGD(0.1).apply(slopes, weights)
    return {
        id(x)
        for x, y in zip(model.weights, before)
        if (helpers.to_numpy(x.value) != y).any()
    }


@pytest.mark.few(1, 5)
@pytest.mark.parametrize("kind", MAIN_KINDS)
def test_a_frozen_backbone_does_not_change(kind, tmp_path):
    backbone = make_backbone(kind, num_layers=1)
    model = make_model(kind, backbone, trainable=False)
    size, of_source = model.cell.units, model.source_embedding.output_dim
    assert (size, of_source) == (8, 4 if kind == "t5gemma" else 8)
    pointing = size * size + of_source * size + size
    switch = of_source + 2 * size + 1
    assert model.count_params() == (
        backbone.count_params() + pointing + switch + model.vocabulary_size
    )
    assert {id(x) for x in backbone.weights} < {id(x) for x in model.weights}
    assert update(model) == {id(x) for x in added(model)}
    assert len(saved(model, tmp_path).trainable_weights) == len(added(model))


@pytest.mark.few(1, 3)
@pytest.mark.parametrize("kind", ["bart", "gpt2", "gemma2", "llama"])
def test_a_backbone_is_trained(kind):
    model = make_model(kind, make_backbone(kind, num_layers=1), trainable=True)
    changed = update(model)
    paths = [x.path for x in model.trainable_weights if id(x) not in changed]
    # No softmax knows a bias of its keys.
    assert all(path.endswith("key/bias") for path in paths)


@pytest.mark.few(1, 3)
@pytest.mark.parametrize("kind", MAIN_KINDS)
def test_lora_is_trained_and_saved(kind, tmp_path):
    backbone = make_backbone(kind, num_layers=1)
    backbone.enable_lora(2, LORA_NAMES.get(kind))
    model = make_model(kind, backbone)
    lora = [x for x in backbone.weights if "lora" in x.path]
    attentions = 3 if kind in ENCODER_DECODERS else 1
    if kind == "t5gemma2":
        attentions = 2  # It has one over target and source.
    assert len(lora) == 2 * 2 * attentions
    changed = update(model)
    paths = {x.path for x in backbone.weights if id(x) in changed}
    # KerasHub trains the biases of the same layers as well. A half of LoRA
    # has no gradient as long as the other half is zero.
    of_lora = {x for x in paths if x.endswith("lora_kernel_b")}
    assert len(of_lora) == 2 * attentions
    assert all(x.endswith("bias") for x in paths - of_lora)
    loaded = saved(model, tmp_path)
    helpers.assert_close(run(loaded), run(model))
    assert len(loaded.trainable_weights) == len(model.trainable_weights)


@pytest.mark.few(1, 3)
def test_saving_gives_the_same_model(model, whole, tmp_path):
    loaded = saved(model, tmp_path)
    helpers.assert_close(run(loaded), whole)
    assert backbone_of(loaded) is loaded.encoder.parts.backbone
    assert len(loaded.weights) == len(model.weights)


def test_padding_changes_nothing(model, whole):
    check_padding(lambda longer: run(model, longer), INPUTS, whole)


@pytest.mark.few(1, 3)
@pytest.mark.parametrize("kind", ["bart", "gpt2"])
def test_positions_after_the_last_are_like_it(kind):
    few, more = (
        make_backbone(kind, num_layers=1, max_sequence_length=n) for n in (3, 5)
    )
    for old, new in zip(few.weights, more.weights):
        values = helpers.to_numpy(old.value)
        if values.shape != new.shape:
            values = values[[0, 1, 2, 2, 2]]
        new.assign(values)
    expected, actual = (
        run(make_model(kind, x, head="softmax")) for x in (more, few)
    )
    helpers.assert_close(actual.generate_logits, expected.generate_logits)


def test_candidates_have_the_logits_of_the_whole(model, whole):
    ids = np.array([0, 1, 2, 3, 5, 8, model.vocabulary_size - 1], "int32")
    few = run(
        model.with_candidates(),
        {
            **INPUTS,
            "candidate_ids": ids,
            "candidate_log_weights": np.zeros(len(ids), "float32"),
        },
    )
    helpers.assert_close(
        few.generate_logits, helpers.to_numpy(whole.generate_logits)[..., ids]
    )


def test_a_smaller_vocabulary_and_other_special_words():
    """The first row is a word, and the last two rows are none."""
    model = from_backbone(
        make_backbone("bart"),
        head="softmax",
        vocabulary_size=ROWS - 3,
        special_ids=(1, 9, 0, 2),
    )
    embedding = model.target_embedding
    expected = [1, 9, 0, 2, 3, 4, 5, 6, 7, 8, 10]
    assert embedding.rows.tolist() == expected
    table = helpers.to_numpy(backbone_of(model).token_embedding.embeddings)
    features = np.eye(8, dtype="float32")
    helpers.assert_close(embedding.logits(features), table[expected].T)
    ids = np.arange(ROWS - 3).reshape(1, -1)
    helpers.assert_close(embedding(ids)[0], table[expected])


@pytest.mark.long
def test_other_backbones_are_refused():
    import keras_hub

    other = keras_hub.models.FNetBackbone(9, 1, 4, 4)
    with pytest.raises(ValueError, match="BartBackbone, T5Backbone.*Received"):
        from_backbone(other)
    with pytest.raises(ValueError, match="T5Backbone takes no `start`"):
        from_backbone(make_backbone("t5"), start=1)
    with pytest.raises(ValueError, match="at most 15: .* has 14 rows"):
        from_backbone(make_backbone("t5"), vocabulary_size=16)


@pytest.mark.long
def test_the_part_of_a_network_that_reads_text(tmp_path):
    """By the program of the page."""
    import keras_hub

    vision = keras_hub.models.Gemma3VisionEncoder(
        image_size=4,
        patch_size=2,
        num_heads=1,
        hidden_dim=4,
        num_layers=1,
        intermediate_dim=4,
        output_dim=8,
        pool_size=2,
    )
    whole = make_backbone("t5gemma2", vision_encoder=vision)
    with pytest.raises(ValueError, match="leave the vision encoder out"):
        from_backbone(whole)
    whole.save_to_preset(str(tmp_path))
    page = ROOT / "docs" / "backbones.md"
    program, names = PROGRAM.search(page.read_text("utf-8"))[0], {}
    exec(program.replace("t5gemma2_270m_270m", str(tmp_path)), names)
    model = from_backbone(names["backbone"], head="softmax")
    rows = np.array(rows_of_words("t5gemma2"), "int32")
    expected = keras_hub.models.T5Gemma2Seq2SeqLM(whole)(
        {
            "encoder_token_ids": rows[INPUTS["source_ids"]],
            "encoder_padding_mask": (INPUTS["source_ids"] != 0).astype("int32"),
            "decoder_token_ids": rows[[[BOS, 5, 6]] * 2],
            "decoder_padding_mask": np.ones((2, 3), "int32"),
            "images": np.zeros((2, 1, 4, 4, 3), "float32"),
            "vision_indices": np.zeros((2, 1), "int32"),
        }
    )
    targets = np.array([[5, 6, 7]] * 2, "int32")
    actual = run(model, {**INPUTS, "target_ids": targets})
    helpers.assert_close(
        actual.generate_logits, helpers.to_numpy(expected)[..., rows]
    )


@pytest.mark.parametrize("kind", MAIN_KINDS)
@pytest.mark.few(0, 3)
def test_mixed_precision_keeps_logs_and_weights_in_float32(kind):
    expected = run(random_model(kind))
    with helpers.dtype_policy("mixed_bfloat16"):
        model = random_model(kind)
    assert {w.dtype for w in model.weights} == {"float32"}
    distribution = run(model)
    dtype = keras.backend.standardize_dtype(distribution.generate_logits.dtype)
    assert dtype == "bfloat16"
    for x, y in zip(distribution, expected):
        helpers.assert_close(x, y, rtol=0.2, atol=0.2)
    for x in distribution[1:]:
        assert keras.backend.standardize_dtype(x.dtype) == "float32"
    memory, state = encode(model)
    first = np.full((2, 2), BOS, "int32")
    step, *_ = model.decode_step(first, add_beams(state, 2), memory)
    for x, y in zip(step, distribution):
        helpers.assert_close(x[:, 1:], y[:, :1], rtol=0.2, atol=0.2)
