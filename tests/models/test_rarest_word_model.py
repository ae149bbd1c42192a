import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_gates import numpy_gru
from tests.models.contract import check_learning, saved, without_numbers
from tfcopy import losses
from tfcopy.data.generated.rarest_word_task import RarestWord as Task
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.layers import CopyDistribution
from tfcopy.models.rarest_word_model import RarestWord, best_words

TASK = Task(num_words=9, num_pointed=3, length=4)
OPTIONS = [
    {},
    {"pointer": "attention", "activation": "tanh"},
    {"num_pointed": 0},
]
# Targets generated and pointed at, the third twice in its sequence.
WORDS = np.array([[3, 5, 0, 1], [8, 2, 2, 4], [0, 7, 7, 7], [0, 0, 1, 0]])


def make_model(seed=0, **options):
    """With large weights, so that all that is read shows."""
    sizes = {"num_words": 9, "num_pointed": 3, "length": 4}
    sizes |= {"embedding_dim": 5, "units": 6}
    model = RarestWord(**sizes | options)
    rng = np.random.default_rng(seed)
    for weight in model.trainable_weights:
        weight.assign(rng.normal(size=weight.shape))
    return model


def batch_of(model, words=WORDS):
    return Task(9, model.num_pointed, 4).encode(words)


def run(model, source_ids):
    inputs = {"source_ids": source_ids}
    return CopyDistribution(*helpers.evaluate(model, inputs))


def call(model, batch):
    return model({"source_ids": batch["source_ids"]})


def events(distribution):
    """`p` of each event, `(B, V + S)`, in NumPy."""
    return np.concatenate(helpers.probabilities(distribution), -1)[:, 0]


def softmax(x):
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


@pytest.mark.parametrize("pointer", ["dense", "attention"])
def test_follows_the_equations(pointer):
    model = make_model(pointer=pointer, activation="tanh", temperature=1.5)
    batch = batch_of(model)
    weights = {w.path: helpers.to_numpy(w) for w in model.weights}

    def dense(x, layer, activation=np.tanh):
        kernel, bias = weights[f"{layer}/kernel"], weights[f"{layer}/bias"]
        return activation(x @ kernel + bias)

    state, states = np.zeros((4, 6)), []
    for ids in batch["source_ids"].T:
        inputs = weights["gru/embeddings"][ids] @ weights["gru/kernel"]
        recurrent = state @ weights["gru/recurrent_kernel"]
        state = numpy_gru(inputs + weights["gru/bias"], recurrent, state)
        states.append(state)
    hw, hl = (dense(state, f"{x}_hidden") for x in ("generate", "point"))
    w = softmax(dense(hw, "head", lambda x: x))
    if pointer == "dense":
        location = softmax(dense(hl, "pointer/scores", lambda x: x))
    else:
        keys = np.stack(states, 1) @ weights["head/pointer_value/kernel"]
        query = dense(hl, "head/pointer_query", lambda x: x)
        scores = np.tanh(keys + query[:, None]) @ weights["head/pointer_score"]
        location = softmax(scores[..., 0])
    first = dense(np.concatenate([hl, hw], -1), "head/switch_hidden1")
    both = first + dense(first, "head/switch_hidden2")
    d = 1 / (1 + np.exp(-1.5 * dense(both, "head/switch", lambda x: x)))
    specials = np.zeros((4, 4))
    expected = np.concatenate([specials, d * w, (1 - d) * location], -1)
    distribution = run(model, batch["source_ids"])
    helpers.assert_close(events(distribution), expected)
    helpers.assert_close(ops.exp(distribution.attention)[:, 0], location)


def test_number_of_parameters():
    """Of the paper's sizes; the switch has two layers of 1,000."""
    gru = 604 * 1000 + 6 * 1000**2 + 3000
    hidden = 1000 * 1000 + 1000
    switch = 2000 * 1000 + 1000 + hidden + 1001
    expected = {
        0: gru + hidden + 1001 * 600,
        60: gru + 2 * hidden + 1001 * 540 + 1001 * 7 + switch,
    }
    for num_pointed, number in expected.items():
        with without_numbers():
            model = RarestWord(num_pointed=num_pointed)
        assert model.count_params() == number
        assert model.vocabulary_size == 604 - num_pointed


