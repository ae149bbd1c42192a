"""Every public layer passes the test of layers that Keras has for its own.

The harness calls a layer with one tensor or tuple, or with a dict whose keys
name the arguments of both `call` and `build`; it then trains the layer, and
casts its inputs for mixed precision, with this one argument alone. Most layers
here take several arguments, masks and dicts among them, so that it gets
`OfTuple`, which takes their inputs as one tuple and has no more of its own. The
config and the serialisation of each layer are tested directly.
"""

import keras
import numpy as np
import pytest
from keras.src.testing import TestCase

from tests import helpers
from tests.layers.layer_cases import LAYERS
from tfcopy import layers

# Layers that are no part of the public names, and further options of some.
NAMES = sorted(
    set(LAYERS)
    - {"initial_state", "padding_mask", "teacher_forcing", "word_gru"}
    - {"bidirectional_gru_reset_before", "copynet_head_of_given_scores"}
    - {"pointer_softmax_head_separate", "transformer_cell_normalized_last"}
)


@keras.saving.register_keras_serializable(package="tests")
class OfTuple(keras.layers.Layer):
    """A layer of `LAYERS`, called with the tuple of its inputs.

    It returns the tuple of the outputs, since training a model needs plain
    structures, and heads return named tuples.
    """

    # The tests of the layers compile them by XLA where that matters.
    supports_jit = False

    def __init__(self, name, **kwargs):
        super().__init__(autocast=False, name=name, **kwargs)
        make, inputs = LAYERS[name]
        self.layer = helpers.with_dtype(make(), self.dtype_policy.name)
        self.specs = [(k, x.shape, x.dtype.name) for k, x in inputs.items()]

    def build(self, shapes):
        self.call([keras.KerasTensor(*spec) for _, *spec in self.specs])

    def call(self, inputs):
        named = {name: x for (name, *_), x in zip(self.specs, inputs)}
        return tuple(keras.tree.flatten(self.layer(**helpers.arguments(named))))

    def compute_output_spec(self, inputs):
        return self.call(inputs)


# The harness trains with a generator, and leaves `shuffle` at its default.
@pytest.mark.filterwarnings("ignore:.*shuffle=True.*:UserWarning")
@pytest.mark.filterwarnings("ignore:.*any trainable weights:UserWarning")
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.few(2)
def test_passes_the_layer_test_of_keras(name):
    make, inputs = LAYERS[name]
    harness = TestCase()
    if name == "noisy_tanh":  # the only layer of one tensor
        harness.run_layer_test(layers.NoisyTanh, {}, input_data=inputs["x"])
        return
    if name != "recurrent_reader":
        # Its config holds the id of the layer object that it shares with the
        # rest of a model, so that no copy can have the same config.
        harness.run_class_serialization_test(make())
    harness.run_layer_test(
        OfTuple, {"name": name}, input_data=tuple(inputs.values())
    )


@pytest.mark.parametrize("name", NAMES)
def test_runs_in_float16_alone(name):
    make, inputs = LAYERS[name]
    layer = helpers.with_dtype(make(), "float16")
    for x in keras.tree.flatten(layer(**helpers.arguments(inputs))):
        assert np.isfinite(helpers.to_numpy(x)).all()


def _layers_in(layer):
    """The layer and those in its attributes, one below another."""
    yield layer
    for x in vars(layer).values():
        if isinstance(x, keras.layers.Layer):
            yield from _layers_in(x)


def test_no_public_layer_is_left_out():
    public = {getattr(layers, name) for name in layers.__all__}
    public = {x for x in public if issubclass(x, keras.layers.Layer)}
    tested = set()
    for name in NAMES:
        tested.update(type(x) for x in _layers_in(LAYERS[name][0]()))
    assert public <= tested
