import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tests.layers.random_inputs import MASK, normal
from tfcopy.layers import BidirectionalGRU
from tfcopy.layers.attention.final_context import FinalContext
from tfcopy.layers.copying import MASKED

B, T, S, C, D = 2, 3, 4, 6, 5


def run(value, mask=MASK):
    layer = FinalContext()
    layer.build((B, T, D), value.shape)
    memory = layer.prepare(value, mask)
    state = layer.initial_state(memory)
    query = ops.matmul(normal(len(value), D), layer.query_matrix())
    context, log_weights, state = layer.step(query, state, memory)
    assert state == ()
    return context, log_weights


def test_is_the_forward_end_and_the_backward_beginning():
    value = normal(B, S, C)
    context, _ = run(value)
    expected = [
        np.concatenate([value[0, 3, :3], value[0, 0, 3:]]),
        np.concatenate([value[1, 1, :3], value[1, 0, 3:]]),
    ]
    helpers.assert_close(context, np.stack(expected))


def test_is_what_a_bidirectional_encoder_ended_with():
    annotations, final = BidirectionalGRU(3)(normal(B, S, 2), MASK)
    helpers.assert_close(run(annotations)[0], final)


def test_all_words_have_the_same_weight_and_padding_none():
    _, log_weights = run(normal(B, S, C))
    helpers.assert_close(ops.exp(log_weights), [[0.25] * 4, [0.5, 0.5, 0, 0]])
    assert (helpers.to_numpy(log_weights)[1, 2:] == MASKED).all()


def test_without_a_mask_all_words_are_real():
    value = normal(B, S, C)
    helpers.assert_close(run(value, None), run(value, np.ones((B, S), "bool")))


def test_a_source_without_words_is_finite():
    context, log_weights = run(normal(1, S, C), np.zeros((1, S), "bool"))
    assert np.isfinite(helpers.to_numpy(context)).all()
    helpers.assert_close(ops.exp(log_weights), np.zeros((1, S)))


@pytest.mark.parametrize("dtype", ["float32", "mixed_bfloat16"])
def test_is_in_float32_whatever_the_policy(dtype):
    layer = helpers.with_dtype(FinalContext(), dtype)
    layer.build((B, T, D), (B, S, C))
    for x in layer.step(None, (), layer.prepare(normal(B, S, C), MASK))[:2]:
        assert keras.backend.standardize_dtype(x.dtype) == "float32"
