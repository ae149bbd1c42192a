import keras
import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import SoftmaxHead
from tfcopy.layers.copying import MASKED

V = 9


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    shapes = {
        "features": (2, 3, 5),
        "decoded_hidden": (2, 3, 4),
        "decoded_attention": (2, 3, 7),
        "annotations": (2, 7, 6),
    }
    inputs = {
        name: rng.normal(size=shape).astype("float32")
        for name, shape in shapes.items()
    }
    return {**inputs, "source_mask": np.ones((2, 7), "bool")}


def test_layer_contract(inputs):
    helpers.check_layer(
        SoftmaxHead(V),
        inputs,
        output_shapes=[(2, 3, V), (2, 3), (2, 3, 7), (2, 3, 7)],
        mixed_dtypes=["bfloat16", *["float32"] * 3],
        dynamic_axes={"decoded_attention": (0, 1, 2)},
    )


def test_is_a_softmax_that_never_points(inputs):
    head = SoftmaxHead(V)
    head.build((2, 3, 5), None)
    head.bias.assign(np.arange(V))
    distribution = head(**helpers.arguments(inputs))
    generated, copied = helpers.probabilities(distribution)
    expected = np.exp(
        inputs["features"] @ helpers.to_numpy(head.kernel) + np.arange(V)
    )
    expected /= expected.sum(-1, keepdims=True)
    helpers.assert_close(generated, expected)
    assert (helpers.to_numpy(distribution.copy_log_probs) == MASKED).all()
    assert not copied.any()


def test_candidates_take_all_of_the_mass(inputs):
    head = SoftmaxHead(V)
    full = head(**helpers.arguments(inputs)).generate_logits
    ids = np.array([3, 8, 1], "int32")
    distribution = head(**helpers.arguments(inputs), candidate_ids=ids)
    helpers.assert_close(
        distribution.generate_logits, ops.take(full, ids, axis=-1)
    )
    generated, _ = helpers.probabilities(distribution)
    helpers.assert_close(generated.sum(-1), np.ones((2, 3)))


def test_candidates_stand_for_so_many_words(inputs):
    head = SoftmaxHead(V)
    ids = np.array([3, 8, 1], "int32")
    some = head(**helpers.arguments(inputs), candidate_ids=ids)
    weighed = head(
        **helpers.arguments(inputs),
        candidate_ids=ids,
        candidate_log_weights=np.log([1.0, 2.0, 5.0]).astype("float32"),
    )
    masses = np.exp(helpers.to_numpy(some.generate_logits)) * [1, 2, 5]
    generated, _ = helpers.probabilities(weighed)
    helpers.assert_close(generated, masses / masses.sum(-1, keepdims=True))


def test_candidates_are_known_to_the_symbolic_call(inputs):
    spec = SoftmaxHead(V)(
        **helpers.arguments(
            {k: keras.Input(batch_shape=x.shape) for k, x in inputs.items()}
        ),
        candidate_ids=keras.KerasTensor((4,), "int32"),
    )
    assert spec.generate_logits.shape == (2, 3, 4)
