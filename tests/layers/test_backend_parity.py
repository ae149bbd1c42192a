"""JAX gives TensorFlow's outputs and gradients, for the same weights.

TensorFlow's side runs in the tests; JAX's in one other process, which finds
weights and inputs in a file: `python -m tests.layers.test_backend_parity`.
"""

import importlib.util
import os
import pathlib
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.layer_cases import BATCH, LAYERS, V
from tfcopy import losses
from tfcopy.models import translator

LOSSES = ("generation_loss", "observed_copy_loss", "marginal_copy_loss")
# How many definitions there are is data, which nobody differentiates by; where
# it ties with the 1 in `maximum(number, 1)` the backends do it differently.
NUMBERS = ("counts",)


def outputs_and_gradients(name, weights):
    """Flat lists; `weights` are set first, and returned, if there are any."""
    if name == "losses":
        layer = translator(8, V, embedding_dim=3, units=5)
        inputs = {}
    else:
        make, inputs = LAYERS[name]
        layer = make()
        symbolic = {
            k: keras.Input(batch_shape=x.shape, dtype=x.dtype.name)
            for k, x in inputs.items()
        }
        layer(**helpers.arguments(symbolic))
    if weights is None:
        rng = np.random.default_rng(0)
        # Larger ones amplify rounding: gradients of up to 1e8.
        draws = [rng.normal(scale=0.5, size=w.shape) for w in layer.weights]
        weights = [x.astype("f") for x in draws]
    layer.set_weights(weights)
    floats = {
        k: x
        for k, x in inputs.items()
        if x.dtype.kind == "f" and k not in NUMBERS
    }
    others = {k: x for k, x in inputs.items() if k not in floats}

    def outputs(floats):
        if name == "losses":
            distribution = layer({x: BATCH[x] for x in layer.input})
            return [getattr(losses, x)(BATCH, distribution) for x in LOSSES]
        return layer(**helpers.arguments({**floats, **others}))

    if not floats and not layer.trainable_weights:
        result = keras.tree.flatten(helpers.evaluate(outputs, floats))
        return weights, helpers.to_numpy(result)
    result, d_inputs, d_weights = helpers.outputs_and_gradients(
        outputs, floats, layer.trainable_weights
    )
    tensors = [*floats.values(), *layer.trainable_weights]
    gradients = [
        ops.zeros(x.shape) if g is None else g
        for x, g in zip(tensors, [*map(d_inputs.get, floats), *d_weights])
    ]
    return weights, helpers.to_numpy([*keras.tree.flatten(result), *gradients])


def on_jax(path, *names):
    """The other process: weights from the file, results into the file."""
    with np.load(path) as file:
        weights = {}
        for key in file:
            name, index = key.split(":")
            weights.setdefault(name, {})[int(index)] = file[key]
    results = {}
    for name in names:
        by_index = weights.get(name, {})
        ordered = [by_index[i] for i in range(len(by_index))]
        _, arrays = outputs_and_gradients(name, ordered)
        results.update({f"{name}:{i}": x for i, x in enumerate(arrays)})
    np.savez(path, **results)


@pytest.fixture(scope="module")
def both(request, tmp_path_factory):
    """TensorFlow's results and JAX's, by the names that are asked for."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("TensorFlow's process compares itself with JAX")
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    names = [
        item.callspec.params["name"]
        for item in request.session.items
        if item.function is test_outputs_and_gradients_are_the_same
    ]
    weights, expected = {}, {}
    for name in names:
        weights[name], expected[name] = outputs_and_gradients(name, None)
    path = tmp_path_factory.mktemp("parity") / "arrays.npz"
    np.savez(
        path,
        **{
            f"{k}:{i}": x for k, xs in weights.items() for i, x in enumerate(xs)
        },
    )
    environment = {
        **os.environ,
        "KERAS_BACKEND": "jax",
        "JAX_PLATFORMS": "cpu",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
        # Fused loops take most of the time to compile.
        "XLA_FLAGS": "--xla_cpu_use_fusion_emitters=false",
    }
    subprocess.run(
        [sys.executable, "-m", __name__, str(path), *names],
        env=environment,
        check=True,
        cwd=pathlib.Path(__file__).parents[2],  # The module is one of tests.
    )
    with np.load(path) as file:
        actual = {
            name: [file[f"{name}:{i}"] for i in range(len(arrays))]
            for name, arrays in expected.items()
        }
    return expected, actual


@pytest.mark.long
@pytest.mark.parametrize("name", [*LAYERS, "losses"])
def test_outputs_and_gradients_are_the_same(both, name):
    expected, actual = both
    helpers.assert_close(tuple(actual[name]), tuple(expected[name]))


if __name__ == "__main__":
    on_jax(*sys.argv[1:])
