import numpy as np
import pytest

from tfcopy.data.text.vocabulary import Vocabulary
from tfcopy.evaluation import translations
from tfcopy.evaluation.rarity import accuracy_by_quantile, mean_log_rank
from tfcopy.tokens import BOS, EOS, PAD, UNK


@pytest.fixture
def vocabulary():
    return Vocabulary.build({"the": 9, "of": 7, "dog": 5, "barks": 3, "ox": 1})


def test_rank_is_the_place_by_frequency(vocabulary):
    ids = [[vocabulary.id(word)] for word in vocabulary.words[4:]]
    np.testing.assert_allclose(
        mean_log_rank(ids, vocabulary), np.log([1, 2, 3, 4, 5])
    )


def test_logarithms_are_averaged(vocabulary):
    the, dog = vocabulary.id("the"), vocabulary.id("dog")
    np.testing.assert_allclose(
        mean_log_rank([[the, dog, dog]], vocabulary), [2 * np.log(3) / 3]
    )


def test_unknown_words_rank_last(vocabulary):
    np.testing.assert_allclose(mean_log_rank([[UNK]], vocabulary), np.log([5]))


def test_padding_and_ends_do_not_count(vocabulary):
    of, ox = vocabulary.id("of"), vocabulary.id("ox")
    plain = mean_log_rank([[of, ox], [ox]], vocabulary)
    padded = np.array([[BOS, of, ox, EOS, PAD], [BOS, ox, EOS, PAD, PAD]])
    np.testing.assert_array_equal(mean_log_rank(padded, vocabulary), plain)


def test_texts_without_words_have_no_rank(vocabulary):
    texts = [[], [BOS, EOS], [4]]
    assert np.isnan(mean_log_rank(texts, vocabulary)).tolist() == [1, 1, 0]


@pytest.mark.parametrize("ids", [[9], [-1]])
def test_ids_of_another_vocabulary_raise(vocabulary, ids):
    with pytest.raises(ValueError, match="from 0 to 8"):
        mean_log_rank([[4, 5], ids], vocabulary)


def test_bins_have_equal_size():
    x = np.array([5.0, 1, 4, 2, 3, 0])
    right = np.array([True, True, False, False, True, True])
    centres, accuracies, sizes = accuracy_by_quantile(x, right, bins=3)
    np.testing.assert_allclose(centres, [0.5, 2.5, 4.5])
    np.testing.assert_allclose(accuracies, [100, 50, 50])
    assert sizes.tolist() == [2, 2, 2]


def test_bins_agree_with_sorting():
    rng = np.random.default_rng(0)
    x, right = rng.normal(size=1000), rng.random(1000) < 0.3
    centres, accuracies, sizes = accuracy_by_quantile(x, right)
    order = np.argsort(x).reshape(5, 200)
    np.testing.assert_allclose(centres, x[order].mean(axis=1))
    np.testing.assert_allclose(accuracies, 100 * right[order].mean(axis=1))
    assert sizes.tolist() == [200] * 5


def test_equal_examples_share_a_bin():
    x = [1.0] * 6 + [2.0, 2.0, 3.0]
    right = [True, False] * 3 + [True, True, False]
    for bins in (5, 9):
        centres, accuracies, sizes = accuracy_by_quantile(x, right, bins)
        assert centres.tolist() == [1, 2, 3]
        assert accuracies.tolist() == [50, 100, 0]
        assert sizes.tolist() == [6, 2, 1]
    assert accuracy_by_quantile(x, right, 3)[2].tolist() == [6, 3]


def test_fewer_examples_than_bins_have_one_each():
    centres, accuracies, sizes = accuracy_by_quantile([3, 1], [True, False])
    assert centres.tolist() == [1, 3]
    assert accuracies.tolist() == [0, 100]
    assert sizes.tolist() == [1, 1]


def test_what_has_no_rank_is_left_out():
    _, accuracies, sizes = accuracy_by_quantile(
        [np.nan, 1, 1, np.nan], [False, True, True, False]
    )
    assert accuracies.tolist() == [100] and sizes.tolist() == [2]
    assert [len(x) for x in accuracy_by_quantile([np.nan], [True])] == [0] * 3


def test_accuracies_have_intervals():
    _, (accuracy,), (size,) = accuracy_by_quantile([1, 1, 1], [1, 0, 1], 1)
    low, high = translations.interval(accuracy, size)
    assert 0 < low < accuracy < high < 100


def test_wrong_arguments_raise():
    with pytest.raises(ValueError, match="bins=0"):
        accuracy_by_quantile([1.0], [True], bins=0)
    with pytest.raises(ValueError, match=r"shapes \(2,\) and \(1,\)"):
        accuracy_by_quantile([1.0, 2.0], [True])
