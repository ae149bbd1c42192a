"""`Memory`, what the steps of a decoder read."""

import numpy as np
import pytest

from tests import helpers
from tfcopy.layers.loop import Memory, Product

B, D = 2, 3


@pytest.fixture
def memory():
    keys = np.arange(B * 5.0, dtype="float32").reshape(B, 5)
    kernel = np.arange(B * D * D, dtype="float32").reshape(B, D, D)
    return Memory(
        {"keys": keys, "inner": {"values": Product(kernel)}},
        {"score": np.ones((B, 1), "float32"), "inner": {"norm": (1, 2)}},
    )


def test_a_search_takes_sentences_but_no_weights(memory):
    repeated = memory.take([0, 0, 0, 1, 1, 1])
    keys = memory.sentences["keys"]
    helpers.assert_close(repeated.sentences["keys"], np.repeat(keys, 3, 0))
    kernel = memory.sentences["inner"]["values"].kernel
    helpers.assert_close(
        repeated.sentences["inner"]["values"].kernel, np.repeat(kernel, 3, 0)
    )
    assert repeated.weights is memory.weights


def test_a_name_of_an_inner_layer_is_its_own(memory):
    outer = memory.nest("cell").update({"keys": "outer"}, {"score": 0})
    assert outer.sentences["keys"] == "outer"
    assert outer.weights["score"] == 0
    assert outer.part("cell") == memory
    assert memory.part("inner").weights == {"norm": (1, 2)}


def test_an_update_adds_and_replaces_entries_of_a_copy(memory):
    updated = memory.update({"keys": "new"}, {"more": 1})
    assert updated.sentences["keys"] == "new"
    assert updated.sentences["inner"] is memory.sentences["inner"]
    assert set(updated.weights) == {"score", "inner", "more"}
    assert memory.sentences["keys"] is not updated.sentences["keys"]
    assert set(memory.weights) == {"score", "inner"}
