"""Batches of texts: what they hold, and that they can be resumed."""

import numpy as np
import pytest
import tensorflow as tf

from tests.data.definitions.test_features import make
from tests.models.defined_texts import SPELLING, make_embedding
from tfcopy.data.definitions import TextBatches
from tfcopy.data.definitions.text_batches import TextShapes
from tfcopy.data.definitions.word_texts import WordTexts
from tfcopy.data.epoch_batches import TokenLimit
from tfcopy.models.definition_inputs import embed_texts

SENTENCES = ["the cat sees", "dogs", "hound sees dog", "", "a cat", "ghost"]
TEXTS = WordTexts.from_examples(
    ({"text": text.split(), "other": text.split()[::-1][:1]}, {"label": number})
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
            [row[::-1][:1] for row in rows], tf.string, row_splits_dtype="int64"
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
    assert len(set(np.concatenate([batch["label"] for batch in whole]))) == 16
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


LAYOUTS = ("flat", "padded")


def batch(rng, layout, examples=4):
    """Random texts of random lengths, with definitions and spellings."""
    length, defined = rng.integers(2, 9), rng.integers(1, 5)
    owners = np.sort(rng.integers(1, defined + 1, rng.integers(2, 9)))
    size = [len(owners)]
    if layout == "padded":
        size.append(rng.integers(2, 6))
    words = rng.integers(1, 4)
    tensors = {
        "text_ids": rng.integers(4, 9, (examples, length)),
        "text_slots": rng.integers(0, defined + 1, (examples, length, 2)),
        "definition_ids": rng.integers(4, 9, size),
        "definition_owners": owners,
        "text_spelling_slots": rng.integers(0, words + 1, (examples, length)),
        "spelling_ids": rng.integers(4, 7, (words + 1, rng.integers(2, 5))),
        "label": rng.integers(0, 3, (examples,)),
    }
    floats = {
        "definition_weights": np.ones(len(owners)),
        "definition_counts": np.bincount(owners, minlength=defined + 1),
    }
    made = {k: tf.constant(x, tf.int32) for k, x in tensors.items()}
    return made | {k: tf.constant(x, tf.float32) for k, x in floats.items()}


def shapes_of(batch):
    return tuple((name, *x.shape) for name, x in sorted(batch.items()))


def many(layout, number=80, seed=0):
    rng = np.random.default_rng(seed)
    return [batch(rng, layout) for _ in range(number)]


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_there_are_few_shapes(layout):
    seen = many(layout)
    shapes = TextShapes(seen, 6)
    assert len({shapes_of(x) for x in seen}) > 60
    padded = [shapes.pad(x) for x in seen]
    assert 2 <= len({shapes_of(x) for x in padded}) <= 6
    cells = sum(int(tf.size(x)) for one in seen for x in one.values())
    there = sum(int(tf.size(x)) for one in padded for x in one.values())
    labels = sum(int(tf.size(one["label"])) for one in seen)
    assert abs(shapes.share - cells / there) < 1e-6 + labels / there
    # Batches that nobody saw are mostly among them.
    others = {shapes_of(shapes.pad(x)) for x in many(layout, 40, seed=1)}
    assert len(others - {shapes_of(x) for x in padded}) <= 3


@pytest.mark.few(1)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_padding_changes_no_vector(layout):
    reader = {"reader": "mean" if layout == "flat" else "lstm"}
    embedding = make_embedding(spelling=SPELLING, **reader)
    seen = many(layout, 12)
    shapes = TextShapes(seen, 3)
    for one in seen[:4]:
        padded = shapes.pad(one)
        assert shapes_of(padded) != shapes_of(one)
        for name, x in one.items():
            inside = padded[name][tuple(slice(n) for n in x.shape)]
            np.testing.assert_array_equal(inside, x)
        vectors, masks = embed_texts(("text",), embedding, one)
        longer, longer_masks = embed_texts(("text",), embedding, padded)
        length = one["text_ids"].shape[1]
        np.testing.assert_allclose(
            longer["text"][:, :length], vectors["text"], rtol=1e-5, atol=1e-6
        )
        assert not np.any(longer_masks["text"][:, length:])


def test_batches_of_other_numbers_of_examples_have_their_own_classes():
    rng = np.random.default_rng(0)
    sizes = (4, 6, 2, 4, 6, 2) * 5
    seen = [batch(rng, "flat", examples) for examples in sizes]
    shapes = TextShapes(seen, 9)
    padded = [shapes.pad(x) for x in seen]
    assert [len(x["label"]) for x in padded] == list(sizes)
    assert len({shapes_of(x) for x in padded}) <= 9
    # One that was not seen shares the classes of all.
    others = {shapes_of(shapes.pad(batch(rng, "flat", 3))) for _ in range(20)}
    assert len(others) <= len({tuple(x) for x in shapes.classes})


def test_what_no_class_holds_keeps_its_shape():
    seen = many("flat", 10)
    shapes = TextShapes(seen, 3)
    long = seen[0] | {"text_ids": tf.ones((4, 99), tf.int32)}
    assert shapes_of(shapes.pad(long)) == shapes_of(long)
    graph = tf.function(shapes.pad, autograph=False)
    assert shapes_of(graph(seen[1])) == shapes_of(shapes.pad(seen[1]))
    # A last batch has fewer examples.
    few = {
        name: x if name.startswith(("definition", "spelling_ids")) else x[:2]
        for name, x in seen[2].items()
    }
    assert shapes.pad(few)["label"].shape == (2,)
