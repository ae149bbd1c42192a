"""JAX gives TensorFlow's outputs and gradients, for the same weights.

TensorFlow's side runs in the tests; JAX's in one other process, which finds
weights and inputs in a file: `python -m tests.layers.test_backend_parity`.
"""

import importlib.util
import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy import layers, losses
from tfcopy.layers.encoders.initial_state import MeanInitialState
from tfcopy.layers.encoders.word_gru import WordGRU
from tfcopy.layers.padding_mask import PaddingMask
from tfcopy.layers.teacher_forcing import TeacherForcing
from tfcopy.models import gru_translator

# JAX compiles for most of a minute.
pytestmark = pytest.mark.slow

B, S, T, V = 2, 4, 3, 7
MASK = np.array([[True] * S, [True, True, False, False]])
SOURCE_IDS = np.array([[5, 1, 6, 3], [4, 3, 0, 0]], "int32")
TARGET_IDS = np.array([[V + 1, 5, 3], [4, 3, 0]], "int32")
BATCH = {
    "source_ids": SOURCE_IDS,
    "source_copy_ids": np.array(
        [[5, V + 1, V + 1, -1], [4, -1, -1, -1]], "int32"
    ),
    "target_ids": TARGET_IDS,
    "pointers": np.array([[1, -2, -1], [-1, -1, -1]], "int32"),
}


def normal(*shape):
    rng = np.random.default_rng(sum(shape))
    return rng.normal(size=shape).astype("float32")


MATCHES = np.zeros((B, T, S), "float32")
MATCHES[0, 1, 1:3] = MATCHES[1, 1, 0] = 1
DECODER_INPUTS = {
    "embeddings": normal(B, T, 3),
    "initial_state": normal(B, 5),
    "annotations": normal(B, S, 6),
    "source_mask": MASK,
    "matches": MATCHES,
}
HEAD_INPUTS = {
    "features": normal(B, T, 3),
    "decoded_hidden": normal(B, T, 5),
    "decoded_state": normal(B, T, 5),
    "decoded_context": normal(B, T, 6),
    "decoded_inputs": normal(B, T, 3),
    "decoded_attention": np.log(np.full((B, T, S), 1 / S, "float32")),
    "annotations": normal(B, S, 6),
    "source_mask": MASK,
}


def attention():
    return layers.BahdanauAttention(4, use_bias=True)


# Name: a function that makes the layer, and its inputs.
LAYERS = {
    "attentional_gru_cell": (
        lambda: layers.Decoder(layers.AttentionalGRUCell(5, attention())),
        DECODER_INPUTS,
    ),
    "bahdanau_attention": (
        attention,
        {
            "query": normal(B, T, 5),
            "value": normal(B, S, 6),
            "value_mask": MASK,
        },
    ),
    "bidirectional_gru": (
        lambda: layers.BidirectionalGRU(5),
        {"inputs": normal(B, S, 3), "mask": MASK},
    ),
    "bidirectional_gru_reset_before": (
        lambda: layers.BidirectionalGRU(5, reset_after=False),
        {"inputs": normal(B, S, 3), "mask": MASK},
    ),
    "bidirectional_lstm": (
        lambda: layers.BidirectionalLSTM(5),
        {"inputs": normal(B, S, 3), "mask": MASK},
    ),
    "copynet_head": (lambda: layers.CopyNetHead(V), HEAD_INPUTS),
    "copynet_head_of_given_scores": (
        lambda: layers.CopyNetHead(V),
        {**HEAD_INPUTS, "decoded_copy_scores": 2 * normal(B, T, S)},
    ),
    "biscale_gru_cell": (
        lambda: layers.Decoder(layers.BiscaleGRUCell(5, attention())),
        {**DECODER_INPUTS, "initial_state": normal(B, 10)},
    ),
    "coverage_attention": (
        lambda: layers.CoverageAttention(4, use_bias=True),
        {
            "query": normal(B, T, 5),
            "value": normal(B, S, 6),
            "value_mask": MASK,
        },
    ),
    "decoder": (
        lambda: layers.Decoder(layers.ConditionalGRUCell(5, attention())),
        DECODER_INPUTS,
    ),
    "deep_output": (
        lambda: layers.DeepOutput(4),
        {
            "decoded_hidden": normal(B, T, 5),
            "decoded_inputs": normal(B, T, 3),
            "decoded_context": normal(B, T, 6),
        },
    ),
    "final_context": (
        lambda: layers.Decoder(
            layers.AttentionalGRUCell(5, layers.FinalContext())
        ),
        DECODER_INPUTS,
    ),
    "initial_state": (
        lambda: MeanInitialState(5),
        {"annotations": normal(B, S, 6), "mask": MASK},
    ),
    "input_feeding_lstm_cell": (
        lambda: layers.Decoder(
            layers.InputFeedingLSTMCell(5, layers.CoverageAttention(4))
        ),
        {**DECODER_INPUTS, "initial_state": normal(B, 10)},
    ),
    "noisy_tanh": (layers.NoisyTanh, {"x": 4 * normal(B, T, 5)}),
    "padding_mask": (PaddingMask, {"ids": SOURCE_IDS}),
    "plan_attention": (
        lambda: layers.PlanAttention(4, plan_steps=3, summary_units=2),
        {
            "query": normal(B, T, 5),
            "value": normal(B, S, 6),
            "value_mask": MASK,
            "inputs": normal(B, T, 3),
        },
    ),
    "pointer_softmax_head": (
        lambda: layers.PointerSoftmaxHead(V),
        HEAD_INPUTS,
    ),
    "pointer_softmax_head_separate": (
        lambda: layers.PointerSoftmaxHead(V, 4, "relu", pointer="separate"),
        HEAD_INPUTS,
    ),
    "output_projection": (
        lambda: layers.OutputProjection(4),
        {
            "decoded_hidden": normal(B, T, 5),
            "decoded_context": normal(B, T, 6),
        },
    ),
    "pointer_generator_head": (
        lambda: layers.PointerGeneratorHead(V),
        HEAD_INPUTS,
    ),
    "position_one_hot": (
        lambda: layers.PositionOneHot(layers.BidirectionalGRU(5), 3),
        {"inputs": normal(B, S, 3), "mask": MASK},
    ),
    "readout": (
        lambda: layers.Readout(("hidden", "context")),
        {
            "decoded_hidden": normal(B, T, 5),
            "decoded_context": normal(B, T, 6),
        },
    ),
    "selective_read_gru_cell": (
        lambda: layers.Decoder(layers.SelectiveReadGRUCell(5, attention())),
        DECODER_INPUTS,
    ),
    "softmax_head": (lambda: layers.SoftmaxHead(V), HEAD_INPUTS),
    "state_reduction": (
        lambda: layers.StateReduction(5),
        {
            "annotations": normal(B, S, 6),
            "mask": MASK,
            "final": normal(B, 12),
        },
    ),
    "teacher_forcing": (
        lambda: TeacherForcing(V),
        {k: BATCH[k] for k in ("target_ids", "source_copy_ids")},
    ),
    "transformer_annotations": (
        lambda: layers.TransformerAnnotations(6, 1, 2),
        {"inputs": normal(B, S, 3), "mask": MASK},
    ),
    "two_layer_gru_cell": (
        lambda: layers.Decoder(
            layers.TwoLayerGRUCell(
                5,
                layers.PlanAttention(4, mode="repeat", plan_steps=3),
                layer_norm=True,
            )
        ),
        {**DECODER_INPUTS, "initial_state": normal(B, 10)},
    ),
    "word_gru": (
        lambda: WordGRU(9, 3, 5),
        {"ids": SOURCE_IDS, "mask": MASK},
    ),
}
MODELS = ("generated", "observed", "marginal")


