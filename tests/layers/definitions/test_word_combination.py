import numpy as np
import pytest
from keras import ops

from tests import helpers
from tfcopy.layers import WordCombination
from tfcopy.tokens import UNK

IDS = np.array([[4, UNK, 5], [UNK, 0, 1]], "int32")
E = 4


def inputs(sizes=(E, E)):
    rng = np.random.default_rng(0)
    word, definitions, spellings = (
        rng.normal(size=(2, 3, size)).astype("float32") for size in (E, *sizes)
    )
    # Of some words one source has nothing to say, of others none has.
    definitions[0, :2] = definitions[1, 1:] = spellings[:, 1:] = 0
    return {
        "ids": IDS,
        "word": word,
        "definitions": definitions,
        "spellings": spellings,
    }


def combined(layer, ids, word, **sources):
    return layer(ids, word, sources)


@pytest.mark.parametrize("combine", ["sum", "transform", "bands", "replace"])
def test_follows_the_equations(combine):
    layer, arguments = WordCombination(combine), inputs()
    actual = combined(layer, **arguments)
    word, sources = (
        arguments["word"],
        [arguments["definitions"], arguments["spellings"]],
    )
    if combine == "transform":
        kernels = map(helpers.to_numpy, layer.weights)
        sources = [x @ kernel for x, kernel in zip(sources, kernels)]
    read = sum(sources)
    is_unknown = (IDS == UNK)[..., None]
    expected = {
        "sum": word + read,
        "transform": word + read,
        "bands": np.where(is_unknown, 0, word) + read,
        "replace": np.where(is_unknown, read, word),
    }[combine]
    helpers.assert_close(actual, expected)


def test_a_word_of_which_nothing_is_said():  # check 10
    arguments = inputs()
    for combine in ("sum", "transform", "bands", "replace"):
        actual = helpers.to_numpy(
            combined(WordCombination(combine), **arguments)
        )
        word = arguments["word"]
        if combine in ("bands", "replace"):
            word = np.where((IDS == UNK)[..., None], 0, word)
        assert (actual[0, 1] == word[0, 1]).all()
        assert (actual[1, 1:] == word[1, 1:]).all()


def test_a_source_may_be_missing():
    layer, arguments = WordCombination("transform"), inputs((3, 5))
    combined(layer, **arguments)
    kernel = helpers.to_numpy(layer.kernels["spellings"])
    expected = arguments["word"] + arguments["spellings"] @ kernel
    del arguments["definitions"]
    helpers.assert_close(combined(layer, **arguments), expected)


def test_each_vector_has_a_dropout_of_its_own():
    layer = WordCombination(dropout=0.25, seed=1)
    ids = np.full((10, 20), 4)
    parts = [np.full((10, 20, 50), x, "float32") for x in (3, 30, 300)]
    sources = {"definitions": parts[1], "spellings": parts[2]}
    helpers.assert_close(layer(ids, parts[0], sources), sum(parts))
    actual = helpers.to_numpy(layer(ids, parts[0], sources, training=True))
    values, numbers = np.unique(np.round(actual), return_counts=True)
    # What is kept is 4, 40, 400: all eight sums occur, as often as they must.
    sums = sorted(a + b + c for a in (0, 4) for b in (0, 40) for c in (0, 400))
    assert values.tolist() == sums
    kept = np.array([str(int(x)).count("4") for x in values])
    shares = 0.75**kept * 0.25 ** (3 - kept)
    np.testing.assert_allclose(numbers / actual.size, shares, atol=0.02)


def test_unknown_words_do_not_train_their_own_row_in_bands():
    layer, arguments = WordCombination("bands"), inputs()
    _, gradient, _ = helpers.gradients(
        lambda x: helpers.weighted_sum(combined(layer, word=x, **arguments)),
        arguments.pop("word"),
    )
    gradient = ops.convert_to_numpy(gradient)
    assert not gradient[IDS == UNK].any()
    assert gradient[IDS != UNK].all()


@pytest.mark.parametrize("combine", ["sum", "bands", "replace"])
def test_sizes_must_be_equal_without_a_matrix(combine):
    with pytest.raises(ValueError, match="spellings of size 5, combine="):
        combined(WordCombination(combine), **inputs((E, 5)))


def test_unknown_combinations_raise():
    with pytest.raises(ValueError, match="one of.*Received: combine='product'"):
        WordCombination("product")
