"""The greatest of many numbers, in two stages."""

import hypothesis
import numpy as np
import pytest
from hypothesis import strategies as st
from keras import ops

from tests import helpers
from tfcopy.layers import tensors


@hypothesis.settings(max_examples=30)
@hypothesis.given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.sampled_from([256, 300, 480, 512, 509]),  # the last one is prime
    st.integers(1, 5),
)
def test_finds_what_sorting_finds(seed, k, columns, different):
    """Few different numbers, so that there are many ties."""
    x = np.random.default_rng(seed).integers(0, different, (3, columns))
    x = x.astype("float32")
    values, found = tensors.top_k(ops.convert_to_tensor(x), k)
    expected = np.argsort(-x, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(values, np.take_along_axis(x, expected, 1))


@pytest.mark.parametrize("columns", [512, 509])
def test_in_a_graph_of_any_number_of_rows(columns):
    x = np.random.default_rng(0).normal(size=(4, columns)).astype("float32")

    def function(inputs):
        return tensors.top_k(inputs["x"], 4)

    graph = helpers.compiled(function, {"x": x}, dynamic_axes={"x": [0]})
    _, found = graph({"x": x})
    np.testing.assert_array_equal(found, np.argsort(-x, axis=1)[:, :4])


def test_blocks_cut_long_rows_evenly():
    assert tensors._block_size(10_000, 9) == 40
    assert tensors._block_size(10_007, 9) == 1
    assert tensors._block_size(100, 9) == 1
    assert tensors._block_size(None, 9) == 1
