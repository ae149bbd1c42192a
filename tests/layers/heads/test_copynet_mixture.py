"""CopyNet's numeric checks of one step: a mixture of given scores.

Of the vocabulary PAD, UNK, BOS, EOS, a, b the words c and d are missing; PAD
and BOS get no mass.
"""

import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import CopyNetHead, copying
from tfcopy.layers.copying import MASKED
from tfcopy.tokens import NO_COPY, UNK

EOS, A, B_, C_ = 3, 4, 5, 7  # an OOV word: 6 + its first position
WORDS = np.array([EOS, A, B_, UNK])
A_C_C = np.array([[A, C_, C_]], "int32")


def head_that_says_its_features():
    head = CopyNetHead(6, kernel_initializer="identity")
    shapes = {"hidden": (1, 1, 1), "copy_scores": (1, 1, 3)}
    head.build((1, 1, 6), {**shapes, "attention": (1, 1, 3)}, (1, 3, 1))
    return head


def of_scores(generate, copy, mask=(True, True, True)):
    """The distribution of given scores of WORDS and of source positions."""
    logits = np.full((1, 1, 6), MASKED, "float32")
    logits[0, 0, WORDS] = generate
    copy = np.where(mask, np.array(copy, "float32"), np.float32(MASKED))
    return head_that_says_its_features()(
        logits,
        {
            "hidden": np.zeros((1, 1, 1), "float32"),
            "attention": np.zeros((1, 1, 3), "float32"),
            "copy_scores": copy[None, None],
        },
        np.zeros((1, 3, 1), "float32"),
        np.array([mask]),
    )


def mixture(copy=(2, 1, 2), **options):
    return of_scores(np.log([1, 2, 1, 1]), np.log(copy), **options)


def cost(distribution, word, source=A_C_C):
    """`-log p(word)`; `source` holds copy ids."""
    ids = np.array([[word]], "int32")
    log_p = copying.marginal_log_likelihood(distribution, ids, source)
    return -helpers.to_numpy(log_p)[0, 0]


def p(distribution, words, source=A_C_C):
    return np.exp([-cost(distribution, word, source) for word in words])


def test_the_tanh_is_inside_the_copy_score():
    """Check 1."""
    head = CopyNetHead(2, kernel_initializer="zeros")
    decoded = {
        "hidden": np.array([[[1, 0.5]]], "float32"),
        "attention": np.zeros((1, 1, 3), "float32"),
    }
    annotations = np.array([[[1, 0], [0, 1], [1, -1]]], "float32")
    arguments = decoded["hidden"], decoded, annotations, np.ones((1, 3), "bool")
    head(*arguments)
    head.copy_kernel.assign(np.diag([1.0, 2.0]))
    scores = helpers.to_numpy(head(*arguments).copy_log_probs)[0, 0]
    expected = np.array([0.761594, 0.482014, 0.279580])
    total = np.log(2 + np.exp(expected).sum())  # two words of score 0
    helpers.assert_close(scores, expected - total)


def test_one_normaliser_for_words_and_positions():
    """Check 2: a generated and copied, c copied twice; d is UNK."""
    split = mixture()
    words = [EOS, A, B_, UNK, C_]
    helpers.assert_close(p(split, words), [0.1, 0.4, 0.1, 0.1, 0.3])
    costs = np.array([cost(split, word) for word in (A, B_, C_)])
    helpers.assert_close(costs, [0.916291, 2.302585, 1.203973])
    # d is neither in the vocabulary nor in the source: its id is UNK.
    total = sum(cost(split, word) for word in (A, C_, UNK, EOS))
    assert total == pytest.approx(6.725434, abs=1e-5)


@pytest.mark.parametrize(
    "mask, expected",
    [
        ((True, True, False), [0.125, 0.5, 0.125, 0.125, 0.125]),
        ((False, False, False), [0.2, 0.4, 0.2, 0.2, 0.0]),
    ],
)
def test_padding_takes_no_mass(mask, expected):
    """Check 4."""
    source = np.where(mask, A_C_C, NO_COPY).astype("int32")
    merged = copying.merge(mixture(mask=mask), source)
    merged = np.exp(helpers.to_numpy(merged))[0, 0]
    helpers.assert_close(merged[[EOS, A, B_, UNK, C_]], np.array(expected))


def test_a_word_of_the_vocabulary_may_stand_twice():
    """Check 5."""
    source = np.array([[A, A, B_]], "int32")
    helpers.assert_close(
        p(mixture((1, 2, 3)), [A, B_, EOS, UNK], source),
        np.array([5, 4, 1, 1]) / 11,
    )


@pytest.mark.parametrize(
    "word, expected",
    [
        (C_, [0.1, 0.2, 0.1, 0.1, 0.2, -0.233333, -0.466667]),
        (A, [0.1, -0.3, 0.1, 0.1, -0.3, 0.1, 0.2]),
        (UNK, [0.1, 0.2, 0.1, -0.9, 0.2, 0.1, 0.2]),
    ],
)
def test_gradient_of_the_scores(word, expected):
    """Check 7: `p_i - [i says the word] p_i / p(word)`."""
    scores = (np.log([1.0, 2, 1, 1]), np.log([2.0, 1, 2]))
    actual = gradient_of_the_scores(*scores, word)
    helpers.assert_close(actual, np.array(expected))
    assert abs(actual.sum()) < 1e-6


def gradient_of_the_scores(generate, copy, word):
    """Of the cost of a word, by the scores of WORDS and of positions."""
    head = head_that_says_its_features()
    logits = np.full((1, 1, 6), MASKED, "float32")
    logits[0, 0, WORDS] = generate

    def cost(x):
        split = head(
            x["logits"],
            {
                "hidden": np.zeros((1, 1, 1), "float32"),
                "attention": np.zeros((1, 1, 3), "float32"),
                "copy_scores": x["copy"],
            },
            np.zeros((1, 3, 1), "float32"),
            np.ones((1, 3), "bool"),
        )
        ids = np.array([[word]], "int32")
        return -ops.sum(copying.marginal_log_likelihood(split, ids, A_C_C))

    copy = np.array(copy, "float32")[None, None]
    _, actual, _ = helpers.gradients(cost, {"logits": logits, "copy": copy})
    actual = helpers.to_numpy(actual)
    return np.concatenate([actual["logits"][0, 0, WORDS], actual["copy"][0, 0]])


def test_scores_far_apart():
    """Check 8."""
    scores = np.zeros(4), np.array([-1000.0, -1000.0, 1000.0])
    split = of_scores(*scores)
    assert cost(split, A) == 1000
    assert cost(split, C_) == 0
    gradient = gradient_of_the_scores(*scores, A)
    helpers.assert_close(gradient, np.array([0, -1.0, 0, 0, 0, 0, 1]))


def test_adding_to_all_scores_changes_nothing():
    """Check 6; to those of one kind alone it does."""
    generate, copy = np.log([1, 2, 1, 1]), np.log([2, 1, 2])
    words = [EOS, B_, UNK, C_]
    expected = p(mixture(), words)
    helpers.assert_close(p(of_scores(generate + 3, copy + 3), words), expected)
    other = p(of_scores(generate, copy + 3), words)
    assert np.abs(other - expected).min() > 0.01
