"""Each test fails where a release has taken away what the function uses."""

import contextlib
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing import event_file_loader

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
    found = keras_internals.trained_weights([nested, plain, mixed, exact])
    expected = [(w, "bfloat16") for w in mixed.weights]
    expected += [(w, "float32") for w in (*plain.weights, *exact.weights)]
    assert [(id(w), dtype) for w, dtype in found] == [
        (id(w), dtype) for w, dtype in expected
    ]


@pytest.mark.parametrize("use_ema", [False, True])
def test_moving_averages_are_in_the_order_of_the_variables(use_ema):
    layer = dense("float32")
    optimizer = keras.optimizers.SGD(1.0, use_ema=use_ema, ema_momentum=0.5)
    optimizer.build(layer.trainable_variables)
    before = layer.get_weights()
    for _ in range(2):
        optimizer.apply([keras.ops.ones(w.shape) for w in layer.weights])
    found = keras_internals.moving_averages(optimizer)
    assert len(found) == (2 if use_ema else 0)
    for average, weight in zip(found, before):
        helpers.assert_close(average.value, weight - 1.5)


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


@keras.saving.register_keras_serializable(package="tests")
class Holder(keras.layers.Layer):
    """Calls a layer that the model calls elsewhere as well."""

    def __init__(self, layer, **kwargs):
        super().__init__(**kwargs)
        self.layer = layer

    def call(self, x):
        return self.layer(x)

    def get_config(self):
        layer = keras_internals.serialize_shared(self.layer)
        return {**super().get_config(), "layer": layer}

    @classmethod
    def from_config(cls, config):
        layer = keras.saving.deserialize_keras_object(config["layer"])
        return cls(**{**config, "layer": layer})


def test_a_shared_layer_is_loaded_once(tmp_path):
    layer = keras.layers.Dense(3, name="shared")
    inputs = keras.Input((3,))
    outputs = Holder(layer, name="holder")(layer(inputs))
    keras.Model(inputs, outputs).save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.get_layer("holder").layer is loaded.get_layer("shared")
    assert len(loaded.weights) == 2


def test_all_layers_are_found_within_others():
    class Outer(keras.layers.Layer):
        def __init__(self):
            super().__init__()
            self.parts = {"inner": keras.layers.Dense(2, name="inner")}

        def call(self, x):
            return self.parts["inner"](x)

    inputs = keras.Input((3,))
    model = keras.Model(inputs, Outer()(inputs))
    names = [layer.name for layer in keras_internals.all_layers(model)]
    assert "inner" in names
    assert "inner" not in [layer.name for layer in model.layers]


def test_adam_moments_are_those_of_the_variable():
    optimizer = keras.optimizers.Adam(0.1, beta_1=0.5, beta_2=0.75)
    variables = [keras.Variable([0.0]), keras.Variable([0.0])]
    optimizer.build(variables)
    optimizer.apply([tf.constant([2.0]), tf.constant([6.0])], variables)
    for variable, gradient in zip(variables, (2, 6)):
        for argument in (variable, variable.value):
            first, second = keras_internals.adam_moments(optimizer, argument)
            np.testing.assert_allclose(first, [0.5 * gradient])
            np.testing.assert_allclose(second, [0.25 * gradient**2])
            assert first.handle.dtype == tf.resource


def test_gradients_are_not_reduced_again():
    """The reduction of two replicas is that of `optimizer.apply` alone."""
    optimizer = keras.optimizers.SGD(1.0)
    variable = keras.Variable([0.0])
    optimizer.build([variable])
    reduced = []

    def reduce(pairs):
        reduced.append(list(pairs))
        return reduced[-1]

    optimizer._all_reduce_sum_gradients = reduce
    optimizer.apply([tf.constant([2.0])], [variable])
    assert len(reduced) == 1, "`apply` no longer reduces by this name"
    keras_internals.switch_off_reduction(optimizer)
    optimizer.apply([tf.constant([2.0])], [variable])
    assert len(reduced) == 1
    np.testing.assert_array_equal(variable, [-4.0])


