"""Batches of texts: what they hold, and that they can be resumed."""

import numpy as np
import pytest
import tensorflow as tf

from tests.data.definitions.test_features import make
from tfcopy.data.definitions import TextBatches
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.epoch_batches import TokenLimit

SENTENCES = ["the cat sees", "dogs", "hound sees dog", "", "a cat", "ghost"]
TEXTS = WordTexts.from_examples(
    (
        {"text": text.split(), "other": text.split()[::-1][:1]},
        {"label": number},
    )
    for number, text in enumerate(SENTENCES * 3)
)


@pytest.fixture(scope="module")
def batches():
    return TextBatches(make(end=True), TEXTS.words)


def as_arrays(dataset):
    return [{k: x.numpy() for k, x in batch.items()} for batch in dataset]


def assert_equal(some, others):
    assert len(some) == len(others)
    for one, other in zip(some, others):
        assert one.keys() == other.keys()
        for name in one:
            np.testing.assert_array_equal(one[name], other[name])


def test_evaluation_has_all_in_order(batches):
    dataset = batches.evaluation(TEXTS, 4)
    found = as_arrays(dataset)
    assert len(dataset) == len(found) == 5
    labels = np.concatenate([batch["label"] for batch in found])
    assert labels.tolist() == list(range(18))
    for batch in found:
        rows = [SENTENCES[i % 6].split() for i in batch["label"]]
        text = tf.ragged.constant(rows, tf.string, row_splits_dtype="int64")
        other = tf.ragged.constant(
            [row[::-1][:1] for row in rows],
            tf.string,
            row_splits_dtype="int64",
        )
        expected = make(end=True).inputs({"text": text, "other": other})
        assert_equal(
            [{k: x for k, x in batch.items() if k != "label"}],
            [{k: x.numpy() for k, x in expected.items()}],
        )


def test_training_starts_anywhere(batches):
    options = {"batch_size": 4, "shuffle_seed": 3, "epoch": 2}
    whole = as_arrays(batches.train(TEXTS, **options))
    assert len(whole) == 4
    labels = np.concatenate([batch["label"] for batch in whole])
    assert len(set(labels)) == 16
    rest = as_arrays(batches.train(TEXTS, **options, start_batch=3))
    assert_equal(rest, whole[3:])


def test_replicas_get_slices_of_a_batch(batches):
    whole = as_arrays(batches.train(TEXTS, 4, shuffle_seed=3))
    halves = batches.train(TEXTS, 4, shuffle_seed=3, num_replicas=2)
    labels = [batch["label"] for batch in as_arrays(halves)]
    assert [x.tolist() for x in np.reshape(labels, (4, 4))] == [
        batch["label"].tolist() for batch in whole
    ]


def test_batches_of_tokens_start_anywhere_and_are_shared(batches):
    options = {"batch_size": TokenLimit(9), "shuffle_seed": 3}
    whole = as_arrays(batches.train(TEXTS, **options))
    labels = [batch["label"].tolist() for batch in whole]
    lengths = [max(1, len(SENTENCES[i % 6].split())) for i in range(18)]
    for rows in labels:
        assert len(rows) * max(lengths[i] for i in rows) <= 9
    assert len(set(map(len, labels))) > 1
    rest = as_arrays(batches.train(TEXTS, **options, start_batch=2))
    assert_equal(rest, whole[2:])
    halves = batches.train(TEXTS, **options, num_replicas=2)
    assert len(halves) == 2 * len(whole)
    halves = [x["label"].tolist() for x in as_arrays(halves)]
    assert [a + b for a, b in zip(halves[::2], halves[1::2])] == labels


def test_a_recipe_may_finish_batches_itself():
    batches = TextBatches(
        make(),
        TEXTS.words,
        lambda words, found, labels: {
            "words": words["text"].to_tensor(),
            "entries": found["text"]["entries"],
        },
    )
    (batch,) = as_arrays(batches.evaluation(TEXTS, 18))
    assert batch["words"][2].tolist() == [b"hound", b"sees", b"dog"]
    assert batch["entries"].shape == (TEXTS.texts["text"].splits[-1], 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((19,), "18 examples"), ((3,), "multiple of `num_replicas`")],
)
def test_errors_say_what_does_not_fit(batches, arguments, message):
    with pytest.raises(ValueError, match=message):
        batches.train(
            TEXTS, *arguments, num_replicas=1 if arguments == (19,) else 2
        )
