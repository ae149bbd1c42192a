import numpy as np
import pytest

from tests import helpers
from tfcopy.layers import Coattention

MASKS = {
    "context_mask": np.array([[True] * 4, [True, True, True, False]]),
    "question_mask": np.array([[True] * 3, [True, False, False]]),
}


@pytest.fixture
def inputs():
    rng = np.random.default_rng(0)
    context, question = rng.normal(size=(2, 4, 5)), rng.normal(size=(2, 3, 5))
    texts = {"context": context, "question": question}
    return {k: x.astype("float32") for k, x in texts.items()} | MASKS


def test_layer_contract(inputs):
    helpers.check_layer(
        Coattention(),
        inputs,
        output_shapes=[(2, 4, 15), (2, 4, 3), (2, 4, 3)],
    )


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


def test_all_weight_is_on_words(inputs):  # check 13
    _, over_question, over_context = helpers.to_numpy(Coattention()(**inputs))
    helpers.assert_close(over_question.sum(2), np.ones((2, 4)))
    helpers.assert_close(over_context.sum(1), np.ones((2, 3)))
    assert (over_question[1, :, 1:] < 1e-6).all()
    assert (over_context[1, 3] < 1e-6).all()


def test_padding_changes_nothing(inputs):  # check 13
    rng = np.random.default_rng(1)
    other = dict(inputs)
    for name, more in (("context", 2), ("question", 3)):
        mask = inputs[f"{name}_mask"]
        text = np.where(mask[..., None], inputs[name], rng.normal())
        other[name] = np.pad(
            text, ((0, 0), (0, more), (0, 0)), constant_values=9
        )
        other[f"{name}_mask"] = np.pad(mask, ((0, 0), (0, more)))
    layer = Coattention()
    expected, actual = layer(**inputs), layer(**other)
    for i, (length, number) in enumerate([(4, 3), (3, 1)]):
        helpers.assert_close(actual[0][i, :length], expected[0][i, :length])
        for x, y in zip(actual[1:], expected[1:]):
            helpers.assert_close(x[i, :length, :number], y[i, :length, :number])


def test_texts_without_words_are_finite(inputs):
    nothing = {name: np.zeros_like(mask) for name, mask in MASKS.items()}
    for x in helpers.to_numpy(Coattention()(**{**inputs, **nothing})):
        assert np.isfinite(x).all()
