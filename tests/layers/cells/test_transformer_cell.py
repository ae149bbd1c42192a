import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy import layers
from tfcopy.decoding.hypotheses import add_beams, follow
from tfcopy.layers.cells import transformer_cell
from tfcopy.layers.loop import reserve_room

B, T, S, E, C, U, H = 2, 4, 3, 3, 6, 8, 2
MASK = np.array([[True] * 3, [True, True, False]])
ATTENTIONS = {
    "heads": lambda: layers.MultiHeadAttention(4, 2),
    "heads_coverage": lambda: layers.MultiHeadCoverageAttention(4, 2),
    "additive": lambda: layers.BahdanauAttention(4, reads_words=True),
    "additive_coverage": lambda: layers.CoverageAttention(4),
}


def normal(*shape):
    return np.random.default_rng(len(shape)).normal(size=shape).astype("f")


def make_cell(attention="heads", **options):
    options = {"num_layers": 2, "num_heads": H, **options}
    return layers.TransformerCell(U, ATTENTIONS[attention](), **options)


def randomized(cell):
    cell.build((B, T, E), (B, S, C))
    rng = np.random.default_rng(0)
    for weight in cell.trainable_weights:
        weight.assign(0.5 * rng.normal(size=weight.shape))
    return cell


def unrolled(cell, words, annotations=None, mask=MASK):
    annotations = normal(B, S, C) if annotations is None else annotations
    return cell.unroll(words, None, None, cell.prepare(annotations, mask))


@pytest.mark.parametrize("attention", ATTENTIONS)
@pytest.mark.parametrize(
    ("options", "rooms"),
    [
        ({"normalize_first": False, "positions": "rotary"}, None),
        ({"positions": "learned", "num_positions": 3}, [1, 3, 3, 4]),
        ({}, None),
    ],
    ids=["rotary", "learned", "sinusoidal"],
)
@pytest.mark.few(2, 6)
def test_steps_of_beams_give_what_all_steps_give(attention, options, rooms):
    """Beams continue others, and see the words of these alone.

    The history grows with each word, or gets room for so many steps.
    """
    cell = randomized(make_cell(attention, **options))
    memory = cell.prepare(normal(B, S, C), MASK)
    words = normal(T, B, 2, E)
    parents = np.array([[[0, 0], [1, 0]], [[1, 0], [1, 1]], [[0, 1], [0, 0]]])
    state = add_beams(cell.initial_state(None, memory), 2)
    said = np.zeros((B, 2, 0, E), "float32")
    for step in range(T):
        if rooms:
            state = reserve_room(state, rooms[step])
        if step:
            own = parents[step - 1]
            state = follow(state, ops.convert_to_tensor(own, "int32"))
            said = np.take_along_axis(said, own[..., None, None], axis=1)
        said = np.concatenate([said, words[step][:, :, None]], axis=2)
        found, state = cell.step(cell.project(words[step]), state, memory)
    for beam in range(2):
        for name, x in unrolled(cell, said[:, beam]).items():
            helpers.assert_close(found[name][:, beam], x[:, -1])


def norm(x, weights):
    gain, bias = map(helpers.to_numpy, weights)
    x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5) * gain + bias


def softmax(x):
    x = np.exp(x - x.max(-1, keepdims=True))
    return x / x.sum(-1, keepdims=True)


def attend(queries, keys, values, mask):
    """Attention by heads, of matrices `(B, N, U)` and `(B, M, U)`."""
    d, read = U // H, []
    for h in range(H):
        q, k, v = (x[..., h * d : h * d + d] for x in (queries, keys, values))
        scores = q @ k.swapaxes(1, 2) / d**0.5
        read.append(softmax(np.where(mask, scores, -1e9)) @ v)
    return np.concatenate(read, axis=-1)


