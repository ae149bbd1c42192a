import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers.encoders.initial_state import MeanInitialState

MASK = np.array([[True] * 4, [True, True, False, False]])


@pytest.fixture
def inputs():
    annotations = np.random.default_rng(0).normal(size=(2, 4, 6))
    return {"annotations": annotations.astype("float32"), "mask": MASK}


def test_layer_contract(inputs):
    helpers.check_layer(
        MeanInitialState(5),
        inputs,
        output_shapes=(2, 5),
        padded={"mask": ["annotations"]},
    )


def test_is_the_projected_mean_of_the_words(inputs):
    layer = MeanInitialState(5)
    layer.build((2, 4, 6))
    layer.dense.bias.assign(np.arange(5.0))
    kernel = ops.convert_to_numpy(layer.dense.kernel)
    annotations = inputs["annotations"]
    means = np.stack([annotations[0].mean(0), annotations[1, :2].mean(0)])
    helpers.assert_close(
        layer(**inputs), np.tanh(means @ kernel + np.arange(5))
    )


def test_a_sentence_without_words_is_all_bias(inputs):
    state = MeanInitialState(5)(inputs["annotations"], np.zeros((2, 4), "bool"))
    helpers.assert_close(state, np.zeros((2, 5)))