def test_events_go_to_the_resource_of_a_writer(tmp_path):
    writer = tf.summary.create_file_writer(str(tmp_path))
    event = tf.compat.v1.Event(step=7)
    tf.raw_ops.ImportEvent(
        writer=keras_internals.resource_of(writer),
        event=event.SerializeToString(),
    )
    writer.close()
    (path,) = tmp_path.iterdir()
    events = event_file_loader.RawEventFileLoader(str(path)).Load()
    steps = [tf.compat.v1.Event.FromString(event).step for event in events]
    assert steps == [0, 7]  # the first one tells the version of the file


@pytest.mark.parametrize(
    ("scope", "number"),
    [(keras_internals.sharing_layers, 1), (contextlib.nullcontext, 2)],
)
def test_a_layer_that_occurs_twice_stays_one(scope, number):
    layer = keras.layers.Dense(3)
    with scope():
        config = keras.saving.serialize_keras_object([layer, layer])
    with scope():
        layers = keras.saving.deserialize_keras_object(config)
    assert len(set(map(id, layers))) == number


def test_compiled_metrics_are_those_of_compile():
    model = keras.Sequential([dense("float32")])
    assert keras_internals.compiled_metrics(model) == ([], None)
    model.compile("sgd", "mse")
    assert keras_internals.compiled_metrics(model) == ([], None)
    metric = keras.metrics.MeanAbsoluteError()
    model.compile("sgd", "mse", metrics=[metric])
    metrics, group = keras_internals.compiled_metrics(model)
    assert metrics == [metric] and group in model.metrics


def test_weight_names_are_those_of_all_layers():
    inner = keras.Sequential([dense("float32")], name="inner")
    inner.build((None, 3))
    (name,) = {layer.name for layer in inner.layers}
    assert keras_internals.weight_names(inner).keys() == {
        f"{name}/kernel",
        f"{name}/bias",
    }
    # Each weight once, though its layer is there twice.
    model = keras.Model(inner.inputs, inner.outputs)
    assert len(keras_internals.weight_names(model)) == 2


def test_layers_inside_a_layer_have_names_without_underscores():
    block = make_backbone("gpt2", num_layers=1).transformer_layers[0]
    layers = keras_internals.own_layers(block)
    assert layers.feedforward_dropout.name == "feedforward_dropout"
    attention = keras_internals.own_layers(layers.self_attention_layer)
    x = np.ones((2, 3, 8), "float32")
    assert attention.query_dense(x).shape == (2, 3, 2, 4)


def test_a_loaded_layer_keeps_its_own_policy():
    policies = keras.dtype_policies.DTypePolicyMap()
    policies["table"] = keras.dtype_policies.get("int8_from_float32")
    # As Keras loads it with a quantized model.
    layer = keras.layers.Embedding(5, 2, dtype=policies, name="table")
    layer.build()
    found = [layer.dtype_policy.quantization_mode]
    keras_internals.keep_own_policy(layer)
    found.append(layer.dtype_policy.quantization_mode)
    assert found == [None, layer.quantization_mode] == [None, "int8"]


@pytest.mark.parametrize("package", ["keras_cv", "keras_nlp"])
def test_keras_imports_nothing_within_the_scope(tmp_path, monkeypatch, package):
    (tmp_path / f"{package}.py").write_text("class Theirs:\n    pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    names = {"class_name": "Theirs", "registered_name": "Theirs"}
    config = {"module": package, **names, "config": {}}
    for expected in (False, True):
        scope = contextlib.nullcontext()
        if not expected:
            scope = keras_internals.importing_nothing()
        with scope, pytest.raises((TypeError, ValueError)):
            keras.saving.deserialize_keras_object(config)
        assert (package in sys.modules) is expected
    del sys.modules[package]