@pytest.mark.parametrize("normalize_first", [True, False])
def test_hidden_follows_the_equations(normalize_first):
    cell = make_cell(num_layers=1, normalize_first=normalize_first)
    (block,) = randomized(cell).blocks
    words, annotations = normal(B, T, E), normal(B, S, C)

    def product(x, name):
        kernel, bias = map(helpers.to_numpy, block.products[name])
        return x @ kernel + bias

    def attend_self(x):
        parts = np.split(product(x, "self_query_key_value"), 3, axis=-1)
        earlier = np.tril(np.ones((T, T), "bool"))
        return product(attend(*parts, earlier), "self_output")

    def attend_source(x):
        parts = np.split(product(annotations, "cross_key_value"), 2, axis=-1)
        read = attend(product(x, "cross_query"), *parts, MASK[:, None])
        return product(read, "cross_output")

    def feed_forward(x):
        hidden = np.maximum(product(x, "feedforward_hidden"), 0)
        return product(hidden, "feedforward_output")

    x = words @ helpers.to_numpy(cell.input_kernel)
    x = norm(x + helpers.to_numpy(cell.input_bias), cell.norms["input"])
    angles = np.arange(T)[:, None] / 10_000 ** (np.arange(U // 2) / (U // 2))
    x = x + np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    for site, layer in zip(
        ("self", "cross", "feedforward"),
        (attend_self, attend_source, feed_forward),
    ):
        weights = block.norms[site]
        x = x + layer(norm(x, weights) if normalize_first else x)
        x = x if normalize_first else norm(x, weights)
    if normalize_first:
        x = norm(x, cell.norms["output"])
    found = unrolled(cell, words)
    helpers.assert_close(found["hidden"], x, 1e-4, 1e-5)
    context, weights = cell.attention(x.astype("f"), annotations, MASK)
    helpers.assert_close(found["context"], context, 1e-4, 1e-5)
    helpers.assert_close(ops.exp(found["attention"]), weights, 1e-4, 1e-5)


def test_later_words_are_not_seen():
    cell, words = randomized(make_cell()), normal(B, T, E)
    before = unrolled(cell, words)
    words = np.concatenate([words[:, :2], -words[:, 2:]], axis=1)
    after = unrolled(cell, words)
    for name, x in before.items():
        helpers.assert_close(after[name][:, :2], x[:, :2])
    assert (helpers.to_numpy(after["hidden"] - before["hidden"])[:, 2:]).any()


def test_drops_in_training_only():
    cell, words = randomized(make_cell(dropout=0.5, seed=1)), normal(B, T, E)
    memory = cell.prepare(normal(B, S, C), MASK)
    still = [cell.unroll(words, None, None, memory) for _ in range(2)]
    helpers.assert_close(*still)
    dropped = cell.unroll(words, None, None, memory, training=True)
    difference = helpers.to_numpy(dropped["hidden"] - still[0]["hidden"])
    assert np.abs(difference).max() > 1e-2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_heads": 3}, "units=8, num_layers=2, num_heads=3"),
        ({"positions": "other"}, "positions='other'"),
        ({"positions": "rotary", "num_heads": 8}, "even multiple"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        make_cell(**options)


def test_an_attention_that_plans_is_refused():
    with pytest.raises(ValueError, match="must not be a `PlanAttention`"):
        layers.TransformerCell(
            U, layers.PlanAttention(4, plan_steps=3, summary_units=2)
        )


@pytest.mark.parametrize("units", [4, 5])
def test_sinusoids_of_the_paper(units):
    angles = np.arange(7)[:, None] / 10_000 ** (np.arange(3) / 3)
    if units == 4:
        angles = np.arange(7)[:, None] / 10_000 ** (np.arange(2) / 2)
    expected = np.concatenate([np.sin(angles), np.cos(angles)], axis=1)
    found = transformer_cell.sinusoids(np.arange(7, dtype="int32"), units)
    helpers.assert_close(found, expected[:, :units].astype("f"))


def test_products_of_rotated_rows_know_their_distance_alone():
    query, key = np.random.default_rng(0).normal(size=(2, 1, 4)).astype("f")

    def product(at, other):
        rows = [
            transformer_cell.rotate(
                x, transformer_cell.rotation(np.array([place], "int32"), 4)
            )
            for x, place in ((query, at), (key, other))
        ]
        return np.sum(np.prod([helpers.to_numpy(x) for x in rows], axis=0))

    assert product(9, 4) == pytest.approx(product(6, 1), abs=1e-5)
    assert product(5, 5) == pytest.approx((query * key).sum(), abs=1e-5)
    assert abs(product(9, 4) - product(9, 5)) > 1e-3
