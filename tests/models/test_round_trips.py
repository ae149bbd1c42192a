"""Tasks compute the same after each way of saving and loading them.

Outputs are compared, not variables: these may be equal where the layers around
them are not.
"""

import itertools
import json

import keras
import numpy as np
import pytest
from keras import ops

from tests.models import backbones
from tfcopy.data import Vocabulary
from tfcopy.serving.servables import storage
from tfcopy.serving.servables.translator import Translator
from tfcopy.tokens import NO_COPY
from tfcopy.training.checkpoints import Checkpoints

# What Keras says of layers that are not quantized, and of tasks.
pytestmark = [
    backbones.QUIET,
    pytest.mark.filterwarnings("ignore:Layer .* does not have a .quantize"),
    # Of embeddings, which float8 leaves as they are.
    pytest.mark.filterwarnings("ignore:Invalid quantization mode"),
    pytest.mark.filterwarnings("ignore:.*compile.*was not called"),
    pytest.mark.filterwarnings("ignore:(?s).*softmax over axis -1"),
]
MODES = ("float32", "float8", "int8", "int4", "lora", "weights only")
SOURCES = np.array([[4, 5, 4, 6, 7, 3], [8, 9, 10, 1, 1, 1]], "int32")
TARGETS = np.array([[2, 4, 5, 6], [2, 9, 8, 3]], "int32")
INPUTS = {
    "encoder_token_ids": SOURCES,
    "encoder_padding_mask": (SOURCES != 1).astype("int32"),
    "decoder_token_ids": TARGETS,
    "decoder_padding_mask": np.ones_like(TARGETS),
}


def make_task(kind, mode):
    task = backbones.task_without_tokenizer(
        kind, backbones.make_backbone(kind, num_layers=1)
    )
    if mode == "lora":
        task.enable_lora(2)
    elif mode == "weights only":  # What reads them is not rounded.
        quantizer = keras.quantizers.Int8QuantizationConfig(
            activation_quantizer=None
        )
        task.quantize(config=quantizer)
    elif mode != "float32":
        task.quantize(mode)
    rng = np.random.default_rng(1)
    of_backbone = {id(x) for x in task.backbone.weights}
    for weight in task.weights:
        if id(weight) not in of_backbone or "lora" in weight.path:
            weight.assign(rng.normal(size=weight.shape) / 2)
    return task


def outputs(task):
    return ops.convert_to_numpy(task(INPUTS))


def by_preset(task, folder):
    task.save_to_preset(str(folder / "preset"))
    return type(task).from_preset(str(folder / "preset"))


def by_file(task, folder):
    for _ in range(2):  # What was loaded is saved again.
        task.save(folder / "task.keras")
        task = keras.models.load_model(folder / "task.keras")
    return task


def by_weights(task, folder):
    task.save_weights(folder / "task.weights.h5")
    again = type(task).from_config(json.loads(json.dumps(task.get_config())))
    again.load_weights(folder / "task.weights.h5")
    return again


def differences(kind, mode, folder):
    """The greatest difference of outputs, by the way of saving."""
    task = make_task(kind, mode)
    expected = outputs(task)
    assert np.isfinite(expected).all()
    return {
        way.__name__: float(np.abs(outputs(way(task, folder)) - expected).max())
        for way in (by_preset, by_file, by_weights)
    }


# Networks with tables, or parts, that no other of them has.
OWN_PARTS = ("t5_untied", "t5gemma", "t5gemma2", "gemma3", "opt")


def cases():
    first = ("gpt2", "int8")
    yield pytest.param(*first, marks=pytest.mark.long)
    for case in itertools.product(backbones.KINDS, MODES):
        if case != first:
            kind, mode = case
            is_usual = kind == "bart" or (mode == "int8" and kind in OWN_PARTS)
            is_usual |= case in [("gemma3", "int4"), ("llama3", "int4")]
            mark = pytest.mark.long if is_usual else pytest.mark.slow
            yield pytest.param(*case, marks=mark)


@pytest.mark.parametrize("kind, mode", cases())
def test_outputs_are_the_same_after_loading(kind, mode, tmp_path):
    found = differences(kind, mode, tmp_path)
    assert found == dict.fromkeys(found, 0.0)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="a servable is a graph"
)
@pytest.mark.long
@pytest.mark.parametrize("kind, mode", [("llama3", "int4"), ("bart", "int8")])
def test_so_are_those_of_the_model_without_the_task(kind, mode, tmp_path):
    model = make_task(kind, mode).seq2seq
    batch = {
        "source_ids": SOURCES,
        "source_copy_ids": np.where(SOURCES > 3, SOURCES, NO_COPY),
        "target_ids": TARGETS,
    }
    words = Vocabulary.build(
        {f"word{i}": 1 for i in range(model.vocabulary_size - 4)}
    )
    storage.save(
        Translator(model, words, words),
        tmp_path / "run" / "system",
        warmup_texts=[],
        details={},
    )
    Checkpoints(tmp_path / "run" / "system" / "checkpoints").save_best(
        model.get_weights(), {}
    )
    model.save(tmp_path / "model.keras")
    for again in (
        storage.load(tmp_path / "run" / "system").served.model,
        keras.models.load_model(tmp_path / "model.keras"),
    ):
        for found, expected in zip(again(batch), model(batch), strict=True):
            np.testing.assert_array_equal(found, expected)