# === Sequences of any length ===


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("length", [1, 3, 6])
def test_gives_a_distribution_for_any_length(options, length):
    model = make_model(**options)
    ids = np.random.default_rng(1).integers(4, 13, (3, length)).astype("int32")
    ids[1, 2:] = 0
    distribution = run(model, ids)
    size = model.vocabulary_size
    shapes = [(3, 1, size), (3, 1), (3, 1, length), (3, 1, length)]
    assert [tuple(x.shape) for x in distribution] == shapes
    p = events(distribution)
    helpers.assert_close(p.sum(-1), np.ones(3), 0, 1e-6)
    # The special words, padding, and what the model does not read.
    assert not p[:, :4].any() and not p[1, size + 2 :].any()
    assert not p[:, size + 4 :].any()
    assert p[:, 4:size].all()
    if model.num_pointed:
        assert p[:, size : size + min(length, 2)].all()


@pytest.mark.parametrize("options", OPTIONS)
def test_padding_and_words_beyond_the_length_change_nothing(options):
    model = make_model(**options)
    ids = batch_of(model)["source_ids"]
    for kept, expected in ((2, ids[:, :2]), (4, ids)):
        other = np.pad(ids, ((0, 0), (0, 2)), constant_values=7)
        if kept == 2:
            other[:, 2:] = 0
        actual = events(run(model, other))
        size = model.vocabulary_size + kept
        helpers.assert_close(actual[:, :size], events(run(model, expected)))


def test_one_graph_for_all_sizes():
    model = make_model()
    inputs = {"source_ids": batch_of(model)["source_ids"]}
    graph = helpers.compiled(
        lambda x: tuple(model(x)), inputs, {"source_ids": (0, 1)}
    )
    shorter = {"source_ids": inputs["source_ids"][:1, 1:]}
    for some in (inputs, shorter):
        helpers.assert_close(graph(some), tuple(model(some)))


# === Answers ===


@pytest.mark.parametrize(
    ("generate", "shortlist", "location", "expected"),
    [
        # Check 3: the second position.
        (0.4, [0.5, 0.3, 0.2], [0.1, 0.6, 0.3], (9, 1)),
        # Check 4: a word, although the switch is below one half.
        (0.45, [0.05, 0.9, 0.05], [0.1] * 10, (1, -1)),
        # Both places of a word together would win, but neither does.
        (0.4, [0.9, 0.05, 0.05], [0.35, 0.3, 0.35], (0, -1)),
        # The first position, and the first word.
        (0.4, [0.5, 0.3, 0.2], [0.6, 0.1, 0.3], (8, 0)),
        (0.6, [0.8, 0.1, 0.1], [0.6, 0.1, 0.3], (0, -1)),
    ],
)
def test_the_likeliest_event_is_the_answer(
    generate, shortlist, location, expected
):
    generated = generate * np.array([[shortlist]])
    copied = (1 - generate) * np.array([[location]])
    source_ids = np.array([[8, 9, 8, *range(10, 17)][: len(location)]])
    ids, places = best_words(
        helpers.distribution_of(generated, copied), source_ids
    )
    assert (int(ids[0]), int(places[0])) == expected


