"""Each test fails where a release has taken away what the function uses.

What has no test here is noticed by the tests of its only use.
"""

import keras
import numpy as np

from tests import helpers
from tests.models.backbones import make_backbone
from tfcopy import keras_internals


def dense(dtype):
    layer = keras.layers.Dense(2, dtype=dtype)
    layer.build((None, 3))
    return layer


def test_trained_weights_come_once_and_with_their_dtype():
    mixed, plain = dense("mixed_bfloat16"), dense("float32")
    # Its means and variances, which training does not change, are left out.
    norm = keras.layers.BatchNormalization(
        dtype="mixed_bfloat16", center=False, scale=False
    )
    nested = keras.Sequential([mixed, norm])
    nested.build((None, 3))
    # Keras does not cast its weights.
    exact = keras.layers.LayerNormalization(dtype="mixed_bfloat16")
    exact.build((None, 3))
    found = keras_internals.get_trained_weights([nested, plain, mixed, exact])
    expected = [(w, "bfloat16") for w in mixed.weights]
    expected += [(w, "float32") for w in (*plain.weights, *exact.weights)]
    assert [(id(w), dtype) for w, dtype in found] == [
        (id(w), dtype) for w, dtype in expected
    ]


def test_values_in_scope_keep_their_dtype():
    layer = dense("float32")
    values = [
        keras.ops.cast(2 * np.ones(w.shape), "bfloat16") for w in layer.weights
    ]
    before = layer.get_weights()
    with keras_internals.values_in_scope(layer.weights, values):
        for weight in layer.weights:
            dtype = keras.backend.standardize_dtype(weight.value.dtype)
            assert dtype == "bfloat16"
            helpers.assert_close(weight.value, 2 * np.ones(weight.shape))
    helpers.assert_close(layer.get_weights(), tuple(before))


def test_layers_inside_a_layer_have_names_without_underscores():
    block = make_backbone("gpt2", num_layers=1).transformer_layers[0]
    layers = keras_internals.own_layers(block)
    assert layers.feedforward_dropout.name == "feedforward_dropout"
    attention = keras_internals.own_layers(layers.self_attention_layer)
    x = np.ones((2, 3, 8), "float32")
    assert attention.query_dense(x).shape == (2, 3, 2, 4)
