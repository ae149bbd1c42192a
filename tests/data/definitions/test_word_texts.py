import numpy as np
import pytest

from tfcopy.data.definitions.word_texts import WordNumbers, WordTexts

EXAMPLES = [
    ({"premise": ["a", "cat"], "hypothesis": ["a", "pet"]}, {"label": 2}),
    ({"premise": [], "hypothesis": ["pet"]}, {"label": 0}),
]


def test_keeps_words_and_labels():
    found = WordTexts.from_examples(EXAMPLES)
    assert len(found) == 2
    assert found.words == ["a", "cat", "pet"]
    assert found.tokens("hypothesis", 0) == ["a", "pet"]
    assert found.tokens("premise", 1) == []
    assert found.labels["label"].tolist() == [2, 0]
    assert found.counts() == {"a": 2, "cat": 1, "pet": 2}


def test_a_subset_has_some_examples():
    found = WordTexts.from_examples(EXAMPLES * 2).subset([3, 0])
    assert found.tokens("hypothesis", 0) == ["pet"]
    assert found.tokens("premise", 1) == ["a", "cat"]
    assert found.labels["label"].tolist() == [0, 2]


def test_corpora_share_their_numbers():
    numbers = WordNumbers()
    train = WordTexts.from_examples(EXAMPLES, numbers)
    test = WordTexts.from_examples([({"text": ["dog", "pet"]}, {})], numbers)
    assert test.texts["text"][0].tolist() == [3, 2]
    assert train.words == test.words == ["a", "cat", "pet", "dog"]
    # Words of another corpus do not occur in this one.
    assert train.counts() == {"a": 2, "cat": 1, "pet": 2}


def test_texts_may_all_be_empty():
    found = WordTexts.from_examples([({"text": []}, {})] * 2)
    assert len(found) == 2
    assert found.texts["text"][1].tolist() == []
    assert found.texts["text"].ids.dtype == np.int32


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x[::-1],
        lambda x: [x[0], (x[1][0], {"label": 1})],
        lambda x: [x[0], ({"premise": ["pet"], "hypothesis": []}, x[1][1])],
        lambda x: [({**x[0][0], "premise": ["a", "Cat"]}, x[0][1]), x[1]],
    ],
)
def test_checksum_changes_with_the_examples(change):
    before = WordTexts.from_examples(EXAMPLES).checksum
    assert WordTexts.from_examples(list(EXAMPLES)).checksum == before
    assert WordTexts.from_examples(change(EXAMPLES)).checksum != before


def test_no_example_is_an_error():
    with pytest.raises(ValueError, match="no example"):
        WordTexts.from_examples([])
