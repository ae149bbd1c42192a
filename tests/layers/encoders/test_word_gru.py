import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.cells.test_gru import numpy_gru
from tfcopy.layers.encoders.word_gru import WordGRU

IDS = np.array([[1, 4, 2, 4], [3, 1, 0, 0]], "int32")
INPUTS = {"ids": IDS, "mask": IDS != 0}


def make_layer(num_words=5, length=4):
    """With a bias, and large embeddings."""
    layer = WordGRU(num_words, 3, 6)
    layer.build((None, length), (None, length))
    rng = np.random.default_rng(0)
    for weight in (layer.embeddings, layer.bias):
        weight.assign(rng.normal(size=weight.shape))
    return layer


# 8 words, and tables of fewer and of more rows.
@pytest.mark.parametrize("num_words", [5, 20])
def test_layer_contract(num_words):
    helpers.check_layer(
        WordGRU(num_words, 3, 6),
        INPUTS,
        output_shapes=[(2, 4, 6), (2, 6)],
        dynamic_axes={"ids": (0,), "mask": (0,)},
    )


@pytest.mark.parametrize("num_words", [5, 20])
@pytest.mark.parametrize("length", [4, 1])
def test_follows_the_equations(num_words, length):
    layer = make_layer(num_words, length)
    ids, mask = IDS[:, :length], INPUTS["mask"][:, :length]
    table, kernel, recurrent, bias = map(ops.convert_to_numpy, layer.weights)
    state, states = np.zeros((2, 6)), []
    for t in range(length):
        inputs = table[ids[:, t]] @ kernel + bias
        new = numpy_gru(inputs, state @ recurrent, state)
        state = np.where(mask[:, t : t + 1], new, state)
        states.append(state)
    helpers.assert_close(layer(ids, mask), (np.stack(states, 1), state))


def test_gradients_do_not_depend_on_how_words_are_projected():
    """A batch repeated four times has more words than the table."""
    layer = make_layer(20)

    def gradients(times):
        ids = np.tile(IDS, (times, 1))

        def loss(_):
            outputs = layer(ids, ids != 0, training=True)
            return helpers.weighted_sum([x[-2:] for x in outputs])

        weights = layer.trainable_weights
        return tuple(helpers.gradients(loss, {}, weights)[2])

    helpers.assert_close(gradients(4), gradients(1))


def test_a_batch_of_unknown_size_chooses_as_it_runs():
    layer = make_layer(20)
    graph = helpers.compiled(
        lambda x: layer(**x), INPUTS, {name: (0,) for name in INPUTS}
    )
    for times in (1, 4):
        some = {name: np.tile(x, (times, 1)) for name, x in INPUTS.items()}
        helpers.assert_close(graph(some), layer(**some))


def test_padding_is_not_read():
    layer = make_layer()
    other = np.where(INPUTS["mask"], IDS, 4)
    helpers.assert_close(layer(other, INPUTS["mask"]), layer(**INPUTS))


def test_nothing_but_padding_keeps_zeros():
    states, final = make_layer()(IDS * 0, IDS > 9)
    assert not ops.convert_to_numpy(states).any()
    assert not ops.convert_to_numpy(final).any()


def test_unknown_length_raises():
    with pytest.raises(ValueError, match=r"must be known.*\(None, None\)"):
        WordGRU(5, 3, 6).build((None, None))
