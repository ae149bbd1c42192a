"""Every head on a Transformer decoder, in mixed precision and in graphs."""

import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.decoding import searching
from tests.layers.random_inputs import randomized
from tfcopy.decoding import SearchOptions, beam_search
from tfcopy.models import translator

# Each has other options of the decoder.
OF_HEAD = {
    "softmax": {"positions": "learned", "normalize_first": False},
    "pointer_softmax": {"pointing": "additive", "coverage": True},
    "pointer_generator": {"positions": "rotary", "coverage": True},
    "copynet": {"positions": "rotary", "normalize_first": False},
}
INPUTS = {
    "source_ids": searching.SOURCE_IDS,
    "source_copy_ids": searching.COPY_IDS,
    "target_ids": np.array(
        [[6, 4, searching.V + 1, 3], [searching.V, 3, 0, 0]], "int32"
    ),
}


def make_model(head, dtype="float32"):
    options = dict(OF_HEAD[head])
    with helpers.dtype_policy(dtype):
        model = translator(
            9,
            searching.V,
            head=head,
            decoder="transformer",
            coverage=options.pop("coverage", False),
            decoder_options={"num_layers": 2, "num_heads": 2, **options},
            tied=head == "copynet",
            embedding_dim=4,
            units=4,
            encoder_units=3,
        )
    return randomized(model, 0.8)


@pytest.mark.parametrize("head", OF_HEAD)
@pytest.mark.long
def test_in_mixed_precision_nearly_the_same(head):
    mixed = make_model(head, "mixed_bfloat16")
    plain = make_model(head)
    assert all(x.dtype == "float32" for x in mixed.weights)
    for x, y in zip(
        helpers.probabilities(mixed(INPUTS)),
        helpers.probabilities(plain(INPUTS)),
    ):
        assert np.abs(x - y).max() < 0.1
        assert np.abs(x - y).mean() < 0.01
    found = searching.search(mixed, num_beams=3, max_length=4)
    for row, ids in enumerate(found.ids[:, 0]):
        expected = searching.teacher_forced(
            mixed, row, searching.unpadded(ids)
        ).sum()
        np.testing.assert_allclose(found.scores[row, 0], expected, atol=0.2)


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="JAX has no such graphs"
)
@pytest.mark.parametrize("static_shapes", [False, True])
@pytest.mark.long
def test_compiled_searches_find_the_same(static_shapes):
    """One graph for all sizes; with static shapes one of XLA, of two loops."""
    import tensorflow as tf

    model = make_model("pointer_generator")
    options = SearchOptions(
        num_beams=3, max_length=6, static_shapes=static_shapes
    )
    shape = searching.SOURCE_IDS.shape if static_shapes else (None, None)
    graph = tf.function(
        lambda ids, copies: beam_search(model, ids, copies, options),
        input_signature=[tf.TensorSpec(shape, tf.int32)] * 2,
        autograph=False,
        jit_compile=static_shapes,
    )
    expected = searching.search(model, num_beams=3, max_length=6)
    found = graph(
        *map(ops.convert_to_tensor, (searching.SOURCE_IDS, searching.COPY_IDS))
    )
    np.testing.assert_array_equal(found.ids, expected.ids)
    np.testing.assert_allclose(found.scores, expected.scores, atol=1e-5)