def outputs_and_gradients(name, weights):
    """Flat lists; `weights` are set first, and returned, if there are any."""
    if name in MODELS:
        layer = gru_translator(8, V, embedding_dim=3, units=5)
        inputs = {}
        loss = getattr(losses, name)
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
        weights = [rng.normal(size=w.shape).astype("f") for w in layer.weights]
    layer.set_weights(weights)
    floats = {k: x for k, x in inputs.items() if x.dtype.kind == "f"}
    others = {k: x for k, x in inputs.items() if k not in floats}

    def outputs(floats):
        if name in MODELS:
            ids = {k: x for k, x in BATCH.items() if k != "pointers"}
            return loss(BATCH, layer(ids))
        return layer(**helpers.arguments({**floats, **others}))

    result = keras.tree.flatten(helpers.evaluate(outputs, floats))
    gradients = []
    if floats or layer.trainable_weights:
        _, d_inputs, d_weights = helpers.gradients(
            lambda floats: helpers.weighted_sum(outputs(floats)),
            floats,
            layer.trainable_weights,
        )
        tensors = [*floats.values(), *layer.trainable_weights]
        gradients = [
            ops.zeros(x.shape) if g is None else g
            for x, g in zip(tensors, [*map(d_inputs.get, floats), *d_weights])
        ]
    return weights, helpers.to_numpy([*result, *gradients])


def on_jax(path):
    """The other process: weights from the file, results into the file."""
    with np.load(path) as file:
        weights = {}
        for key in file:
            name, index = key.split(":")
            weights.setdefault(name, {})[int(index)] = file[key]
    results = {}
    for name in (*LAYERS, *MODELS):
        found = weights.get(name, {})
        ordered = [found[i] for i in range(len(found))]
        _, arrays = outputs_and_gradients(name, ordered)
        results.update({f"{name}:{i}": x for i, x in enumerate(arrays)})
    np.savez(path, **results)


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """TensorFlow's results and JAX's, by name."""
    if keras.backend.backend() != "tensorflow":
        pytest.skip("TensorFlow's process compares itself with JAX")
    if importlib.util.find_spec("jax") is None:
        pytest.skip("JAX is not installed")
    weights, expected = {}, {}
    for name in (*LAYERS, *MODELS):
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
    }
    subprocess.run(
        [sys.executable, "-m", "tests.layers.test_backend_parity", str(path)],
        env=environment,
        check=True,
        timeout=600,
    )
    with np.load(path) as file:
        actual = {
            name: [file[f"{name}:{i}"] for i in range(len(arrays))]
            for name, arrays in expected.items()
        }
    return expected, actual


@pytest.mark.parametrize("name", [*LAYERS, *MODELS])
def test_outputs_and_gradients_are_the_same(both, name):
    expected, actual = both
    helpers.assert_close(tuple(actual[name]), tuple(expected[name]))


if __name__ == "__main__":
    on_jax(sys.argv[1])
