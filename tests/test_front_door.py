"""The names that `import tfcopy` gives, and its cost."""

import subprocess
import sys

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