@pytest.mark.parametrize("options", OPTIONS)
def test_answers_are_those_of_a_search_of_one_word(options):
    words = TASK.draw(20, "test", 0)
    search = SearchOptions(num_beams=1, max_length=1, merge="max")
    said, pointed = set(), set()
    for seed in range(3):
        model = make_model(seed, **options)
        batch = batch_of(model, words)
        source_ids, copy_ids = batch["source_ids"], batch["source_copy_ids"]
        distribution = run(model, source_ids)
        ids, places = helpers.to_numpy(best_words(distribution, source_ids))
        result = beam_search(
            model,
            ops.convert_to_tensor(source_ids),
            ops.convert_to_tensor(copy_ids),
            search,
        )
        actual, copied_from, scores = helpers.to_numpy(
            (result.ids, result.copied_from, result.scores)
        )
        np.testing.assert_array_equal(copied_from[:, 0, 0], places)
        rows = np.arange(len(words))
        names = np.where(places < 0, ids, copy_ids[rows, places])
        np.testing.assert_array_equal(actual[:, 0, 0], names)
        helpers.assert_close(np.exp(scores[:, 0]), events(distribution).max(-1))
        said |= set(ids.tolist())
        pointed |= set((places >= 0).tolist())
    # There was something to tell apart.
    assert len(said) > 3
    assert pointed == ({True, False} if model.num_pointed else {False})


# === Learning ===


@pytest.mark.parametrize("options", OPTIONS)
def test_every_weight_learns(options):
    model = make_model(**options)
    batch = batch_of(model)
    check_learning(
        lambda: ops.sum(losses.observed_copy_loss(batch, call(model, batch))),
        model.trainable_weights,
    )


@pytest.mark.parametrize("word", range(9))
def test_a_pointed_target_teaches_no_word(word):
    """Check 15: the shortlist learns from its own targets alone."""
    model = make_model()
    batch = batch_of(model, np.array([[0, word, 0, word]]))
    weights = {w.path: w for w in model.trainable_weights}
    names = ("head/kernel", "pointer/scores/kernel", "head/switch/kernel")
    _, _, gradients = helpers.gradients(
        lambda _: ops.sum(losses.observed_copy_loss(batch, call(model, batch))),
        {},
        [weights[name] for name in names],
    )
    learns = [helpers.to_numpy(g).any() for g in gradients]
    pointed = word >= TASK.num_generated
    assert learns == [not pointed, pointed, True]


@pytest.mark.parametrize(
    ("temperature", "bias", "expected"),
    [(2.0, 1.0, 0.880797), (1.0, -1.0, 0.268941)],
)
def test_the_switch_leans_as_its_bias_says(temperature, bias, expected):
    """Check 6: with zeros for weights."""
    model = make_model(temperature=temperature, switch_bias=bias)
    fresh = RarestWord.from_config(model.get_config())
    for weight in fresh.trainable_weights:
        if weight.path != "head/switch/bias":
            weight.assign(np.zeros(weight.shape))
    generate = ops.exp(run(fresh, batch_of(model)["source_ids"]).log_generate)
    helpers.assert_close(generate, np.full((4, 1), expected), atol=1e-6)


# === Saving, precision, faults ===


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.few(2)
def test_saving_gives_the_same_model(tmp_path, options):
    model = make_model(**options)
    loaded = saved(model, tmp_path)
    assert loaded.get_config() == model.get_config()
    ids = batch_of(model)["source_ids"]
    helpers.assert_close(tuple(run(loaded, ids)), tuple(run(model, ids)))


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.few(2)
def test_mixed_precision_keeps_logs_and_weights_in_float32(options):
    with helpers.dtype_policy("mixed_bfloat16"):
        mixed = make_model(**options)
    assert {w.dtype for w in mixed.weights} == {"float32"}
    batch = batch_of(mixed)
    distribution = run(mixed, batch["source_ids"])
    for x in distribution[1:]:
        assert keras.backend.standardize_dtype(x.dtype) == "float32"
    p = events(distribution)
    helpers.assert_close(p.sum(-1), np.ones(4), 0, 1e-2)
    assert not p[:, :4].any()
    expected = events(run(make_model(**options), batch["source_ids"]))
    helpers.assert_close(p, expected, atol=0.1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_pointed": 9}, "from 0 to below 9. Received: num_pointed=9"),
        ({"num_pointed": -1}, "from 0 to below 9. Received: num_pointed=-1"),
        ({"pointer": "hard"}, "`pointer` must be one of .*'hard'"),
    ],
)
def test_arguments_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        make_model(**options)
