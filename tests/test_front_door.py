"""The names that `import tfcopy` gives, and its cost."""

import subprocess
import sys

import numpy as np
import pytest

import tfcopy

CHEAP = """
import sys, tfcopy
assert tfcopy.__version__
heavy = {"tensorflow", "keras", "numpy", "jax"} & set(sys.modules)
assert not heavy, heavy
"""
REGISTERED = """
import keras, tfcopy.models
for name in ("CoverageAttention", "Seq2Seq"):
    found = keras.saving.get_registered_object(f"tfcopy>{name}")
    assert found.__name__ == name
"""


def run(program):
    subprocess.run([sys.executable, "-c", program], check=True)


def test_to_import_it_imports_nothing_heavy():
    run(CHEAP)


@pytest.mark.long
def test_keras_knows_the_layers_and_models():
    run(REGISTERED)


def test_its_names_are_there():
    for name in tfcopy.__all__:
        assert getattr(tfcopy, name) is not None
        assert name in dir(tfcopy)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tfcopy.nothing


@pytest.mark.long
def test_a_part_may_be_imported_first():
    # Its layers import Keras while they are imported themselves.
    run("from tfcopy.layers import CopyNetHead; import tfcopy.models")


@pytest.mark.parametrize("part", ["data", "models", "training"])
def test_help_lists_the_names_of_each_part(part):
    module = getattr(tfcopy, part)
    assert {*module.__all__} <= {*dir(module)}


def make_wrong_calls():
    states = np.ones((1, 2, 4), "float32")
    words = tfcopy.data.Vocabulary.build({"a": 1}, max_size=9)
    model = tfcopy.models.copynet(
        words.size, words.size, embedding_dim=4, units=4
    )
    model.compile("adam", loss="mse")
    head = tfcopy.layers.PointerGeneratorHead(words.size)
    translator = tfcopy.Translator(model, words, words)
    batch = dict.fromkeys(
        ("source_ids", "source_copy_ids", "target_ids"),
        np.ones((1, 2), "int32"),
    )
    return {
        "A head needs `annotations`": lambda: head(states, attention=states),
        "Received: 'mse'": lambda: model.fit(batch, verbose=0),
        "Expected texts": lambda: translator.translate_all("a river"),
        "`source_vocabulary` must be": lambda: tfcopy.Translator(
            model, ["a"], words
        ),
        "a servable": lambda: tfcopy.export(model, "models"),
    }


def test_wrong_calls_are_told():
    for message, call in make_wrong_calls().items():
        with pytest.raises(ValueError, match=message):
            call()
