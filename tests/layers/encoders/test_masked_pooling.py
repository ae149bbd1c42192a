import numpy as np
import pytest

from tests import helpers
from tfcopy.layers import MaskedPooling

MASK = np.array([[True] * 4, [True, True, False, False]])


@pytest.fixture
def inputs():
    inputs = np.random.default_rng(0).normal(size=(2, 4, 3))
    return {"inputs": inputs.astype("float32"), "mask": MASK}


def test_layer_contract(inputs):
    helpers.check_layer(
        MaskedPooling(),
        inputs,
        output_shapes=(2, 6),
        padded={"mask": ["inputs"]},
    )


@pytest.mark.parametrize("shift", [0, -10])
def test_padding_is_left_out(inputs, shift):  # check 14
    """Also where all that is no padding is negative."""
    x = inputs["inputs"] + shift
    if shift:
        x[1, 2:] = 5
    expected = [
        np.concatenate([x[i, :n].mean(0), x[i, :n].max(0)])
        for i, n in enumerate((4, 2))
    ]
    helpers.assert_close(MaskedPooling()(x, MASK), np.stack(expected))


def test_a_sentence_without_words_is_zero(inputs):
    nothing = np.zeros_like(MASK)
    actual = MaskedPooling()(inputs["inputs"], nothing)
    helpers.assert_close(actual, np.zeros((2, 6)))
