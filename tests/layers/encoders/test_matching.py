"""Two texts read beside each other."""

import numpy as np
import pytest

from tests import helpers
from tests.layers.random_inputs import MASK, normal, sequences
from tfcopy.layers import Coattention, MaskedPooling, SoftAlignment


def pair(first, second, length):
    """Texts of four and three words; of the second pair, three and `length`."""
    return {
        first: normal(2, 4, 5),
        second: normal(2, 3, 5, seed=1),
        f"{first}_mask": np.arange(4) < [[4], [3]],
        f"{second}_mask": np.arange(3) < [[3], [length]],
    }


SENTENCES = pair("premise", "hypothesis", 2)
TEXTS = pair("context", "question", 1)


def numpy_alignment(premise, hypothesis):
    """Of one pair without padding."""
    weights = np.exp(premise @ hypothesis.T)
    compared = []
    for words, others, weights in (
        (premise, hypothesis, weights),
        (hypothesis, premise, weights.T),
    ):
        aligned = weights / weights.sum(1, keepdims=True) @ others
        parts = [words, aligned, words - aligned, words * aligned]
        compared.append(np.concatenate(parts, axis=-1))
    return compared


def test_follows_the_equations_without_padding():
    actual = SoftAlignment()(**SENTENCES)
    for i, lengths in enumerate([(4, 3), (3, 2)]):
        words = [
            SENTENCES[name][i, :length]
            for name, length in zip(("premise", "hypothesis"), lengths)
        ]
        for x, y, length in zip(actual, numpy_alignment(*words), lengths):
            helpers.assert_close(x[i, :length], y)


def test_large_scores_are_finite():
    large = {
        name: 100 * x if "mask" not in name else x
        for name, x in SENTENCES.items()
    }
    for x in helpers.to_numpy(SoftAlignment()(**large)):
        assert np.isfinite(x).all()


def test_the_numbers_of_the_notes():  # check 12
    annotations, over_question, over_context = Coattention()(
        np.array([[[1, 0], [0, 1], [1, 1]]], "float32"),
        np.array([[[1, 0], [0, 2]]], "float32"),
        np.ones((1, 3), bool),
        np.ones((1, 2), bool),
    )
    helpers.assert_close(over_question[0, 0], [0.731059, 0.268941])
    helpers.assert_close(over_context[0, :, 0], [0.422319, 0.155362, 0.422319])
    helpers.assert_close(over_context[0, :, 1], [0.063379, 0.468311, 0.468311])
    helpers.assert_close(
        annotations[0],
        [
            [1, 0, 0.731059, 0.537883, 0.760473, 0.674215],
            [0, 1, 0.119203, 1.761594, 0.568994, 0.893834],
            [1, 1, 0.268941, 1.462117, 0.615854, 0.840087],
        ],
    )


def test_all_weight_is_on_words():  # check 13
    _, over_question, over_context = helpers.to_numpy(Coattention()(**TEXTS))
    helpers.assert_close(over_question.sum(2), np.ones((2, 4)))
    helpers.assert_close(over_context.sum(1), np.ones((2, 3)))
    assert (over_question[1, :, 1:] < 1e-6).all()
    assert (over_context[1, 3] < 1e-6).all()


def test_padding_changes_nothing():  # check 13
    rng = np.random.default_rng(1)
    other = dict(TEXTS)
    for name, more in (("context", 2), ("question", 3)):
        mask = TEXTS[f"{name}_mask"]
        text = np.where(mask[..., None], TEXTS[name], rng.normal())
        other[name] = np.pad(
            text, ((0, 0), (0, more), (0, 0)), constant_values=9
        )
        other[f"{name}_mask"] = np.pad(mask, ((0, 0), (0, more)))
    layer = Coattention()
    expected, actual = layer(**TEXTS), layer(**other)
    for i, (length, number) in enumerate([(4, 3), (3, 1)]):
        helpers.assert_close(actual[0][i, :length], expected[0][i, :length])
        for x, y in zip(actual[1:], expected[1:]):
            helpers.assert_close(x[i, :length, :number], y[i, :length, :number])


@pytest.mark.parametrize(
    ("layer", "inputs"), [(SoftAlignment(), SENTENCES), (Coattention(), TEXTS)]
)
def test_texts_without_words_are_finite(layer, inputs):
    nothing = {k: np.zeros_like(x) for k, x in inputs.items() if "mask" in k}
    for x in helpers.to_numpy(layer(**{**inputs, **nothing})):
        assert np.isfinite(x).all()


@pytest.mark.parametrize("shift", [0, -10])
def test_padding_is_left_out(shift):  # check 14
    """Also where all that is no padding is negative."""
    x = sequences()["inputs"] + shift
    if shift:
        x[1, 2:] = 5
    expected = [
        np.concatenate([x[i, :n].mean(0), x[i, :n].max(0)])
        for i, n in enumerate((4, 2))
    ]
    helpers.assert_close(MaskedPooling()(x, MASK), np.stack(expected))


def test_a_sentence_without_words_is_zero():
    actual = MaskedPooling()(sequences()["inputs"], np.zeros_like(MASK))
    helpers.assert_close(actual, np.zeros((2, 6)))
