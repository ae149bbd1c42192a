import numpy as np
import pytest

from tests import helpers
from tfcopy.layers import SoftAlignment

MASKS = {
    "premise_mask": np.array([[True] * 4, [True, True, True, False]]),
    "hypothesis_mask": np.array([[True] * 3, [True, True, False]]),
}


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    premise, hypothesis = rng.normal(size=(2, 4, 5)), rng.normal(size=(2, 3, 5))
    sentences = {"premise": premise, "hypothesis": hypothesis}
    return {k: x.astype("float32") for k, x in sentences.items()} | MASKS


def numpy_alignment(premise, hypothesis):
    """Of one pair without padding."""
    scores = premise @ hypothesis.T
    weights = np.exp(scores)
    compared = []
    for words, others, weights in (
        (premise, hypothesis, weights),
        (hypothesis, premise, weights.T),
    ):
        aligned = weights / weights.sum(1, keepdims=True) @ others
        parts = [words, aligned, words - aligned, words * aligned]
        compared.append(np.concatenate(parts, axis=-1))
    return compared


def test_layer_contract(inputs):
    helpers.check_layer(
        SoftAlignment(), inputs, output_shapes=[(2, 4, 20), (2, 3, 20)]
    )


def test_follows_the_equations_without_padding(inputs):
    actual = SoftAlignment()(**inputs)
    for i, lengths in enumerate([(4, 3), (3, 2)]):
        words = [
            inputs[name][i, :length]
            for name, length in zip(("premise", "hypothesis"), lengths)
        ]
        for x, y, length in zip(actual, numpy_alignment(*words), lengths):
            helpers.assert_close(x[i, :length], y)


def test_large_scores_are_finite(inputs):
    large = {
        name: 100 * x if "mask" not in name else x for name, x in inputs.items()
    }
    for x in helpers.to_numpy(SoftAlignment()(**large)):
        assert np.isfinite(x).all()


def test_sentences_without_words_are_finite(inputs):
    nothing = {name: np.zeros_like(mask) for name, mask in MASKS.items()}
    for x in helpers.to_numpy(SoftAlignment()(**{**inputs, **nothing})):
        assert np.isfinite(x).all()
