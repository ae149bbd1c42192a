import numpy as np

from tests import helpers
from tfcopy.layers import PhraseCombination

E, D = 4, 3
POSITIONS = np.array([[0, 1, 2, 3], [1, 3, 0, 0]], "int32")


def inputs():
    rng = np.random.default_rng(0)
    words, phrases = (
        rng.normal(size=(2, 4, size)).astype("float32") for size in (E, D)
    )
    phrases[POSITIONS == 0] = 0
    return {"words": words, "phrases": phrases, "positions": POSITIONS}


def trained(layer):
    """The layer with other weights than those that it starts with."""
    layer.build((None, None, E), (None, None, D))
    rng = np.random.default_rng(1)
    for weight in layer.weights:
        weight.assign(rng.normal(size=weight.shape))
    return layer


def test_layer_contract():
    helpers.check_layer(
        trained(PhraseCombination(dropout=0.5, seed=1)),
        inputs(),
        output_shapes=(2, 4, E),
    )


def test_follows_the_equation():
    layer, arguments = trained(PhraseCombination()), inputs()
    kernel, places = map(helpers.to_numpy, layer.weights)
    places = np.concatenate([np.zeros((1, E)), places])
    expected = (
        arguments["words"] + arguments["phrases"] @ kernel + places[POSITIONS]
    )
    actual = helpers.to_numpy(layer(**arguments))
    helpers.assert_close(actual, expected)
    assert (actual == arguments["words"])[POSITIONS == 0].all()


def test_nothing_changes_before_it_is_trained():
    arguments = inputs()
    actual = PhraseCombination()(**arguments)
    helpers.assert_close(actual, arguments["words"], rtol=0, atol=0)


def test_it_learns_from_the_first_step_on():
    layer, arguments = PhraseCombination(), inputs()
    layer(**arguments)

    def loss(_):
        return helpers.weighted_sum(layer(**arguments))

    for gradient in helpers.gradients(loss, {}, layer.weights)[2]:
        assert helpers.to_numpy(gradient).all()


def test_what_is_read_may_be_dropped():
    layer, arguments = (
        trained(PhraseCombination(dropout=0.999, seed=1)),
        inputs(),
    )
    places = helpers.to_numpy(layer.places)
    places = np.concatenate([np.zeros((1, E)), places])
    actual = layer(**arguments, training=True)
    helpers.assert_close(actual, arguments["words"] + places[POSITIONS])
