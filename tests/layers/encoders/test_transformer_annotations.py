import numpy as np
import pytest

from tests import helpers
from tests.layers.random_inputs import MASK, randomized
from tfcopy.layers import TransformerAnnotations


@pytest.fixture
def layer(inputs):
    layer = TransformerAnnotations(6, num_layers=2, num_heads=3)
    layer.build(inputs["inputs"].shape)
    return randomized(layer, seed=1)


def numpy_norm(x, weights):
    gamma, beta = weights
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5) * gamma + beta


def numpy_block(x, mask, weights):
    """One sentence, `(S, C)`; attention first."""
    (query, query_bias, key, key_bias, value, value_bias) = weights[:6]
    (output, output_bias) = weights[6:8]
    y = numpy_norm(x, weights[8:10])
    attended = output_bias
    for head in range(query.shape[1]):
        q = y @ query[:, head] + query_bias[head]
        k = y @ key[:, head] + key_bias[head]
        v = y @ value[:, head] + value_bias[head]
        scores = np.exp(q @ k.T / np.sqrt(q.shape[-1])) * mask
        scores = scores / scores.sum(-1, keepdims=True)
        attended = attended + scores @ v @ output[head]
    x = x + attended
    y = numpy_norm(x, weights[10:12])
    hidden, hidden_bias, output, output_bias = weights[12:]
    hidden = np.maximum(y @ hidden + hidden_bias, 0)
    return x + hidden @ output + output_bias


def numpy_positions(length, units):
    rows = np.zeros((length, units))
    for position in range(length):
        for i in range(units):
            angle = position / 10000 ** (i // 2 * 2 / units)
            rows[position, i] = np.cos(angle) if i % 2 else np.sin(angle)
    return rows


def test_follows_the_equations(layer, inputs):
    weights = [w.astype("float64") for w in layer.get_weights()]
    kernel, *blocks = weights[:-4]
    for row in range(2):
        mask = MASK[row]
        x = numpy_norm(inputs["inputs"][row] @ kernel, weights[-4:-2])
        x = x + numpy_positions(4, 6)
        for start in (0, 16):
            x = numpy_block(x, mask, blocks[start : start + 16])
        x = numpy_norm(x, weights[-2:]) * mask[:, None]
        annotations, final = layer(**inputs)
        helpers.assert_close(annotations[row], x, 1e-4, 1e-4)
        helpers.assert_close(final[row], x[mask].mean(0), 1e-4, 1e-4)


def test_the_scale_of_the_embeddings_does_not_matter(layer, inputs):
    large = {**inputs, "inputs": 1000 * inputs["inputs"]}
    helpers.assert_close(layer(**large)[0], layer(**inputs)[0], 1e-3, 1e-3)


def test_nothing_but_padding(layer, inputs):
    for x in helpers.to_numpy(layer(inputs["inputs"], np.zeros_like(MASK))):
        assert not x.any()


def test_positions_of_long_sentences_differ_in_mixed_precision(layer):
    mixed = helpers.with_dtype(layer, "mixed_bfloat16")
    mixed(np.zeros((1, 1, 3), "f"), np.ones((1, 1), bool))
    mixed.set_weights(layer.get_weights())
    zeros, mask = np.zeros((1, 600, 3), "float32"), np.ones((1, 600), bool)
    rows = helpers.to_numpy(mixed(zeros, mask)[0])[0, -300:]
    assert len(np.unique(rows, axis=0)) > 290


def test_dropout_only_in_training(layer, inputs):
    config = {**layer.get_config(), "dropout": 0.5}
    other = TransformerAnnotations.from_config(config)
    other.build(inputs["inputs"].shape)
    weights = iter(layer.get_weights())
    for weight in other.trainable_weights:
        weight.assign(next(weights))
    helpers.assert_close(other(**inputs), layer(**inputs))
    dropped, _ = other(**inputs, training=True)
    assert np.abs(helpers.to_numpy(dropped - layer(**inputs)[0])).max() > 0.01


@pytest.mark.parametrize(
    "options", [{"num_heads": 4}, {"num_heads": 0}, {"num_layers": 0}]
)
def test_sizes_are_checked(options):
    with pytest.raises(ValueError, match="Received: units=6"):
        TransformerAnnotations(6, **options)
