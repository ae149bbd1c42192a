import keras
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops

from tests import helpers
from tfcopy.layers import SoftmaxHead
from tfcopy.layers.copying import MASKED
from tfcopy.layers.heads.softmax_head import restrict
from tfcopy.tokens import NO_COPY, UNK

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


WORDS = 10
SPECIAL = [0, 1, 2, 3]


def naive_restrict(ids, source_copy_ids, candidates):
    """One word after the other."""
    rows = []
    for row, source in zip(ids.tolist(), source_copy_ids.tolist()):
        words = []
        for word in row:
            if word < 0:
                words.append(word)
            elif word in candidates:
                words.append(candidates.index(word))
            elif word in source:
                words.append(len(candidates) + source.index(word))
            else:
                words.append(UNK)
        rows.append(words)
    return np.array(rows)


def test_a_word_outside_is_copied_or_unknown():
    # 5 and 12 stand in the source, 12 = V + 2 outside the vocabulary; 7 does
    # not stand there.
    ids = np.array([[5, 12, 7]], "int32")
    sources = np.array([[9, 5, 12, 5, 12, NO_COPY]], "int32")
    candidates = np.array([*SPECIAL, 4, 9], "int32")
    helpers.assert_close(
        restrict(ids, sources, candidates, WORDS), [[6 + 1, 6 + 2, UNK]]
    )
    helpers.assert_close(
        restrict(sources, sources, candidates, WORDS),
        [[5, 7, 8, 7, 8, NO_COPY]],
    )


@settings(max_examples=60)
@given(st.integers(0, 2**32 - 1), st.integers(0, WORDS - len(SPECIAL)))
def test_is_what_one_word_after_the_other_gives(seed, extra):
    rng = np.random.default_rng(seed)
    others = rng.choice(np.arange(4, WORDS), extra, replace=False)
    candidates = np.array([*SPECIAL, *sorted(others)], "int32")
    sources = rng.integers(-1, WORDS, size=(2, 4)).astype("int32")
    for row in sources:  # some are outside: V and their first position
        row[rng.random(4) < 0.3] = WORDS + rng.integers(0, 4)
    ids = rng.integers(-1, WORDS, size=(2, 5)).astype("int32")
    for row, source in zip(ids, sources):
        row[:2] = rng.choice(source, 2)
    expected = naive_restrict(ids, sources, candidates.tolist())
    helpers.assert_close(restrict(ids, sources, candidates, WORDS), expected)
