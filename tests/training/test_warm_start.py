import keras
import numpy as np
import pytest

from tfcopy import training
from tfcopy.training.warm_start import Words


def build(units, extra=False):
    inputs = keras.Input((3,))
    x = keras.layers.Dense(units, name="first")(inputs)
    if extra:
        x = keras.layers.Dense(2, name="extra")(x)
    return keras.Model(inputs, x)


def test_copies_what_both_have():
    model, other = build(4, extra=True), build(4)
    kept = model.get_layer("extra").get_weights()
    assert training.warm_start(model, other) == ["extra/kernel", "extra/bias"]
    for one, before in zip(model.get_layer("extra").get_weights(), kept):
        np.testing.assert_array_equal(one, before)
    for one, copied in zip(model.get_weights(), other.get_weights()):
        np.testing.assert_array_equal(one, copied)


def test_another_shape_is_named():
    with pytest.raises(ValueError, match="first/kernel.*(3, 4).*(3, 5)"):
        training.warm_start(build(4), build(5))


def test_nothing_in_common():
    other = keras.Sequential([keras.Input((3,)), keras.layers.Dense(4)])
    with pytest.raises(ValueError, match="no weight in common"):
        training.warm_start(build(4), other)


def test_words_are_matched_by_their_places():
    def build(size):
        ids = keras.Input((None,), dtype="int32")
        table = keras.layers.Embedding(size, 2, name="table")(ids)
        return keras.Model(ids, keras.layers.Dense(size, name="out")(table))

    model, other = build(4), build(3)
    before = {x.path: x.numpy() for x in model.weights}
    known = {x.path: x.numpy() for x in other.weights}
    places = np.array([2, -1, 0, 1])
    words = {
        "table/embeddings": Words(0, places),
        "out/kernel": Words(1, places),
        "out/bias": Words(0, places),
    }
    assert training.warm_start(model, other, words) == []
    for weight in model.weights:
        axis = words[weight.path].axis
        for i, place in enumerate(places):
            source, j = (before, i) if place < 0 else (known, place)
            np.testing.assert_array_equal(
                np.take(weight.numpy(), i, axis),
                np.take(source[weight.path], j, axis),
            )
