"""The contract of layers, checked for all of `layer_cases`."""

import importlib
import inspect

import keras
import numpy as np
import pytest
from keras.src.testing import TestCase

from tests import helpers
from tests.layers.layer_cases import LAYERS
from tfcopy import layers
from tfcopy.tokens import HEADS

READOUTS = ("deep_output", "noisy_tanh", "output_projection", "readout")
# What each mask hides on axis 1, where the layer has such an input.
HIDDEN = {
    "value_mask": ["value"],
    "source_mask": ["annotations"],
    "mask": ["annotations", "inputs"],
}
# Axes of any size, where `check_layer` would take others.
AXES = {
    **dict.fromkeys(
        ("decoded_attention", "decoded_copy_scores", "matches"), (0, 1, 2)
    ),
    "table": (),
    "counts": (),
    "spellings": (1,),
}
WORD_GRU_AXES = {"ids": (0,), "mask": (0,)}
# A softmax takes no notice of what all its scores have in common.
WITHOUT_GRADIENT = {"transformer_annotations": "bias"}


VARIANTS = """bidirectional_gru_reset_before copynet_head_of_given_scores
    coverage_attention_scalar plan_attention_repeat
    pointer_softmax_head_separate transformer_cell_normalized_last""".split()


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(x, marks=pytest.mark.long) if x in VARIANTS else x
        for x in LAYERS
        # No copy has the config of one that shares a layer with a model.
        if x != "recurrent_reader"
    ],
)
def test_keeps_the_contract(name):
    make, inputs = LAYERS[name]
    mixed = "bfloat16" if name in READOUTS else "float32"
    if name.startswith(
        (*HEADS,)
    ):  # Its logits are in bfloat16, its mass is not.
        mixed = ["bfloat16", *["float32"] * 3]
    axes = WORD_GRU_AXES if name == "word_gru" else AXES
    helpers.check_layer(
        make(),
        inputs,
        mixed_dtypes=mixed,
        padded={
            mask: [x for x in hidden if x in inputs]
            for mask, hidden in HIDDEN.items()
            if mask in inputs and not {*hidden}.isdisjoint(inputs)
        },
        dynamic_axes={k: x for k, x in axes.items() if k in inputs},
        without_gradient=("score_bias", WITHOUT_GRADIENT.get(name)),
    )


def shapes_of(name):
    """Shapes and dtypes of what a layer makes of Keras inputs."""
    make, inputs = LAYERS[name]
    inputs = keras.tree.map_structure(
        lambda x: keras.Input(batch_shape=x.shape, dtype=x.dtype), inputs
    )
    found = keras.tree.flatten(make()(**helpers.arguments(inputs)))
    return [(x.shape, x.dtype) for x in found]


@pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="graphs")
@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.few(16)
def test_is_built_alike_in_a_graph(name):
    """There `==` compares tensors themselves."""
    import tensorflow as tf

    expected = shapes_of(name)
    with tf.Graph().as_default():
        assert shapes_of(name) == expected


@pytest.mark.parametrize("name", LAYERS)
def test_runs_in_float16_alone(name):
    make, inputs = LAYERS[name]
    layer = helpers.with_dtype(make(), "float16")
    for x in keras.tree.flatten(layer(**helpers.arguments(inputs))):
        assert np.isfinite(helpers.to_numpy(x)).all()


@pytest.mark.parametrize("name", [x for x in LAYERS if x.endswith("_cell")])
def test_a_step_multiplies_in_bfloat16(name):
    make, inputs = LAYERS[name]
    decoder = helpers.with_dtype(make(), "mixed_bfloat16")
    decoder(**inputs)
    memory = decoder.cell.prepare(inputs["annotations"], inputs["source_mask"])
    products = [*memory.sentences.values(), *memory.weights.values()]
    kernels = [x.kernel for x in products if hasattr(x, "kernel")]
    assert {keras.backend.standardize_dtype(x.dtype) for x in kernels} == {
        "bfloat16"
    }


def _layers_in(layer):
    """The layer and those in its attributes, one below another."""
    yield layer
    for x in vars(layer).values():
        if isinstance(x, keras.layers.Layer):
            yield from _layers_in(x)


# Those that read one sequence or state, with a mask or without.
OF_ONE_INPUT = """bidirectional_gru bidirectional_lstm forward_lstm
    initial_state masked_pooling noisy_tanh padding_mask position_one_hot
    span_head transformer_annotations""".split()


@pytest.mark.filterwarnings("ignore:.shuffle=True", "ignore:The model does not")
@pytest.mark.parametrize("name", OF_ONE_INPUT)
@pytest.mark.few(1)
def test_passes_keras_own_test(name):
    make, inputs = LAYERS[name]
    layer = make()
    config = layer.get_config() | {
        inner: getattr(layer, inner)
        for inner in getattr(layer, "layer_arguments", ())
    }
    tensor, *masks = inputs.values()
    for call in [{}, {"mask": masks[0]}] if masks else [{}]:
        TestCase().run_layer_test(
            type(layer),
            config,
            input_data=tensor,
            call_kwargs=call,
            run_training_check=not call and tensor.dtype.kind == "f",
        )


def _layer_classes(base=keras.layers.Layer):
    """The project's layers, and those that they inherit from."""
    for kind in base.__subclasses__():
        if kind.__module__.startswith("tfcopy."):
            yield kind
        yield from _layer_classes(kind)


def test_shapes_and_outputs_have_the_same_arguments():
    importlib.import_module("tfcopy.models")  # has more of them
    differing = {}
    for kind in {*_layer_classes()}:
        functions = kind.call, kind.compute_output_spec
        # Keras gives a functional model a class with both.
        if not all(x.__module__.startswith("tfcopy.") for x in functions):
            continue
        call, spec = (
            [
                (x.name, x.default)
                for x in inspect.signature(f).parameters.values()
            ]
            for f in functions
        )
        if call != spec:
            differing[kind.__name__] = call, spec
    assert not differing


def test_no_public_layer_is_left_out():
    public = {getattr(layers, name) for name in layers.__all__}
    public = {x for x in public if issubclass(x, keras.layers.Layer)}
    tested = set()
    for make, _ in LAYERS.values():
        tested.update(type(x) for x in _layers_in(make()))
    assert public <= tested
